"""The tree of Sajed and Sheffet (2019), section 1: the exact sum plus the noise of all nodes above a leaf.

A binary tree stands over 2^depth items, and every node holds a Laplace variable of one scale b. At time t the
mechanism releases the sum of the first t items plus the variables of the nodes on the path from the root to leaf t.
It differs from the mechanism of `bandits.mechanisms.tree`, which adds one variable for each set bit of t.

The exact privacy loss (path_tree.md, 9.1): changing item s by 1 adds 1[t >= s] to the sums. The loss is |z|_1 / b
for the numbers z on the nodes that have these path sums and the least |z|_1. Over all items the worst case is
floor(depth / 2) + 1, and floor((depth + 1) / 2) + 1 if the root holds no variable.
"""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit
from bandits.mechanisms.unit_sums import UnitSumMechanism
from bandits.parameters import require, require_epsilon


def path_depth(length: int) -> int:
    """The depth of a tree with at least `length` leaves, ceil(log2 length), and at least 1."""
    require(length >= 1, "length", length, "a whole number >= 1")
    return max(1, (length - 1).bit_length())


def path_nodes(depth: int, *, root: bool = True) -> int:
    """Nodes on the path from the root to a leaf, depth + 1, or depth without the root."""
    require(depth >= 1, "depth", depth, "a whole number >= 1")
    return depth + root


def path_loss(depth: int, *, root: bool = True) -> int:
    """The least |z|_1 in the worst case over the items: all releases together are exactly (path_loss / b)-private.

    floor(depth / 2) + 1, and floor((depth + 1) / 2) + 1 without the root (path_tree.md, 9.1).
    """
    require(depth >= 1, "depth", depth, "a whole number >= 1")
    return (depth if root else depth + 1) // 2 + 1


def path_losses(depth: int, items: int, *, root: bool = True) -> IntArray:
    """The least |z|_1 of each item if only the first `items` sums are released, shape (items,).

    The recursion of the proof of 9.1: `outside` and `inside` are the least sums of |z| below a node if the path sum
    from above is 0 or 1. Raises `ParameterError` for more items than leaves.
    """
    require(depth >= 1, "depth", depth, "a whole number >= 1")
    require(1 <= items <= 1 << depth, "items", items, f"a whole number in 1..{1 << depth}")
    leaf = np.arange(items)
    outside, inside = np.ones(items, dtype=np.int64), np.zeros(items, dtype=np.int64)
    for level in range(depth):
        node = leaf >> level
        right = node % 2 == 1  # then the leaves of the left child need the path sum 0
        later = ~right & ((node + 1) << level < items)  # the right child has leaves, which all need the path sum 1
        outside, inside = outside + later, inside + right
        if level < depth - 1 or root:  # a variable at the parent can turn one into the other
            outside, inside = np.minimum(outside, inside + 1), np.minimum(inside, outside + 1)
    return outside


def path_node_scale(length: int, epsilon: float, *, printed: bool = False, root: bool = True) -> float:
    """Scale of the noise of every node for which the whole release is exactly epsilon-DP.

    `printed` is log2(T) / epsilon, which spends about half of epsilon (`path_loss`), but twice epsilon for two items
    without the root.
    """
    require_epsilon(epsilon)
    depth = path_depth(length)
    return (depth if printed else path_loss(depth, root=root)) / epsilon


def path_variances(length: int, epsilon: float, *, printed: bool = False) -> FloatArray:
    """Variance of the noise of the sums of n = 1..length items, shape (length,): the same for all."""
    return np.full(length, path_nodes(path_depth(length)) * 2 * path_node_scale(length, epsilon, printed=printed) ** 2)


@compiled
def next_path(above: FloatArray, count: int, scale: float, rng: np.random.Generator) -> float:
    """The noise of the sum of `count` items, from that of `count` - 1 items.

    `above[i]`, shape (nodes of a path,), is the sum of the variables from the top down to level i (0: the leaf); it is
    updated in place. The top is the root, or one of its two children in a tree without a variable at the root. Item
    `count` begins the node of level i where 2^i divides `count` - 1.
    """
    top = len(above) - 1
    level = lowest_bit(count - 1) if count > 1 else top
    noise = 0.0 if level == top else above[level + 1]
    while level >= 0:
        noise += laplace(scale, rng)
        above[level] = noise
        level -= 1
    return noise


@dataclass
class PathTreeMechanism(UnitSumMechanism):
    """Running sum of at most `length` items in [0, 1], released with Lap(`scale`) at each of the nodes above a leaf.

    Without `root` the root holds no noise. Guarantee: (path_loss / scale)-DP of the whole sequence of released sums,
    one item changed, even if items depend on earlier releases. Raises `ParameterError` for parameters out of range,
    `ValueError` for an item outside [0, 1] and `OverflowError` when more than `length` items arrive.
    """

    root: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._above = np.zeros(path_nodes(path_depth(self.length), root=self.root))

    def noise(self) -> float:
        return next_path(self._above, self.count, self.scale, self.rng)
