"""Winners of independent steps that are alike, counted and not told one by one."""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled


@compiled
def wait(rate: float, rng: np.random.Generator) -> int:
    """Steps to the next one of these, geometric: k with probability rate (1 - rate)^(k - 1)."""
    if rate <= 0:
        return 1 << 60
    if rate >= 1:
        return 1
    return 1 + int(min(rng.standard_exponential() / -math.log1p(-rate), 2.0**60))


@compiled
def one_of(weights: FloatArray, rng: np.random.Generator) -> int:
    """An arm in proportion to its weight, of which those below 0 count as 0."""
    left = rng.random() * np.maximum(weights, 0.0).sum()
    for arm in range(len(weights)):
        left -= max(weights[arm], 0.0)
        if left < 0:
            return arm
    return int(np.argmax(weights))


@compiled
def alike_steps(weights: FloatArray, room: IntArray, steps: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Wins in `steps` independent steps with chances in proportion to `weights`, or up to the first that fills a room;
    and the arm that it fills, of which the last win is, or -1. In which order the other wins come is left open.

    Counts of all steps are multinomial. If they fill a room, they tell that one is filled within these steps, and no
    more: when, and with which counts, is drawn from its own law until it is within them.
    """
    wins = multinomial(weights, steps, rng)
    if (wins < room).all():
        return wins, -1
    while True:
        wins, filled = first_filled(weights, room, rng)
        if wins.sum() <= steps:
            return wins, filled


@compiled
def multinomial(weights: FloatArray, steps: int, rng: np.random.Generator) -> IntArray:
    """Wins in so many steps, shape (arms,)."""
    wins = np.zeros(len(weights), dtype=np.int64)
    left, total = steps, weights.sum()
    for arm in range(len(weights)):
        if left > 0 and weights[arm] > 0:
            wins[arm] = left if weights[arm] >= total else rng.binomial(left, weights[arm] / total)
            left -= wins[arm]
        total -= weights[arm]
    wins[np.argmax(weights)] += left  # 0 but for rounding
    return wins


@compiled
def first_filled(weights: FloatArray, room: IntArray, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Wins up to the step that is the first to fill the room of an arm, shape (arms,), and that arm.

    Let wins come in continuous time, for each arm at its own rate and independently. The time at which an arm is full
    is a Gamma variable. The arm with the least is the first; of another, all but the last of the wins that fill it are
    spread evenly over the time until then.
    """
    arms = len(weights)
    full = np.full(arms, math.inf)
    for arm in range(arms):
        if weights[arm] > 0:
            full[arm] = rng.standard_gamma(float(room[arm])) / weights[arm]
    first = int(np.argmin(full))
    wins = np.zeros(arms, dtype=np.int64)
    wins[first] = room[first]
    for arm in range(arms):
        if arm != first and weights[arm] > 0 and room[arm] > 1:
            wins[arm] = rng.binomial(room[arm] - 1, full[first] / full[arm])
    return wins, first


@compiled
def wins_in_first(wins: IntArray, steps: int, rng: np.random.Generator) -> IntArray:
    """Wins in the first `steps` of the steps that have these `wins`, every order of which is as likely, shape (arms,).

    Steps are moved into the part and out of it, each with the same probability, until there are so many in it. As
    all steps are treated alike, every part of this size is as likely.
    """
    part = np.zeros_like(wins)
    while part.sum() != steps:
        missing = steps - part.sum()
        pool = wins - part if missing > 0 else part.copy()
        for arm in range(len(wins)):
            moved = rng.binomial(pool[arm], abs(missing) / pool.sum())
            part[arm] += moved if missing > 0 else -moved
    return part
