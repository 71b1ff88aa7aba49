"""The leader of an index policy and its closest rival, in one pass over the arms."""

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
