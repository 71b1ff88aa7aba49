"""The loop of Lazy-DP-TS: exact, without drawing at every step.

At step t arm a draws from Beta(x n + 1, (1 - x) n + 1), x = [m + 3 L(t) / (epsilon n)] cut to [0, 1], with the private
mean m of n rewards, and the largest draw is pulled. Over a window of steps in which no private mean changes, fix a bar.
The leader wins every step in which it draws above the bar and no rival does. For each arm the chance of the opposite
is at most a Chernoff bound at one end of the window, as x grows with t. With this bound as its rate, each arm has
candidate steps, the waits for which are geometric, and between them the leader is pulled without a draw. At a candidate
step the event is drawn as in `bandits.loops.perturbed_leader`, and kept with the ratio of what is exact for this step
to the rate: so it has the exact probability, and its value the exact law. Where the bounds are too large to be of use,
every arm is drawn at every step of the window.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.lazy import Arms, new_arms, pull
from bandits.loops.perturbed_leader import BETA, Constants, beta_above, exceeding
from bandits.loops.records import record_run

SHORTEST_WINDOW = 16
WINDOWS = 64  # a window is as long as 1/64 of the steps before it
CONTESTED = 0.5  # sum of the rates above which every arm is drawn at every step
BISECTIONS = 16
NO_CONSTANTS = Constants()  # the Beta law reads none


class Shift(NamedTuple):
    """What is added to private means of n rewards: 3 log(t) / (unit epsilon n), see `bonus`."""

    epsilon: float
    unit: float


class Watch(NamedTuple):
    """A window of steps whose leader is known but for rare events.

    Attributes
    ----------
    leader: the arm that is pulled unless it draws below the `bar`, or a rival above it.
    rates: bounds on the chance of that for every arm and every step of the window, shape (arms,).
    """

    leader: int
    bar: float
    rates: FloatArray


@compiled
def lazy_thompson_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, shift: Shift, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    state = new_arms(arms)
    row = t = 0
    while t < horizon:
        if t < arms:
            row = record_run(record, row, checkpoints, state.pulls, t, t, 1)
            pull(state, t, 1, means[t], shift.epsilon, rng)
            t += 1
            continue
        end = min(horizon, t + max(SHORTEST_WINDOW, t // WINDOWS))
        watch = plan(state, bonus(shift, t + 1), bonus(shift, end))
        due = waits(watch.rates, t, rng)
        changed = False
        while t < end and not changed:
            if watch.rates.sum() > CONTESTED:
                arm, steps = drawn(state, bonus(shift, t + 1), rng), 1
            elif due.min() > t + 1:
                arm, steps = watch.leader, min(min(due.min() - 1, end) - t, state.room[watch.leader])
            else:
                arm, steps = settled(state, watch, due, t + 1, bonus(shift, t + 1), rng), 1
            row = record_run(record, row, checkpoints, state.pulls, arm, t, steps)
            changed = pull(state, arm, steps, means[arm], shift.epsilon, rng)
            t += steps
    return record


@compiled
def bonus(shift: Shift, t: int) -> float:
    """What is added to a private sum at step t."""
    return 3 * math.log(t) / (shift.unit * shift.epsilon)


@compiled
def parameters(state: Arms, arm: int, added: float) -> tuple[float, float]:
    """The two parameters of the Beta law of an arm at a step with the bonus `added`."""
    count = state.counts[arm]
    x = min(1.0, max(0.0, state.means[arm] + added / count))
    return x * count + 1, (1 - x) * count + 1


@compiled
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    """A Beta(a, b) variable; with b = 1 it is a power of a uniform one."""
    if b == 1:
        return math.exp(-rng.standard_exponential() / a)
    return rng.beta(a, b)


@compiled
def drawn(state: Arms, added: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw at a step with the bonus `added`."""
    best, winner = -1.0, 0
    for arm in range(len(state.counts)):
        a, b = parameters(state, arm, added)
        value = beta(a, b, rng)
        if value > best:
            best, winner = value, arm
    return winner


@compiled
def chance(state: Arms, leader: int, arm: int, bar: float, added: float) -> float:
    """A bound on the chance that the leader draws below the bar, or that a rival draws above it."""
    a, b = parameters(state, arm, added)
    if arm == leader:
        return exceeding(BETA, NO_CONSTANTS, b, a, 1 - bar)
    return exceeding(BETA, NO_CONSTANTS, a, b, bar)


@compiled
def plan(state: Arms, first: float, last: float) -> Watch:
    """The leader, the bar at which its rate is the largest of its rivals', and all rates, for these bonuses."""
    arms = len(state.counts)
    leader, low, high = 0, 0.0, 0.0
    for arm in range(arms):
        a, b = parameters(state, arm, first)
        if a / (a + b) > high:
            leader, high = arm, a / (a + b)
    for arm in range(arms):
        if arm != leader:
            a, b = parameters(state, arm, last)
            low = max(low, a / (a + b))
    for _ in range(BISECTIONS if low < high else 0):
        bar = (low + high) / 2
        if chance(state, leader, leader, bar, first) > rival_rate(state, leader, bar, last):
            high = bar
        else:
            low = bar
    bar = (low + high) / 2
    rates = np.zeros(arms)
    for arm in range(arms):
        rates[arm] = chance(state, leader, arm, bar, first if arm == leader else last)
    return Watch(leader, bar, rates)


@compiled
def rival_rate(state: Arms, leader: int, bar: float, last: float) -> float:
    """The largest rate of a rival in a window that ends with the bonus `last`."""
    largest = 0.0
    for arm in range(len(state.counts)):
        if arm != leader:
            largest = max(largest, chance(state, leader, arm, bar, last))
    return largest


@compiled
def waits(rates: FloatArray, t: int, rng: np.random.Generator) -> IntArray:
    """The next candidate step of every arm after step t, shape (arms,)."""
    due = np.empty(len(rates), dtype=np.int64)
    for arm in range(len(rates)):
        due[arm] = t + wait(rates[arm], rng)
    return due


@compiled
def wait(rate: float, rng: np.random.Generator) -> int:
    """Steps to the next candidate, geometric: k with probability rate (1 - rate)^(k - 1)."""
    if rate <= 0:
        return 1 << 60
    if rate >= 1:
        return 1
    return 1 + int(min(rng.standard_exponential() / -math.log1p(-rate), 2.0**60))


@compiled
def settled(state: Arms, watch: Watch, due: IntArray, t: int, added: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw at a step t that is a candidate of at least one arm; `due` moves on."""
    arms = len(due)
    values = np.full(arms, -1.0)  # of the arms whose event happens
    for arm in range(arms):
        if due[arm] == t:
            values[arm] = event(state, watch, arm, added, rng)
            due[arm] = t + wait(watch.rates[arm], rng)
    low_leader = values[watch.leader]
    values[watch.leader] = -1.0
    winner = int(np.argmax(values))
    if values[winner] < 0:  # no rival draws above the bar
        return watch.leader if low_leader < 0 else best_below(state, watch, low_leader, added, rng)
    if low_leader >= 0:
        return winner
    a, b = parameters(state, watch.leader, added)
    value = beta(a, b, rng)
    while value <= watch.bar:
        value = beta(a, b, rng)
    return watch.leader if value > values[winner] else winner


@compiled
def event(state: Arms, watch: Watch, arm: int, added: float, rng: np.random.Generator) -> float:
    """The draw of an arm on its rare side of the bar at a candidate step, or -1 if it is on the other."""
    if rng.random() * watch.rates[arm] >= chance(state, watch.leader, arm, watch.bar, added):
        return -1.0
    a, b = parameters(state, arm, added)
    if arm == watch.leader:
        mirrored = beta_above(b, a, 1 - watch.bar, rng)
        return -1.0 if mirrored < 0 else 1 - mirrored
    return max(-1.0, beta_above(a, b, watch.bar, rng))


@compiled
def best_below(state: Arms, watch: Watch, leading: float, added: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw where all are below the bar, the leader's being `leading`."""
    winner = watch.leader
    for arm in range(len(state.counts)):
        if arm != watch.leader:
            a, b = parameters(state, arm, added)
            value = beta(a, b, rng)
            while value > watch.bar:
                value = beta(a, b, rng)
            if value > leading:
                leading, winner = value, arm
    return winner
