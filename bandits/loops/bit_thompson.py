"""The loop of TS-CF: Thompson sampling with Beta posteriors on bits, exact, without drawing at every step.

Every arm once; then arm a draws from Beta(s_a + 1, n_a - s_a + 1), s_a the sum of its n_a bits, and the arm with the
largest draw is pulled.

Most steps go to one arm, the leader. Fix a bar below its mean and above the means of its rivals. The leader wins a step
unless its draw is below the bar or the draw of a rival above. Chernoff's bound exp(-N kl(mean, bar)), N = n + 2 and
mean = (s + 1) / N, bounds the probability of each of these events. The bounds of rivals do not change while these are
not pulled. The leader's is at most exp(-X) as long as N kl((s + 1) / N, bar) >= X. This function is convex in
(N, s + 1), so that the least s + 1 is concave in N and lies below its tangent: as long as s + 1 stays above the
tangent, all bounds hold at every step, and the waiting times between steps with a proposed event are geometric. All
other steps are pulls of the leader, and their bits are drawn many at a time as in `bandits.loops.local_ucb`. A proposed
event is accepted with the exact probability, and its draw has the exact law, as in `bandits.loops.perturbed_values`.
While no arm leads clearly, steps are drawn as there.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.divergences import bernoulli_divergence
from bandits.loops.local_ucb import SMALLEST_BLOCK, Run, pull_leader
from bandits.loops.perturbed_values import BETA, Arms, Constants, beta_above, exceeding, largest, plan
from bandits.loops.records import record_run

LAW = Constants(mirrored=0.0)
DEVIATIONS = (2.5, 3.2, 4.0, 5.0, 6.5, 8.5, 11.0)  # of the bar from the leader's mean, on the logit scale
KEPT = 0.75  # a run ends when the leader's distance from the bar falls below this share
CLEAR = 0.1  # proposed events per step, above which no arm leads clearly
LONGEST = 4  # a run has at most 1 / LONGEST of the leader's pulls
DRAWN = 64  # steps for which all arms are drawn with the same bar


class Lead(NamedTuple):
    """The leader and the bar of a run.

    Attributes
    ----------
    arm: the leader.
    bar: a value between its mean and those of its rivals.
    least: X; the leader's draw is below the bar with probability at most exp(-X),
    first, slope: as long as s + 1 is above first + slope x pulls of the run.
    rate: the rate of proposed events per step, the sum of the hazards -log(1 - bound).
    """

    arm: int
    bar: float
    least: float
    first: float
    slope: float
    rate: float


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
        pull(state, pulls, t, means, rng)
        t += 1
    while t < horizon:
        lead = lead_of(state)
        if lead.rate < CLEAR:
            arm, before = lead.arm, state.first[lead.arm]
            quiet = wait(lead.rate, rng)
            run = Run(means[arm], 0.0, lead.first, lead.slope, min(quiet, 1 + pulls[arm] // LONGEST, horizon - t))
            made = 0
            if quiet > 0:
                made, state.first[arm] = pull_leader(run, before, SMALLEST_BLOCK, rng)
                state.second[arm] += made - (state.first[arm] - before)
                row = record_run(record, row, checkpoints, pulls, arm, t, made)
                pulls[arm] += made
                t += made
            if made == quiet and t < horizon and state.first[arm] > lead.first + lead.slope * made:
                arm = contested(state, lead, rng)
                row = record_run(record, row, checkpoints, pulls, arm, t, 1)
                pull(state, pulls, arm, means, rng)
                t += 1
        else:
            bar = plan(BETA, LAW, state)
            rare = state.hazard.sum()
            for _ in range(min(DRAWN, horizon - t)):
                arm, exceeded = largest(BETA, LAW, state, bar, rare, rng)
                row = record_run(record, row, checkpoints, pulls, arm, t, 1)
                pull(state, pulls, arm, means, rng)
                t += 1
                if not exceeded or not state.often[arm]:
                    break
    return record


@compiled
def pull(state: Arms, pulls: IntArray, arm: int, means: FloatArray, rng: np.random.Generator) -> None:
    """One pull of an arm."""
    pulls[arm] += 1
    if rng.random() < means[arm]:
        state.first[arm] += 1
    else:
        state.second[arm] += 1


@compiled
def wait(rate: float, rng: np.random.Generator) -> int:
    """Steps without an event before the next step with one."""
    return int(min(rng.standard_exponential() / rate, 2.0**60)) if rate > 0 else 1 << 60


@compiled
def lead_of(state: Arms) -> Lead:
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
    best = Lead(leader, 0.0, 0.0, 0.0, 0.0, math.inf)
    for deviations in DEVIATIONS:
        bar = 1 / (1 + second[leader] / first[leader] * math.exp(deviations / math.sqrt(size * mean * (1 - mean))))
        kept = bar + KEPT * (mean - bar)
        least = size * bernoulli_divergence(kept, bar)
        rate = -math.log1p(-math.exp(-least))
        for arm in range(len(first)):
            if arm != leader:
                rate -= math.log1p(-exceeding(BETA, LAW, first[arm], second[arm], bar))
        if rate < best.rate:
            best = Lead(leader, bar, least, kept * size, tangent(kept, bar), rate)
    for arm in range(len(first)):
        chance = exceeding(BETA, LAW, first[arm], second[arm], best.bar) if arm != leader else math.exp(-best.least)
        hazard[arm] = -math.log1p(-chance)
    return best


@compiled
def tangent(kept: float, bar: float) -> float:
    """The derivative in N of the s with N kl(s / N, bar) = X, at s / N = `kept`; it does not depend on X."""
    return -math.log((1 - kept) / (1 - bar)) / math.log(kept * (1 - bar) / ((1 - kept) * bar))


@compiled
def contested(state: Arms, lead: Lead, rng: np.random.Generator) -> int:
    """The arm with the largest draw at a step at which an event is proposed."""
    first, second, hazard, _ = state
    best, winner = -math.inf, -1
    low = math.inf  # the leader's draw if it is below the bar
    point = -math.log1p(rng.random() * math.expm1(-lead.rate))  # exponential, given that it is less than the rate
    end = 0.0
    for arm in range(len(first)):
        end += hazard[arm]
        if point < end:
            point = end + rng.standard_exponential()
            if arm == lead.arm:
                low = leader_below(first[arm], second[arm], lead, rng)
            else:
                value = beta_above(first[arm], second[arm], lead.bar, rng)
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


@compiled
def leader_below(first: float, second: float, lead: Lead, rng: np.random.Generator) -> float:
    """The leader's draw given that it is below the bar, or inf if the proposed event is rejected.

    It is accepted with the probability that the draw is below the bar, divided by exp(-X).
    """
    size = first + second
    if rng.random() >= math.exp(lead.least - size * bernoulli_divergence(first / size, lead.bar)):
        return math.inf
    return 1 - beta_above(second, first, 1 - lead.bar, rng)
