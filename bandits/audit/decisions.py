"""The cost of one decision of a perturbed leader: the history is fixed except for one reward.

Upper bound: a reward changes only the law of the value of its arm, and the decision follows from this value and from
independent values of the other arms. So a decision costs no more than the divergence of the two laws of that value
(Lemma 8 of Wang and Zhu 2024), at the number of pulls where it is the largest. Lower bound: the exact law of the
decision between two arms, for the worst pair of histories found among those that fit into the horizon.
"""

import math
from collections.abc import Callable

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.decision_laws import delta_between, epsilon_between
from bandits.audit.transcripts import Decision
from bandits.parameters import ParameterError

SUMS = 33  # reward sums of the rival that are tried, first over the whole range and then around the best
ROUNDING = 1e-13  # subtracted from a lower bound on delta or epsilon, for rounding errors


def histories(start: int, horizon: int) -> list[tuple[int, int, int]]:
    """Histories that are tried: pulls of the changed arm, its sum, and pulls of its rival, within the horizon."""
    first = max(start, 1)
    if horizon - 1 < 2 * first:
        raise ParameterError("horizon", f"too short: the first decision of two arms comes after {2 * first} pulls")
    states = []
    for count in sorted({min(first * growth, horizon - 1 - first) for growth in (1, 3, 30)}):
        longest = horizon - 1 - count
        for rival in sorted({first, min(4 * first, longest), min(64 * first, longest), longest}):
            states += [(count, total, rival) for total in spread_sums(0, count - 1, 3)]
    return states


def spread_sums(least: int, most: int, number: int) -> list[int]:
    """At most `number` whole numbers from `least` to `most`, with both ends."""
    return sorted({round(value) for value in np.linspace(least, most, min(number, most - least + 1))})


def shown_epsilon(decision: Decision, start: int, horizon: int) -> tuple[float, str]:
    """The largest pure epsilon of the pairs tried, and its witness."""
    return _largest(decision, start, horizon, epsilon_between)


def shown_delta(decision: Decision, start: int, horizon: int, epsilon: float) -> tuple[float, str]:
    """The largest delta at `epsilon` of the pairs tried, and its witness."""
    return _largest(decision, start, horizon, lambda first, second: delta_between(first, second, epsilon))


def _largest(
    decision: Decision, start: int, horizon: int, distance: Callable[[FloatArray, FloatArray], float]
) -> tuple[float, str]:
    def cost(count: int, total: int, rival: int, other: int) -> float:
        pulls = np.array([count, rival])
        laws = (decision(pulls, np.array([own, other], dtype=float)) for own in (total, total + 1))
        return distance(*laws)

    best, worst = -math.inf, (0, 0, 0, 0)
    for count, total, rival in histories(start, horizon):
        least, most = 0, rival
        while True:
            tried = spread_sums(least, most, SUMS)
            costs = [cost(count, total, rival, other) for other in tried]
            place = int(np.argmax(costs))
            if costs[place] > best:
                best, worst = costs[place], (count, total, rival, tried[place])
            if most - least < SUMS or costs[place] < 0.5 * best:
                break
            least, most = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
    count, total, rival, other = worst
    return max(
        0.0, best - ROUNDING
    ), f"pulls {count} and {rival}, reward sums {total} and {other}, against {total + 1} and {other}"


def decision_bounds(kept: float, shown: tuple[float, str]) -> Bounds:
    """The bounds of one decision; `kept` is known to about ten digits."""
    error = 1e-10 * kept if math.isfinite(kept) else 0.0
    return Bounds(kept, shown[0], shown[1], "law of one value; exact law of two arms", error)
