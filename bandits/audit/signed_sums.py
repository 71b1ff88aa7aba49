"""The cost of running sums with the noise of a tree of signed digits: by theorem, and by linear programmes."""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.ledger import Domain, UnitItemSums, require_domain
from bandits.audit.path_sums import least_moves
from bandits.mechanisms.signed_tree import parent, signed_digits

MOST_ITEMS = 60  # for which linear programmes are solved, one for each item


@dataclass(frozen=True)
class SignedSums(UnitItemSums):
    """Running sums of items in [0, 1] with the noise of a tree of signed digits (`bandits.mechanisms.signed_tree`).

    A draw is named by the number of items of the sum that it was added for, which may be more than `items`: there may
    be more draws than sums. The cost follows from theorem 9.2 of bandits/mechanisms/signed_tree.md.
    """

    mechanism: str
    calibration: str
    arity: int
    items: int
    scale: float

    @property
    def scales(self) -> FloatArray:  # type: ignore[override]
        """Also of draws that are in no sum."""
        return np.full(max(max(self.draws_in(items)) for items in range(1, self.items + 1)), self.scale)

    def draws_in(self, items: int) -> list[int]:
        draws = []
        while items:
            draws.append(items)
            items = int(parent(items, self.arity))
        return draws

    def draws(self) -> FloatArray:
        """1 where a draw is in a sum, else 0; shape (items, draws in any sum)."""
        inside = [set(self.draws_in(items)) for items in range(1, self.items + 1)]
        return np.array([[draw in those for draw in sorted(set().union(*inside))] for those in inside], dtype=float)

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        digits = signed_digits(self.items, self.arity)
        kept = digits / self.scale
        shown, method = kept, "theorem 9.2"
        if self.items <= MOST_ITEMS:
            shown = float(least_moves(self.draws()).max()) / self.scale
            method += ", linear programmes"
        witness = (
            f"item 1 of {self.items} from 0 to 1: {digits} draws move by 1, one for each digit; all sums lie far "
            "beyond both centers"
        )
        return Bounds(kept, shown, witness, method, 1e-9 * kept)
