"""The cost of running sums with the noise of all nodes above a leaf: by theorem, and by linear programmes.

Released sums are y = A x + B z, as in `bandits.audit.running_sums`, but B has more columns than rows. An item that
moves A x by v costs the least |z|_1 with B z = v, over the scale, and no less (bandits/mechanisms/path_tree.md, 9.1).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.ledger import Domain, UnitItemSums, require_domain
from bandits.mechanisms.path_tree import path_losses

DEEPEST = 5  # tree for which linear programmes are solved, one for each of 32 items


def paths(depth: int) -> FloatArray:
    """1 where a node is above a leaf, else 0; shape (leaves, nodes), the root last."""
    nodes = [(level, place) for level in range(depth + 1) for place in range(1 << (depth - level))]
    return np.array([[leaf >> level == place for level, place in nodes] for leaf in range(1 << depth)], dtype=float)


def least_moves(draws: FloatArray) -> FloatArray:
    """The least |z|_1 with `draws` @ z = 1 in the sums from item s on and 0 before, for every s; shape (sums,)."""
    ones, both = np.ones(2 * draws.shape[1]), np.hstack([draws, -draws])
    ends = np.tri(len(draws)).T  # row s: ones from column s on
    return np.array([scipy.optimize.linprog(ones, A_eq=both, b_eq=moved, method="highs").fun for moved in ends])


@dataclass(frozen=True)
class PathSums(UnitItemSums):
    """Running sums of items in [0, 1] with the noise of all nodes above a leaf (`bandits.mechanisms.path_tree`).

    There are more draws than sums, so B cannot be inverted; the cost follows from theorem 9.1 of
    bandits/mechanisms/path_tree.md.
    """

    mechanism: str
    calibration: str
    depth: int
    items: int
    scale: float
    root: bool = True

    @property
    def scales(self) -> FloatArray:  # type: ignore[override]
        """Also of the root, draw 1, if it holds no noise and is in no sum."""
        return np.full((2 << self.depth) - 1, self.scale)

    def draws_in(self, items: int) -> list[int]:
        """Each draw is named by the number of its node: 1 is the root, and 2n and 2n + 1 are the children of n."""
        leaf = (1 << self.depth) + items - 1
        return [leaf >> level for level in range(self.depth + self.root)]

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        losses = path_losses(self.depth, self.items, root=self.root)
        item = int(np.argmax(losses))
        kept = float(losses[item] / self.scale)
        shown, method = kept, "theorem 9.1"
        if self.depth <= DEEPEST:
            above = paths(self.depth)[: self.items, : None if self.root else -1]
            shown = float(least_moves(above).max()) / self.scale
            method += ", linear programmes"
        witness = (
            f"item {item + 1} of {self.items} from 0 to 1: {losses[item]} nodes move by 1; all sums that contain it "
            "lie far beyond both centers"
        )
        return Bounds(kept, shown, witness, method, 1e-9 * kept)
