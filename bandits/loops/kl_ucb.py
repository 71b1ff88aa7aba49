"""The loop of KLUCB-CF: KL-UCB on bits, exact, without looking at every step.

Every arm once; then, at step t, the arm with the largest

    index_a = the largest q <= H with n_a kl(s_a / n_a, q) <= L(t),   L(t) = log t + c log+ log t,

H itself if s_a / n_a >= H; s_a is the sum of its n_a bits. Ties go to the arm with the fewest pulls, then to the first.

Three things save work without any approximation. (1) The inverse of a convex function is concave: an index, as a
function of L, stays below its tangent. The tangent bounds the index of an arm that is not pulled, and an index is
computed again only if this bound does not decide who leads. (2) While one arm leads, its rivals' bounds at the end of a
window give a threshold q, and the leader is pulled until n kl(s / n, q) rises to L at the beginning of the window.
n kl(s / n, q) is convex in (n, s), so that the sum needed is convex in n, and a chord over the window is above it: a
run may end too early, which costs only a comparison of all arms. (3) Arms at H with equally many pulls take turns. As
long as all keep the sum that H requires, they are pulled for many rounds at once. In (2) and (3) bits are drawn many at
a time as in `bandits.loops.local_ucb`.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.divergences import bernoulli_divergence, divergence_lower_mean, divergence_upper_end
from bandits.loops.leader import window_of
from bandits.loops.local_ucb import DEVIATIONS, SHARE, SMALLEST_BLOCK, Run, pull_leader, uncovered
from bandits.loops.records import record_run

SHORT = 8  # windows that are shorter are one pull: a chord costs more than it saves
ROOM = 1e-9  # for rounding, in bits per pull: a run may end this much too early, which costs only a comparison
MARGIN = 1e-13  # for rounding, in a bound on an index


class KLIndex(NamedTuple):
    """How arms are compared.

    Attributes
    ----------
    highest: H, the largest value of an index, at most 1.
    c: of the exploration function L.
    smallest: pulls of the smallest block; with a huge number all pulls are drawn one by one.
    """

    highest: float
    c: float
    smallest: int = SMALLEST_BLOCK


class Arms(NamedTuple):
    """The state of the arms, shapes (arms,); updated in place.

    Attributes
    ----------
    pulls, sums: number and sum of bits.
    value: the index at the exploration level `at`,
    slope: its derivative there.
    """

    pulls: IntArray
    sums: FloatArray
    value: FloatArray
    slope: FloatArray
    at: FloatArray


@compiled
def kl_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, index: KLIndex, rng: np.random.Generator
) -> IntArray:
    """Pulls of every arm, whose bits have these `means`, at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = t = 0
    state = Arms(np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms))
    while t < horizon:
        now = exploration(index, t + 1)
        leader = t
        run = Run(means[min(t, arms - 1)], 0.0, -math.inf, 0.0, 1)
        if t >= arms:
            leader = front(state, index, now)
            rounds = rounds_ahead(state, index, leader, t, horizon)
            if rounds > 0:
                members = turns(state, index)
                first, slope = need_over(state.pulls[leader], rounds, index.highest, now)
                rounds = safe_rounds(means[members], state.sums[members], first, slope, rounds)
                if rounds >= index.smallest:
                    made = play_rounds(means, state.sums, members, first, slope, rounds, rng)
                    row = record_rounds(record, row, checkpoints, state.pulls, members, t, made)
                    t += made
                    for arm in members:
                        refresh(state, index, arm, exploration(index, t + 1))
                    continue
            run = run_of(means[leader], state, index, leader, t, horizon)
        pulled, state.sums[leader] = pull_leader(run, state.sums[leader], index.smallest, rng)
        row = record_run(record, row, checkpoints, state.pulls, leader, t, pulled)
        state.pulls[leader] += pulled
        t += pulled
        refresh(state, index, leader, exploration(index, t + 1))
    return record


@compiled
def exploration(index: KLIndex, t: float) -> float:
    """L(t) = log t + c log+ log t."""
    log_t = math.log(t)
    return log_t + index.c * math.log(max(log_t, 1.0))


@compiled
def refresh(state: Arms, index: KLIndex, arm: int, now: float) -> None:
    """Compute the index of an arm, and its slope, at the level `now`."""
    pulls = float(state.pulls[arm])
    mean = state.sums[arm] / pulls
    value, slope = index.highest, 0.0
    if not is_highest(pulls, mean, index.highest, now):
        value = min(divergence_upper_end(mean, now / pulls), index.highest)
        slope = value * (1 - value) / (pulls * (value - mean))
    state.value[arm], state.slope[arm], state.at[arm] = value, slope, now


@compiled
def is_highest(pulls: float, mean: float, highest: float, now: float) -> bool:
    """Whether an index is H."""
    return bool(mean >= highest or (highest < 1 and pulls * bernoulli_divergence(mean, highest) <= now))


@compiled
def bound(state: Arms, index: KLIndex, arm: int, level: float) -> float:
    """An upper bound on the index of an arm at this `level`, which is at least the level of its known index."""
    if state.at[arm] == level or state.value[arm] >= index.highest:
        return float(state.value[arm])
    return float(min(index.highest, state.value[arm] + state.slope[arm] * (level - state.at[arm]) + MARGIN))


@compiled
def front(state: Arms, index: KLIndex, now: float) -> int:
    """The arm to pull at the level `now`: the largest bound is made exact until the largest one is exact."""
    while True:
        leader, largest = 0, -math.inf
        for arm in range(len(state.pulls)):
            value = bound(state, index, arm, now)
            if value > largest or (value == largest and state.pulls[arm] < state.pulls[leader]):
                leader, largest = arm, value
        if state.at[leader] == now or state.value[leader] >= index.highest:
            return leader
        refresh(state, index, leader, now)


@compiled
def run_of(mean: float, state: Arms, index: KLIndex, leader: int, t: int, horizon: int) -> Run:
    """How long the leader, pulled at step t + 1, is sure to lead: the sum that it needs, and a window."""
    now = exploration(index, t + 1)
    single = Run(mean, 0.0, -math.inf, 0.0, 1)
    capped = state.value[leader] >= index.highest
    closest = steepest = 0.0
    for arm in range(len(state.pulls)):
        value = bound(state, index, arm, now)
        if arm != leader and not (capped and value >= index.highest):
            closest, steepest = max(closest, value), max(steepest, state.slope[arm])
    growth = exploration(index, t + 2) - now
    window = window_of(state.value[leader] - closest, max(steepest, 1e-300), growth, t, horizon)
    window = min(window, 1 + state.pulls[leader] // SHARE)
    if window < SHORT:
        return single
    threshold, last = 0.0, exploration(index, t + window)
    for arm in range(len(state.pulls)):
        if arm != leader:
            value = bound(state, index, arm, last)
            threshold = max(threshold, value)
            if value >= index.highest:  # it may tie, and would be pulled if it had fewer pulls
                window = min(window, state.pulls[arm] - state.pulls[leader])
    if window < SHORT or (threshold >= state.value[leader] and not capped):
        return single
    first, slope = need_over(state.pulls[leader], window, threshold, now)
    return Run(mean, 0.0, first, slope, window)


@compiled
def need_over(before: int, window: int, threshold: float, level: float) -> tuple[float, float]:
    """The sum that an index above `threshold` needs after `before` pulls, and the slope of its chord over a window.

    For every level from `level` on. The need is convex in the pulls, so that the chord is above it.
    """
    first = need(before, threshold, level)
    return first, (need(before + window, threshold, level) - first) / window


@compiled
def need(pulls: float, threshold: float, level: float) -> float:
    """The least s with pulls kl(s / pulls, threshold) <= level, and a little more."""
    if threshold >= 1:
        return pulls
    return pulls * (divergence_lower_mean(threshold, level / pulls) + ROOM)


@compiled
def rounds_ahead(state: Arms, index: KLIndex, leader: int, t: int, horizon: int) -> int:
    """Rounds over the arms at H in which no other rises to H; 0 unless several arms at H have equally many pulls."""
    if state.value[leader] < index.highest:
        return 0
    now = exploration(index, t + 1)
    members, closest, steepest = 0, 0.0, 0.0
    for arm in range(len(state.pulls)):
        value = bound(state, index, arm, now)
        if value >= index.highest:
            if state.value[arm] < index.highest or state.pulls[arm] != state.pulls[leader]:
                return 0
            members += 1
        else:
            closest, steepest = max(closest, value), max(steepest, state.slope[arm])
    growth = exploration(index, t + 2) - now
    window = window_of(index.highest - closest, max(steepest, 1e-300), growth, t, horizon)
    rounds = int(min(window // members, 1 + state.pulls[leader] // SHARE))
    last = exploration(index, t + rounds * members + 1)
    for arm in range(len(state.pulls)):
        if state.value[arm] < index.highest and bound(state, index, arm, last) >= index.highest:
            return 0
    return rounds if members > 1 and rounds >= index.smallest else 0


@compiled
def turns(state: Arms, index: KLIndex) -> IntArray:
    """The arms at H, in the order in which they are pulled if they have equally many pulls."""
    return np.flatnonzero(state.value >= index.highest)


@compiled
def safe_rounds(means: FloatArray, sums: FloatArray, first: float, slope: float, most: int) -> int:
    """Rounds in which probably no sum falls to first + slope x rounds: a wrong guess costs time, never exactness."""
    rounds = float(most)
    for arm in range(len(means)):
        cost = uncovered(slope, 1 - means[arm], means[arm])
        ahead = max(sums[arm] - first, 0.0) / cost
        rounds = min(rounds, ahead - DEVIATIONS * math.sqrt(ahead))
    return int(max(rounds, 0.0))


@compiled
def play_rounds(
    means: FloatArray,
    sums: FloatArray,
    members: IntArray,
    first: float,
    slope: float,
    rounds: int,
    rng: np.random.Generator,
) -> int:
    """Pull the members in turn for so many rounds, or until the sum of one falls to first + slope x its pulls.

    Returns the number of pulls; `sums` are updated in place. The number of ones of every member is drawn first; only if
    their order could matter, it is drawn too.
    """
    ones = np.zeros(len(members), dtype=np.int64)
    matters = False
    for i in range(len(members)):
        ones[i] = rng.binomial(rounds, means[members[i]])
        matters |= sums[members[i]] <= first + uncovered(slope, rounds - ones[i], ones[i])
    if not matters:
        for i in range(len(members)):
            sums[members[i]] += ones[i]
        return rounds * len(members)
    for left in range(rounds, 0, -1):
        for i in range(len(members)):
            if rng.random() * left < ones[i]:
                ones[i] -= 1
                sums[members[i]] += 1
            if sums[members[i]] <= first + slope * (rounds + 1 - left):
                return (rounds - left) * len(members) + i + 1
    return rounds * len(members)


@compiled
def record_rounds(
    record: IntArray, row: int, checkpoints: IntArray, pulls: IntArray, members: IntArray, begun: int, steps: int
) -> int:
    """Record the checkpoints in `steps` round-robin steps, and add these to `pulls`; returns the first free row."""
    while row < len(checkpoints) and checkpoints[row] <= begun + steps:
        record[row] = pulls
        add_turns(record[row], members, checkpoints[row] - begun)
        row += 1
    add_turns(pulls, members, steps)
    return row


@compiled
def add_turns(pulls: IntArray, members: IntArray, steps: int) -> None:
    """Add `steps` round-robin steps over the members, in order, to their pulls."""
    for i in range(len(members)):
        pulls[members[i]] += (steps + len(members) - 1 - i) // len(members)
