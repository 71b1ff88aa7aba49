"""Laws of sums of rewards with the Laplace noise of several batches (bandits/bounds/stuck_runs.md, 8.5)."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from bandits.arrays import FloatArray
from bandits.parameters import require

LAST = 750.0  # y from which on a tail is 0, as e^-y is
TOGETHER = 2**15  # tails that are computed together: they fit into the cache of a processor
BLOCKS = 50_000  # of sums of rewards, at most


def laplace_sum_tail(y: ArrayLike, batches: int) -> FloatArray:
    """P(X > y) of the sum X of so many Laplace variables of scale 1, for y >= 0.

    X is the difference of two Gamma(m) variables, so that P(X > y) is e^-y times the sum over j < m of
    y^j / j! sum over l < m - j of C(m - 1 + l, l) 2^-(m + l). Its last term alone, j = m - 1, is
    y^(m-1) e^-y / ((m - 1)! 2^m).
    """
    require(1 <= batches <= 80, "batches", batches, "a whole number in 1..80")
    values = np.asarray(y, dtype=np.float64)
    require(bool((values >= 0).all()), "y", y, "at least 0")
    lost = np.arange(batches)
    logs = special.gammaln(batches + lost) - special.gammaln(batches) - special.gammaln(lost + 1)
    weights = np.cumsum(np.exp(logs - (batches + lost) * math.log(2)))[::-1]  # of j = 0, 1, ...
    weights = weights / special.factorial(lost)
    near = values < LAST
    inner = values[near]
    total = np.full_like(inner, weights[-1])
    for weight in weights[-2::-1]:  # in place, as large arrays are slow to make
        total *= inner
        total += weight
    tails = np.zeros_like(values)
    tails[near] = np.exp(-inner) * total
    return tails


def chances_of_sums(totals: ArrayLike, count: int, batches: int, mean: float, epsilon: float) -> FloatArray:
    """P(S <= total) for several totals, shape (totals,), S the noisy sum of `count` Bernoulli(`mean`) rewards.

    Noise was added in so many batches. Sums of rewards that have a probability below 1e-20 are left out. Of more than
    about 2e7 rewards these are upper bounds, near by: sums are taken in blocks, each as its least sum, and each of them
    as likely as the likeliest in the block.
    """
    spread = 50 + 10 * math.sqrt(count * mean * (1 - mean))
    first, last = max(0, math.floor(count * mean - spread)), min(count, math.ceil(count * mean + spread))
    width = 1 + (last - first) // BLOCKS
    rewards, levels = np.arange(first, last + 1, width), np.asarray(totals, dtype=np.float64)
    ends = np.minimum(rewards + width - 1, last)
    likeliest = np.clip(math.floor((count + 1) * mean), rewards, ends)
    below = np.empty((len(levels), len(rewards)))  # P(noise <= total - rewards)
    rows = max(1, TOGETHER // len(rewards))
    for begin in range(0, len(levels), rows):
        above = epsilon * (rewards - levels[begin : begin + rows, None])
        tails = laplace_sum_tail(np.abs(above), batches)
        below[begin : begin + rows] = np.where(above >= 0, tails, 1 - tails)
    chances = below @ (stats.binom.pmf(likeliest, count, mean) * (ends - rewards + 1))
    return np.asarray(chances if width == 1 else np.minimum(chances, 1.0))
