"""Running sums of the mechanisms, as releases: which sums there are, and how much noise each has."""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.ledger import RunningSums
from bandits.mechanisms.hybrid import continued, fresh_levels, hybrid_scale
from bandits.mechanisms.tree import node_scale, tree_levels


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
