"""Runs in which the best arm is left because its first batches were unlucky (ours): stuck_runs.md, 8.5 to 8.7.

Of DP-KLUCB and DP-IMED, whose sums keep the noise of all batches while their indices charge rewards alone.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.bounds.azize2025 import lower_bound_line
from bandits.bounds.common import require_horizon
from bandits.compiled import compiled
from bandits.divergences import private_divergence
from bandits.laplace_sums import chances_of_sums
from bandits.loops.batches import EXACT_KL_UCB, PRIVATE_IMED, batch_length
from bandits.parameters import require
from bandits.policies.batched_index import PrivateDivergence

LOGS = 100  # of steps, on a grid up to log(T), for the integral over how long the arm is left
GRID = 1000  # noisy sums between which a cost is interpolated
GAPS = 25  # that are tried, from large to small, and the halvings of the last step
HALVINGS = 8


def left_steps(policy: PrivateDivergence, means: ArrayLike, horizon: float) -> float:
    """A bound on the expected number of steps at which the index of the best arm is below the second best mean (8.5).

    The sum over its batches of the integral over u in [0, log T] of e^u P(index after m batches below that mean at
    step e^u), plus 1 for each; for DP-IMED, which has no t in its index, e^u are pulls of the leader. The sum ends
    where e^u times that probability is below 1e-9: the 1 stands for the probability that the index is ever below.
    """
    best, rival = _best_two(means)
    _require_horizon(horizon)
    return sum(1 + steps for steps, _ in _of_batches(policy, best, rival, math.log(horizon)))


def stuck_chance(policy: PrivateDivergence, means: ArrayLike, horizon: float) -> float:
    """A bound on the probability that the index of the best arm is below the second best mean until the horizon.

    The sum over its batches of the probability that its noisy sum is so low: the law of a stuck run (8.6).
    """
    best, rival = _best_two(means)
    _require_horizon(horizon)
    return min(1.0, sum(chance for _, chance in _of_batches(policy, best, rival, math.log(horizon))))


def stuck_regret(policy: PrivateDivergence, means: ArrayLike, horizon: float) -> float:
    """The mean regret that stuck runs carry, about: the least gap times `left_steps`. Heuristic (8.6).

    Exact if the rivals' indices never are below the second best mean while the best arm is left.
    """
    best, rival = _best_two(means)
    return (best - rival) * left_steps(policy, means, horizon)


def critical_gap(policy: PrivateDivergence, best: float, horizon: float) -> float:
    """The largest gap of two arms at which stuck runs carry more than the private lower bound allows for at T (8.6).

    That is slope x log T, see `bandits.bounds.azize2025`. The smaller mean is `best` less the gap; 0 if none of those
    that are tried, down to `best` / 1000, does.
    """
    require(0 < best < 1, "best", best, "a number in (0, 1)")
    tried = np.geomspace(0.99 * best, best / 1000, GAPS)
    exceeding = next((place for place, gap in enumerate(tried) if _exceeds(policy, best, float(gap), horizon)), None)
    if exceeding is None:
        return 0.0
    low, high = float(tried[exceeding]), float(tried[max(exceeding - 1, 0)])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _exceeds(policy, best, middle, horizon) else (low, middle)
    return low


def _exceeds(policy: PrivateDivergence, best: float, gap: float, horizon: float) -> bool:
    means = np.array([best, best - gap])
    return stuck_regret(policy, means, horizon) > lower_bound_line(means, policy.epsilon, horizon)


def _require_horizon(horizon: float) -> None:
    require_horizon(horizon)
    require(horizon <= 1e18, "horizon", horizon, "at most 1e18")


def _best_two(means: ArrayLike) -> tuple[float, float]:
    arms = np.sort(np.asarray(means, dtype=np.float64))
    within = len(arms) > 1 and bool(((arms > 0) & (arms < 1)).all()) and arms[-2] < arms[-1]
    require(within, "means", means, "numbers in (0, 1), one above all others")
    return float(arms[-1]), float(arms[-2])


def _of_batches(
    policy: PrivateDivergence, best: float, rival: float, log_horizon: float
) -> Iterator[tuple[float, float]]:
    """For each number of batches: the steps for which the arm is left, and the chance that it is so until the end."""
    rule = policy.rule
    require(rule.kind != EXACT_KL_UCB, "policy", policy.name, "one whose index is not exact")
    count, batches = 0, 0
    while count < math.exp(log_horizon):
        count += batch_length(rule, count)
        batches += 1
        waits = math.log(count) if rule.kind == PRIVATE_IMED else 0.0
        totals = count * rival * np.linspace(0, 1, GRID + 1)
        costs = count * _divergences(totals / count, rival, rule.epsilon) + waits  # they fall to 0, or to these waits
        logs = np.linspace(0, min(log_horizon, costs[0]), LOGS + 1)  # it is never left for longer
        left = np.interp(-logs, -costs, totals)  # the sum at which the arm is left for so long
        chances = chances_of_sums(left, count, batches, best, rule.epsilon)
        heights = np.exp(logs) * chances
        yield float(np.trapezoid(heights, logs)), float(chances[-1]) if costs[0] >= log_horizon else 0.0
        if count * rule.epsilon > 4 * log_horizon and heights.max() < 1e-9:
            return


@compiled
def _divergences(means: FloatArray, rival: float, epsilon: float) -> FloatArray:
    """`private_divergence` of each mean from that of the rival."""
    divergences = np.empty_like(means)
    for place, mean in enumerate(means):
        divergences[place] = private_divergence(mean, rival, epsilon)
    return divergences
