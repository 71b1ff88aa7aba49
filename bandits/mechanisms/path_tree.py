"""The tree of Sajed and Sheffet (2019), section 1: the exact sum plus the noise of all nodes above a leaf.

A binary tree stands over T = 2^depth items, and every node holds a Laplace variable of one scale b. At time t the
mechanism releases the sum of the first t items plus the variables of the nodes on the path from the root to leaf t.
It differs from the mechanism of `bandits.mechanisms.tree`, which adds one variable for each set bit of t.

The exact privacy loss: changing item s by 1 adds 1[t >= s] to the sums. If numbers z on the nodes have these path
sums, moving the variables by z shows that the loss is at most |z|_1 / b. Far out in the tail of all sums the density
falls like exp(-min |z|_1 / b) up to powers, so that the loss is exactly the least |z|_1 / b, in the worst case over s.
The nodes are laminar, so the constraints are totally unimodular and some optimal z is integral: it writes T - s + 1 as
a signed sum of powers of two, and the fewest terms are those of the non-adjacent form, floor(depth / 2) + 1 at most.
"""

from bandits.parameters import require, require_epsilon


def path_nodes(depth: int, *, root: bool = True) -> int:
    """Nodes on the path to a leaf: depth + 1 with the root, or depth, the printed log2 T, without it."""
    require(depth >= 1, "depth", depth, "a whole number >= 1")
    return depth + 1 if root else depth


def path_loss(depth: int, *, root: bool = True) -> int:
    """The least |z|_1 in the worst case over the items: all releases together are exactly (path_loss / b)-private.

    floor(depth / 2) + 1, and floor((depth + 1) / 2) + 1 without the root. The second is checked by linear programming,
    like the first (tests/bandits/mechanisms/test_path_tree.py), and not proved.
    """
    require(depth >= 1, "depth", depth, "a whole number >= 1")
    return (depth if root else depth + 1) // 2 + 1


def path_variance(depth: int, epsilon: float, *, root: bool = True) -> float:
    """The variance of the noise at every timestep, scale log2(T) / epsilon as printed: 2 nodes depth^2 / epsilon^2."""
    require_epsilon(epsilon)
    return path_nodes(depth, root=root) * 2 * (depth / epsilon) ** 2
