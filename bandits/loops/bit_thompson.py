"""The loop of TS-CF: Thompson sampling with Beta posteriors on bits, exact, without drawing at every step.

Every arm once; then arm a draws from Beta(s_a + 1, n_a - s_a + 1), s_a the sum of its n_a bits, and the arm with the
largest draw is pulled.

Most steps go to one arm, the leader. Fix a bar below its mean and above the means of its rivals. The leader wins a step
unless its draw is below the bar or a rival's draw is above it. The log-odds of a Beta(a, b) variable have a log-concave
density f, with (log f)' = a - N bar at the bar, N = a + b. So the chance above a bar beyond the mean is at most
f(bar) / (N bar - a), and bar + an exponential variable with this rate, accepted with probability f over its majorant,
has the law above the bar. f(bar) is its peak, at most sqrt(N / (8 pi)), times exp(-N kl(a / N, bar)). The bounds of
rivals do not change while these are not pulled. For the leader, sides are mirrored: N kl(a / N, bar) >= X is convex in
(N, a), so that the least a is concave in N and lies below its tangent, along which a - N bar grows. As long as a stays
above the tangent, all bounds hold at every step, and the waiting times between steps with a proposed event are
geometric. All other steps are pulls of the leader, and their bits are drawn many at a time as in
`bandits.loops.local_ucb`. A proposed event is accepted with the exact probability, and its draw has the exact law. A
rival that is pulled gets a new bound for the same bar: draws are independent of the past. While no arm leads clearly,
steps are drawn as in `bandits.loops.perturbed_values`.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.divergences import bernoulli_divergence
from bandits.loops.largest_beta import fall, peak
from bandits.loops.local_ucb import SMALLEST_BLOCK, LocalRun, pull_reporting_leader
from bandits.loops.perturbed_values import BETA, Arms, Constants, largest, set_bar
from bandits.loops.records import record_run

LAW = Constants(mirrored=0.0)
DEVIATIONS = (2.5, 3.2, 4.0, 5.0, 6.5, 8.5, 11.0)  # of the bar from the leader's mean, on the logit scale
KEPT = 0.75  # a run ends when the leader's distance from the bar falls below this share
CLEAR = 0.3  # proposed events per step, above which no arm leads clearly
GROWN = 2.0  # a bar is used until the rate of proposed events has grown by this factor
LONGEST = 4  # a run has at most 1 / LONGEST of the leader's pulls
DRAWN = 64  # steps for which all arms are drawn with the same bar


class _Lead(NamedTuple):
    """The leader and the bar of a run.

    Attributes
    ----------
    arm: the leader.
    bar: a value between its mean and the means of its rivals.
    low: a bound on the probability that the leader's draw is below the bar.
    first, slope: `low` holds as long as s + 1 is above first + slope x pulls of the run.
    rate: the rate of proposed events per step, the sum of the hazards -log(1 - bound).
    """

    arm: int
    bar: float
    low: float
    first: float
    slope: float
    rate: float


@borrowing
def hazard_of(chance: float) -> float:
    """The hazard -log(1 - chance), infinite for a sure event; plain Python would refuse log(0)."""
    return math.inf if chance == 1.0 else -math.log1p(-chance)


@compiled
def bit_thompson_pulls(means: FloatArray, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
    """Pulls of every arm, whose bits have these `means`, at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    pulls = np.zeros(arms, dtype=np.int64)
    state = Arms(np.ones(arms), np.ones(arms), np.zeros(arms), np.zeros(arms, dtype=np.bool_))
    row = t = 0
    while t < min(arms, horizon):
        row = record_run(record, row, checkpoints, pulls, t, t, 1)
        _pull(state, pulls, t, means, rng)
        t += 1
    while t < horizon:
        lead = lead_of(state)
        if lead.rate < CLEAR:
            t, row = follow_leader(lead, state, pulls, means, t, record, row, checkpoints, horizon, rng)
        else:
            bar = set_bar(BETA, LAW, state)
            rare = state.hazard.sum()
            for _ in range(min(DRAWN, horizon - t)):
                arm, exceeded = largest(BETA, LAW, state, bar, rare, rng)
                row = record_run(record, row, checkpoints, pulls, arm, t, 1)
                _pull(state, pulls, arm, means, rng)
                t += 1
                if not exceeded or not state.often[arm]:
                    break
    return record


@borrowing
def follow_leader(
    lead: _Lead,
    state: Arms,
    pulls: IntArray,
    means: FloatArray,
    t: int,
    record: IntArray,
    row: int,
    checkpoints: IntArray,
    horizon: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Make steps with the same bar; returns the number of steps and the first free row of the record."""
    leader, rate = lead.arm, lead.rate
    begun, longest = pulls[leader], 1 + pulls[leader] // LONGEST
    while t < horizon and rate <= GROWN * lead.rate:
        made = pulls[leader] - begun
        need = lead.first + lead.slope * made
        if made >= longest or state.first[leader] <= need:
            break
        quiet = _wait(rate, rng)
        run = LocalRun(means[leader], 0.0, need, lead.slope, min(quiet, longest - made, horizon - t))
        pulled = 0
        if quiet > 0:
            before = state.first[leader]
            pulled, state.first[leader] = pull_reporting_leader(run, before, SMALLEST_BLOCK, rng)
            state.second[leader] += pulled - (state.first[leader] - before)
            row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
            pulls[leader] += pulled
            t += pulled
        if pulled == quiet and t < horizon and state.first[leader] > need + lead.slope * pulled:
            arm = contested(state, lead, rng)
            row = record_run(record, row, checkpoints, pulls, arm, t, 1)
            _pull(state, pulls, arm, means, rng)
            t += 1
            if arm != leader:
                chance = chance_above(state.first[arm], state.second[arm], lead.bar)
                state.hazard[arm] = hazard_of(chance)
                rate = state.hazard.sum()
    return t, row


@borrowing
def _pull(state: Arms, pulls: IntArray, arm: int, means: FloatArray, rng: np.random.Generator) -> None:
    """One pull of an arm."""
    pulls[arm] += 1
    if rng.random() < means[arm]:
        state.first[arm] += 1
    else:
        state.second[arm] += 1


@borrowing
def _wait(rate: float, rng: np.random.Generator) -> int:
    """Steps without an event before the next step with one."""
    return int(min(rng.standard_exponential() / rate, 2.0**60)) if rate > 0 else 1 << 60


@borrowing
def lead_of(state: Arms) -> _Lead:
    """The arm with the clearest lead, with the bar of the fewest proposed events; fills in the hazards of all arms."""
    first, second, hazard, _ = state
    leader, highest = 0, -math.inf
    for arm in range(len(first)):
        size = first[arm] + second[arm]
        low = first[arm] / size - 2 * math.sqrt(first[arm] * second[arm] / size) / size
        if low > highest:
            leader, highest = arm, low
    size = first[leader] + second[leader]
    mean = first[leader] / size
    best = _Lead(leader, 0.0, 0.0, 0.0, 0.0, math.inf)
    for deviations in DEVIATIONS:
        bar = 1 / (1 + second[leader] / first[leader] * math.exp(deviations / math.sqrt(size * mean * (1 - mean))))
        kept = bar + KEPT * (mean - bar)
        highest_peak = math.sqrt((1 + 1 / LONGEST) * size / (8 * math.pi))
        low = min(1.0, highest_peak / (size * (kept - bar))) * math.exp(-size * bernoulli_divergence(kept, bar))
        rate = hazard_of(low)
        for arm in range(len(first)):
            if arm != leader:
                rate += hazard_of(chance_above(first[arm], second[arm], bar))
        if rate < best.rate:
            best = _Lead(leader, bar, low, kept * size, tangent(kept, bar), rate)
    for arm in range(len(first)):
        chance = chance_above(first[arm], second[arm], best.bar) if arm != leader else best.low
        hazard[arm] = hazard_of(chance)
    return best


@compiled
def tangent(kept: float, bar: float) -> float:
    """The derivative in N of the s with N kl(s / N, bar) = X, at s / N = `kept`; it does not depend on X."""
    return -math.log((1 - kept) / (1 - bar)) / math.log(kept * (1 - bar) / ((1 - kept) * bar))


@borrowing
def contested(state: Arms, lead: _Lead, rng: np.random.Generator) -> int:
    """The arm with the largest draw at a step at which an event is proposed."""
    first, second, hazard, _ = state
    best, winner = -math.inf, -1
    low = math.inf  # the leader's draw if it is below the bar
    point = -math.log1p(rng.random() * math.expm1(-hazard.sum()))  # exponential, given that it is less than the rate
    end = 0.0
    for arm in range(len(first)):
        end += hazard[arm]
        if point < end:
            point = end + rng.standard_exponential()
            if arm == lead.arm:
                low = leader_below(first[arm], second[arm], lead, rng)
            else:
                value = draw_beta_above(first[arm], second[arm], lead.bar, rng)
                if value > best:
                    best, winner = value, arm
    if low == math.inf:
        if winner < 0:
            return lead.arm
        value = lead.bar
        while value <= lead.bar:
            value = rng.beta(first[lead.arm], second[lead.arm])
        return lead.arm if value > best else winner
    if winner >= 0:
        return winner
    best, winner = low, lead.arm
    for arm in range(len(first)):
        if arm != lead.arm:
            value = math.inf
            while value > lead.bar:
                value = rng.beta(first[arm], second[arm])
            if value > best:
                best, winner = value, arm
    return winner


@borrowing
def leader_below(first: float, second: float, lead: _Lead, rng: np.random.Generator) -> float:
    """The leader's draw given that it is below the bar, or inf if the proposed event is rejected.

    It is accepted with the probability that the draw is below the bar, divided by its bound `lead.low`.
    """
    if rng.random() * lead.low >= chance_above(second, first, 1 - lead.bar):
        return math.inf
    return 1 - draw_beta_above(second, first, 1 - lead.bar, rng)


@compiled
def chance_above(first: float, second: float, bar: float) -> float:
    """A bound on the probability that a Beta(first, second) variable exceeds `bar`: density over hazard rate."""
    size = first + second
    if size * bar <= first:
        return 1.0
    density = peak(first, second) * math.exp(-size * bernoulli_divergence(first / size, bar))
    return min(1.0, density / (size * bar - first))


@borrowing
def draw_beta_above(first: float, second: float, bar: float, rng: np.random.Generator) -> float:
    """A Beta(first, second) variable given that it exceeds `bar` > mean, or -inf if the proposed event is rejected.

    It is accepted with the probability that the variable exceeds `bar`, divided by `chance_above`, if that is below 1.
    """
    size = first + second
    step = rng.standard_exponential() / (size * bar - first)
    if rng.random() >= math.exp(-fall(size, bar, step)):
        return -math.inf
    return 1 / (1 + (1 - bar) / bar * math.exp(-step))
