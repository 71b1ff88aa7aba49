"""Running sums of the mechanisms, and the exact cost of one item, by linear algebra.

Released sums are y = A x + B z: `A` says which items x are in which sum, `B` which independent Laplace draws z are.
If every sum has its own draw, B can be inverted, and B^-1 y = B^-1 A x + z reveals as much as y. One item that
moves by w moves component j by w |B^-1 A|_ji, so all releases together cost w sum_j |B^-1 A|_ji / b_j, b_j the scale
of z_j (Dwork, McSherry, Nissim and Smith 2006). That cost is attained: whenever every component lies beyond both
centers, the densities have that ratio.
"""

import math
from collections.abc import Callable

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.ledger import RunningSums
from bandits.compiled import in_python
from bandits.mechanisms.hybrid import continued, fresh_levels, hybrid_scale
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.parameters import ParameterError


def privacy_losses(sums: FloatArray, draws: FloatArray, scales: FloatArray, widths: FloatArray) -> FloatArray:
    """The cost of each item, shape (items,).

    Parameters
    ----------
    sums: A, shape (releases, items).
    draws: B, shape (releases, releases).
    scales: of the Laplace draws, shape (releases,).
    widths: by how much an item may change, shape (items,).

    Raises `ParameterError` if B cannot be inverted: some sum has no noise of its own, and the cost is infinite or needs
    another method.
    """
    if draws.shape[0] != draws.shape[1] or np.linalg.matrix_rank(draws) < len(draws):
        raise ParameterError("draws", "must be a square matrix of full rank: every release needs a draw of its own")
    components = np.linalg.solve(draws, sums)
    return np.asarray((np.abs(components) / scales[:, None]).sum(axis=0) * widths)


def draws_of(close: Callable[..., object], memory: int, length: int) -> FloatArray:
    """B of a mechanism, computed by its own code: the draws in each of its first `length` sums, shape (length, length).

    `close` is `close_node` or `close_hybrid`, called with unit vectors instead of numbers, and `memory` the number of
    earlier sums whose noise it keeps.
    """
    plain = in_python(close)
    kept = np.zeros((memory, length))
    return np.array([plain(kept, count, np.eye(length)[count - 1]) for count in range(1, length + 1)])


def tree(length: int, epsilon: float, items: int, calibration: str = "levels") -> RunningSums:
    """The first `items` sums of a tree over `length` items in [0, 1] (`bandits.mechanisms.tree`).

    `calibration`: `levels` divides epsilon by floor(log2 length) + 1, `natural` by the natural logarithm.
    """
    scale = node_scale(length, epsilon) if calibration == "levels" else math.log(length) / epsilon
    counts = np.arange(1, items + 1)
    return RunningSums(
        "tree", calibration, counts & (counts - 1), np.full(items, scale), np.zeros(items), np.ones(items)
    )


def adaptive_tree(length: int, epsilon: float, bounds: FloatArray, calibration: str = "levels") -> RunningSums:
    """The first sums of an adaptive tree over `length` items, the n-th in [-B_n, B_n], B_n = `bounds[n - 1]`."""
    levels = tree_levels(length) if calibration == "levels" else math.log(length)
    counts = np.arange(1, len(bounds) + 1)
    scales = 2 * bounds * levels / epsilon
    return RunningSums("adaptive tree", calibration, counts & (counts - 1), scales, -bounds, bounds)


def hybrid(epsilon: float, items: int) -> RunningSums:
    """The first `items` sums of a hybrid mechanism of items in [0, 1] (`bandits.mechanisms.hybrid`)."""
    counts = np.arange(1, items + 1)
    levels = np.array([fresh_levels(int(count)) for count in counts], dtype=float)
    parents = np.array([continued(int(count)) for count in counts], dtype=np.int64)
    return RunningSums("hybrid", "levels", parents, hybrid_scale(epsilon) * levels, np.zeros(items), np.ones(items))
