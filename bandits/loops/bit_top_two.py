"""The loop of CTB-TT: a Top Two rule on bits, which may stop after every bit."""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled


@compiled
def bit_top_two(chances: FloatArray, max_samples: int, beta: float, rng: np.random.Generator) -> tuple[int, int]:
    """Samples until the rule stops and the arm that it returns, -1 if it has not stopped after `max_samples`.

    `chances` are the means of the bits, shape (arms,).
    """
    arms = len(chances)
    pulls, sums = np.zeros(arms, dtype=np.int64), np.zeros(arms, dtype=np.int64)
    fits, slacks = np.zeros(arms), np.zeros(arms)  # log likelihoods at the mean, and r
    arm = 0
    for samples in range(1, max_samples + 1):
        pulls[arm] += 1
        sums[arm] += rng.random() < chances[arm]
        fits[arm] = fit(pulls[arm], sums[arm])
        slacks[arm] = slack(pulls[arm], sums[arm])
        if samples < arms:
            arm = samples
            continue
        leader, challenger = bit_pair(pulls, sums, fits, slacks, beta)
        if challenger < 0:
            return samples, leader
        arm = leader if rng.random() < 0.5 else challenger
    return max_samples, -1


@compiled
def bit_pair(pulls: IntArray, sums: IntArray, fits: FloatArray, slacks: FloatArray, beta: float) -> tuple[int, int]:
    """The leader, with the largest mean, and its challenger, with the least W + log n; -1 if the rule stops."""
    leader = 0
    for arm in range(1, len(pulls)):
        if sums[arm] / pulls[arm] > sums[leader] / pulls[leader]:
            leader = arm
    log = math.log((len(pulls) - 1) / beta) + slacks[leader]
    best, challenger, stops = math.inf, -1, True
    for arm in range(len(pulls)):
        if arm != leader:
            pooled = fit(pulls[leader] + pulls[arm], sums[leader] + sums[arm])
            cost = max(0.0, fits[leader] + fits[arm] - pooled)
            stops = stops and cost >= log + slacks[arm]
            if cost + math.log(pulls[arm]) < best:
                best, challenger = cost + math.log(pulls[arm]), arm
    return leader, -1 if stops else challenger


@compiled
def fit(pulls: int, total: int) -> float:
    """log(x^s (1 - x)^(n - s)), x = s / n: n kl(x, u) is this less the log likelihood at u."""
    value = -pulls * math.log(pulls)
    if total > 0:
        value += total * math.log(total)
    if total < pulls:
        value += (pulls - total) * math.log(pulls - total)
    return value


@compiled
def slack(pulls: int, total: int) -> float:
    """r = log((n + 1) C(n, s) x^s (1 - x)^(n - s)): exp(n kl(x, u) - r) is a martingale if bits have mean u."""
    ways = math.lgamma(pulls + 1.0) - math.lgamma(total + 1.0) - math.lgamma(pulls - total + 1.0)
    return math.log(pulls + 1.0) + ways + fit(pulls, total)
