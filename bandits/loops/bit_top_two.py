"""The loop of CTB-TT: a Top Two rule on bits, which may stop after every bit.

Every step needs about twenty logarithms of whole numbers and of their factorials. Tables that all runs share hold those
of numbers up to a million; others are computed. The numbers are the same to the last bit.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled, inlined

TABLED = 2**20  # numbers; larger ones are slower, no more


class Logs(NamedTuple):
    """Logarithms of whole numbers.

    Attributes
    ----------
    numbers: log k of k = 1, 2, ...; 0 of 0, so that k log k is 0.
    factorials: log k!.
    """

    numbers: FloatArray
    factorials: FloatArray


@cache
def logs() -> Logs:
    """The tables of logarithms, which take 16 MB."""
    tables = Logs(np.zeros(TABLED), np.zeros(TABLED))
    _tabulate(*tables)
    for table in tables:
        table.flags.writeable = False
    return tables


@compiled
def _tabulate(numbers: FloatArray, factorials: FloatArray) -> None:
    """Write log k and log k! for every k."""
    for k in range(1, len(numbers)):
        numbers[k] = math.log(k)
        factorials[k] = math.lgamma(k + 1.0)


@compiled
def bit_top_two(
    chances: FloatArray, max_samples: int, beta: float, tables: Logs, rng: np.random.Generator
) -> tuple[int, int]:
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
        fits[arm] = bit_fit(pulls[arm], sums[arm], tables)
        slacks[arm] = bit_slack(pulls[arm], sums[arm], tables)
        if samples < arms:
            arm = samples
            continue
        leader, challenger = bit_pair(pulls, sums, fits, slacks, beta, tables)
        if challenger < 0:
            return samples, leader
        arm = leader if rng.random() < 0.5 else challenger
    return max_samples, -1


@inlined
def bit_pair(
    pulls: IntArray, sums: IntArray, fits: FloatArray, slacks: FloatArray, beta: float, tables: Logs
) -> tuple[int, int]:
    """The leader, with the largest mean, and its challenger, with the least W + log n; -1 if the rule stops."""
    leader = 0
    for arm in range(1, len(pulls)):
        if sums[arm] / pulls[arm] > sums[leader] / pulls[leader]:
            leader = arm
    log = math.log((len(pulls) - 1) / beta) + slacks[leader]
    best, challenger, stops = math.inf, -1, True
    for arm in range(len(pulls)):
        if arm != leader:
            pooled = bit_fit(pulls[leader] + pulls[arm], sums[leader] + sums[arm], tables)
            cost = max(0.0, fits[leader] + fits[arm] - pooled)
            stops = stops and cost >= log + slacks[arm]
            if cost + log_of(pulls[arm], tables) < best:
                best, challenger = cost + log_of(pulls[arm], tables), arm
    return leader, -1 if stops else challenger


@inlined
def bit_fit(pulls: int, total: int, tables: Logs) -> float:
    """log(x^s (1 - x)^(n - s)), x = s / n: n kl(x, u) is this less the log likelihood at u."""
    others = pulls - total
    return -pulls * log_of(pulls, tables) + total * log_of(total, tables) + others * log_of(others, tables)


@inlined
def bit_slack(pulls: int, total: int, tables: Logs) -> float:
    """r = log((n + 1) C(n, s) x^s (1 - x)^(n - s)): exp(n kl(x, u) - r) is a martingale if bits have mean u."""
    ways = log_factorial(pulls, tables) - log_factorial(total, tables) - log_factorial(pulls - total, tables)
    return log_of(pulls + 1, tables) + ways + bit_fit(pulls, total, tables)


@inlined
def log_of(number: int, tables: Logs) -> float:
    """log k, and 0 for k = 0."""
    return float(tables.numbers[number] if number < len(tables.numbers) else math.log(number))


@inlined
def log_factorial(number: int, tables: Logs) -> float:
    """log k!."""
    return float(tables.factorials[number] if number < len(tables.factorials) else math.lgamma(number + 1.0))
