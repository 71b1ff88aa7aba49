"""The loops of DP-NCB and LDP-NCB: uniform pulls at first, then the largest Nash confidence bound."""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace


class NashRule(NamedTuple):
    """How arms are compared; W the steps of the first phase.

    Attributes
    ----------
    log: log W.
    factor: c, of the width of the rewards.
    noise: the bound on the noise of a sum, alpha log W times its scale.
    """

    log: float
    factor: float
    noise: float


class Phases(NamedTuple):
    """The two phases of DP-NCB.

    Attributes
    ----------
    steps: the most steps of the first phase.
    most: it ends before that when an arm's exact sum is above `most`; infinite where no sum is looked at.
    repeated: whether the sum of the first phase is in the noisy sum of every batch, as in the public code, instead of
        being released once.
    scale: of the Laplace noise of a release.
    """

    steps: int
    most: float
    repeated: bool
    scale: float


@borrowing
def nash_bound(rule: NashRule, mean: float, count: float) -> float:
    """The index of an arm, from its clipped noisy `mean` of `count` rewards."""
    if count == 0:
        return math.inf
    width = 2 * rule.factor * math.sqrt(2 * mean * rule.log / count)
    return mean + width + (rule.noise + 4 * math.sqrt(2 * rule.noise * rule.log)) / count


@borrowing
def clipped_mean(total: float, count: float) -> float:
    """The mean in [0, 1] that is closest to total / count; 0 without rewards."""
    return min(1.0, max(0.0, total / count)) if count > 0 else 0.0


@borrowing
def leader_of(rule: NashRule, means: FloatArray, counts: FloatArray) -> int:
    """The first arm with the largest index."""
    leader, largest = 0, nash_bound(rule, means[0], counts[0])
    for arm in range(1, len(means)):
        index = nash_bound(rule, means[arm], counts[arm])
        if index > largest:
            leader, largest = arm, index
    return leader


@compiled
def nash_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, rule: NashRule, phases: Phases, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint under DP-NCB, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    pulls = np.zeros(arms, dtype=np.int64)
    first = np.zeros(arms)  # sums of the first phase, then with noise
    t = row = 0
    while t < min(horizon, phases.steps) and first.max() <= phases.most:
        arm = min(arms - 1, int(rng.random() * arms))
        first[arm] += 1.0 if rng.random() < means[arm] else 0.0
        row = record_run(record, row, checkpoints, pulls, arm, t, 1)
        pulls[arm] += 1
        t += 1
    begun, batches = pulls.astype(np.float64), np.ones(arms, dtype=np.int64)
    counts, estimates = begun + batches if phases.repeated else begun.copy(), np.zeros(arms)
    if not phases.repeated:
        for arm in range(arms):
            first[arm] += laplace(phases.scale, rng)
            estimates[arm] = clipped_mean(first[arm], counts[arm])
    while t < horizon:
        arm = leader_of(rule, estimates, counts)
        batches[arm] *= 2
        made = min(batches[arm], horizon - t)
        row = record_run(record, row, checkpoints, pulls, arm, t, made)
        pulls[arm] += made
        t += made
        counts[arm] = begun[arm] + batches[arm]
        total = first[arm] + binomial(batches[arm], means[arm], rng) + laplace(phases.scale, rng)
        estimates[arm] = clipped_mean(total, counts[arm])
    return record


class LocalRule(NamedTuple):
    """How LDP-NCB compares arms of m, their clipped mean of n reports: m + 2c sqrt(2 m log / n) + ...

    Attributes
    ----------
    log: log T.
    factor: c.
    noise: divided by sqrt(n).
    mixed: divided by n^(3/4).
    """

    log: float
    factor: float
    noise: float
    mixed: float


@borrowing
def local_nash_bound(rule: LocalRule, mean: float, count: float) -> float:
    """The index of an arm."""
    width = 2 * rule.factor * math.sqrt(2 * mean * rule.log / count)
    return float(mean + width + rule.noise / math.sqrt(count) + rule.mixed / count**0.75)


@compiled
def local_nash_pulls(
    means: FloatArray,
    checkpoints: IntArray,
    steps: int,
    scale: float,
    rule: LocalRule,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint under LDP-NCB, `steps` of them uniform; (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    pulls = np.zeros(arms, dtype=np.int64)
    sums, index = np.zeros(arms), np.full(arms, math.inf)
    row = 0
    for t in range(checkpoints[-1]):
        arm = min(arms - 1, int(rng.random() * arms)) if t < steps else int(index.argmax())
        sums[arm] += (1.0 if rng.random() < means[arm] else 0.0) + laplace(scale, rng)
        row = record_run(record, row, checkpoints, pulls, arm, t, 1)
        pulls[arm] += 1
        index[arm] = local_nash_bound(rule, clipped_mean(sums[arm], float(pulls[arm])), float(pulls[arm]))
    return record
