"""Count the winners of independent, identically distributed steps without drawing each step."""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial


@borrowing
def wait(rate: float, rng: np.random.Generator) -> int:
    """The number of steps up to the next event, geometric: k with probability rate (1 - rate)^(k - 1)."""
    if rate <= 0:
        return 1 << 60
    if rate >= 1:
        return 1
    return 1 + int(min(rng.standard_exponential() / -math.log1p(-rate), 2.0**60))


@borrowing
def one_of(weights: FloatArray, rng: np.random.Generator) -> int:
    """An arm with probability proportional to its weight; negative weights count as 0."""
    total = 0.0
    for arm in range(len(weights)):
        total += max(weights[arm], 0.0)
    left = rng.random() * total
    for arm in range(len(weights)):
        left -= max(weights[arm], 0.0)
        if left < 0:
            return arm
    return int(np.argmax(weights))


@compiled
def alike_steps(weights: FloatArray, room: IntArray, steps: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Wins of each arm in `steps` independent steps, or up to the first step that fills the room of an arm.

    An arm wins a step with probability proportional to its weight; its room is the number of wins that it can take.
    Also returns the full arm, which wins the last step, or -1. The order of the other wins is not drawn.

    The counts of all steps are multinomial. If they fill a room, the counts are discarded: the step that first fills a
    room is drawn, with its counts, from its own law until it lies within `steps`.
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
    """Wins in `steps` steps, shape (arms,)."""
    wins = np.zeros(len(weights), dtype=np.int64)
    left, total = steps, weights.sum()
    for arm in range(len(weights)):
        if left > 0 and weights[arm] > 0:
            wins[arm] = left if weights[arm] >= total else binomial(left, weights[arm] / total, rng)
            left -= wins[arm]
        total -= weights[arm]
    wins[np.argmax(weights)] += left  # 0 up to rounding
    return wins


@compiled
def first_filled(weights: FloatArray, room: IntArray, rng: np.random.Generator) -> tuple[IntArray, int]:
    """Wins up to the step that is the first to fill the room of an arm, shape (arms,), and that arm.

    Let wins come in continuous time, for each arm as an independent Poisson process. The time at which an arm is full
    is a Gamma variable, and the first full arm has the least. Given its own time, the wins of another arm before the
    one that fills it are uniform on the interval up to that time.
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
            wins[arm] = binomial(room[arm] - 1, full[first] / full[arm], rng)
    return wins, first


@compiled
def wins_in_first(wins: IntArray, steps: int, rng: np.random.Generator) -> IntArray:
    """Wins in the first `steps` steps of a sequence with these `wins` in uniformly random order, shape (arms,).

    Steps move into an empty part, or out of it, each with the same probability, until the part has the right size. By
    symmetry every part of this size is equally likely.
    """
    part = np.zeros_like(wins)
    while part.sum() != steps:
        missing = steps - part.sum()
        pool = wins - part if missing > 0 else part.copy()
        for arm in range(len(wins)):
            moved = binomial(pool[arm], abs(missing) / pool.sum(), rng)
            part[arm] += moved if missing > 0 else -moved
    return part
