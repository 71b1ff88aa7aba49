"""The leader of an index policy, its closest rival, and for how long it leads whatever is drawn."""

import math

from bandits.arrays import FloatArray
from bandits.compiled import borrowing


@borrowing
def front(center: FloatArray, width: FloatArray, radius: float) -> tuple[int, float, float]:
    """The first arm with the largest index center + width x radius, and the largest index and width of the others."""
    leader, largest = 0, center[0] + width[0] * radius
    closest, widest = -math.inf, 0.0
    for arm in range(1, len(center)):
        index = center[arm] + width[arm] * radius
        if index > largest:
            closest, widest = largest, max(widest, width[leader])
            leader, largest = arm, index
        else:
            closest, widest = max(closest, index), max(widest, width[arm])
    return leader, closest, widest


@borrowing
def closest_rival(center: FloatArray, width: FloatArray, radius: float, leader: int) -> float:
    """The largest index center + width x radius of an arm other than the leader."""
    closest = -math.inf
    for arm in range(len(center)):
        if arm != leader:
            closest = max(closest, center[arm] + width[arm] * radius)
    return closest


@borrowing
def window_of(advance: float, widest: float, growth: float, t: int, horizon: int) -> int:
    """Steps from t + 1 on in which no rival gains half of the leader's `advance`, as the radius grows."""
    return int(min(max(1.0, advance / (2 * widest * growth)), float(t), float(horizon - t)))
