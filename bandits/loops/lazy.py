"""The loop of Anytime-Lazy-UCB, and the state that the lazy policies of Hu and Hegde (2022) share.

The private mean of an arm over n rewards stays until 2n newer rewards have come; these alone make its new mean. Between
two such changes every index is m + sqrt(3 L / n) + 3 L / (epsilon n) with the same m and n, and grows with the
logarithm L of the step. The index of an arm with at least as many rewards as the leader grows no faster, and never
passes the leader's. The index of an arm with fewer rewards gains at every step, and passes at a step that solves a
quadratic equation. So the cost is some arithmetic for each change of a mean or of the leader; exact up to rounding, at
any horizon.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace

FARTHEST = 44.0  # e^44 steps are beyond every horizon


class LazyArms(NamedTuple):
    """The state of the arms, shapes (arms,); updated in place.

    Attributes
    ----------
    pulls: so far.
    room: pulls left until the private mean changes.
    counts: rewards behind the private mean.
    means: the private means.
    """

    pulls: IntArray
    room: IntArray
    counts: FloatArray
    means: FloatArray


@compiled
def new_arms(arms: int) -> LazyArms:
    """Arms whose first reward changes the mean."""
    return LazyArms(np.zeros(arms, dtype=np.int64), np.ones(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms))


@borrowing
def pull(state: LazyArms, arm: int, steps: int, mean: float, epsilon: float, rng: np.random.Generator) -> bool:
    """Pull `arm` `steps` times, at most its room; returns whether its private mean changes."""
    state.pulls[arm] += steps
    state.room[arm] -= steps
    if state.room[arm] > 0:
        return False
    fresh = max(1.0, 2 * state.counts[arm])
    state.means[arm] = (binomial(int(fresh), mean, rng) + laplace(1 / epsilon, rng)) / fresh
    state.counts[arm] = fresh
    state.room[arm] = int(2 * fresh)
    return True


@compiled
def lazy_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, epsilon: float, unit: float, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms); L is log(t) / `unit`."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    state = new_arms(arms)
    row = t = 0
    while t < horizon:
        leader = t if t < arms else lazy_leader(state, epsilon, math.log(t + 1) / unit)
        steps = min(state.room[leader], horizon - t)
        for rival in range(arms):
            if t >= arms and state.counts[rival] < state.counts[leader]:
                steps = min(steps, steps_until_passed(state, leader, rival, epsilon, unit, t))
        row = record_run(record, row, checkpoints, state.pulls, leader, t, steps)
        pull(state, leader, steps, means[leader], epsilon, rng)
        t += steps
    return record


@borrowing
def lazy_leader(state: LazyArms, epsilon: float, log_t: float) -> int:
    """The arm with the largest index; ties go to the first."""
    best, leader = -math.inf, 0
    for arm in range(len(state.counts)):
        count = state.counts[arm]
        value = state.means[arm] + math.sqrt(3 * log_t / count) + 3 * log_t / (epsilon * count)
        if value > best:
            best, leader = value, arm
    return leader


@borrowing
def steps_until_passed(state: LazyArms, leader: int, rival: int, epsilon: float, unit: float, t: int) -> int:
    """Steps from t + 1 on in which the index of `rival`, with fewer rewards in its mean, stays lower; at least 1.

    With s = sqrt(L) the rival's index minus the leader's is linear s + square s^2 - lead; both factors are positive.
    """
    lead = state.means[leader] - state.means[rival]
    linear = math.sqrt(3 / state.counts[rival]) - math.sqrt(3 / state.counts[leader])
    square = 3 / epsilon * (1 / state.counts[rival] - 1 / state.counts[leader])
    if lead <= 0:
        return 1
    root = 2 * lead / (linear + math.sqrt(linear**2 + 4 * square * lead))
    log_step = unit * root**2
    if log_step > FARTHEST:
        return np.iinfo(np.int64).max
    return max(1, math.ceil(math.exp(log_step)) - t - 1)
