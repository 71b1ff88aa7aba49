"""The loop of KLUCB-CF: KL-UCB on bits, exact, without comparing all arms at every step.

Every arm once; then, at step t, the arm with the largest

    index_a = the largest q <= H with n_a kl(s_a / n_a, q) <= L(t),   L(t) = log t + c log+ log t,

H itself if s_a / n_a >= H; s_a is the sum of its n_a bits. Ties go to the arm with the fewest pulls, then to the first.

Three things save work without any approximation. (1) The inverse of a convex function is concave: an index, as a
function of L, stays below its tangent. The tangent bounds the index of an arm that is not pulled, and an index is
computed again only if this bound does not decide who leads. (2) While one arm leads, its rivals' bounds at the end of a
window give a threshold q, and the leader is pulled until n kl(s / n, q) rises to L at the beginning of the window. n
kl(s / n, q) is convex in (n, s), so that the sum needed is convex in n, and a chord over the window is above it: a run
may end too early, which costs only a comparison of all arms. In such a run bits are drawn many at a time as in
`bandits.loops.local_ucb`. (3) Arms at H are pulled in rounds, see `play_highest`: the arm that is pulled depends only
on numbers of pulls and on which arms are at H. The bits of an arm are independent of all choices, so that they may be
drawn before they are needed: if the sum is above the chord of H after every pull of a block, the arm stays at H, with L
at the beginning of the block and so with every later L. Until the block is used up, no other property of the arm
matters. Arms that are not at H are not pulled, and the level at which they rise to H is known. So all arms at H with
the fewest pulls are pulled in turn for as many rounds as the shortest block allows, or until they reach the pulls of
another arm at H, or until an arm may rise to H. Whether an arm is still at H after its block is checked at the end of
the round: it is not pulled again before.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.divergences import bernoulli_divergence, divergence_lower_mean, divergence_upper_end
from bandits.loops.front import window_of
from bandits.loops.local_ucb import (
    DEVIATIONS,
    SHARE,
    SMALLEST_BLOCK,
    LocalRun,
    block_length,
    pull_block,
    pull_reporting_leader,
    uncovered,
)
from bandits.loops.records import record_rounds, record_run

SHORT = 8  # windows that are shorter are one pull: a chord costs more than it saves
ROOM = 1e-9  # for rounding, in bits per pull: a run may end so much too early, which costs only a comparison
MARGIN = 1e-13  # for rounding, in a bound on an index
NEVER = 1 << 60


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


class IndexArms(NamedTuple):
    """The state of the arms, shapes (arms,); updated in place.

    Attributes
    ----------
    pulls, sums: number and sum of bits.
    value: the index at the exploration level `at`.
    slope: its derivative there.
    """

    pulls: IntArray
    sums: FloatArray
    value: FloatArray
    slope: FloatArray
    at: FloatArray


class Ahead(NamedTuple):
    """Bits of arms at H that are drawn before they are needed, shapes (arms,); updated in place.

    Attributes
    ----------
    drawn: pulls whose bits are drawn; after each but the last the arm is at H.
    first, slope: the arm is at H as long as its sum is above first + slope x pulls,
    end: up to this number of pulls; then a new chord is needed.
    """

    drawn: IntArray
    first: FloatArray
    slope: FloatArray
    end: IntArray


@compiled
def kl_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, index: KLIndex, rng: np.random.Generator
) -> IntArray:
    """Pulls of every arm, whose bits have these `means`, at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = t = 0
    state = IndexArms(np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms))
    while t < horizon:
        now = exploration(index, t + 1)
        leader = t
        run = LocalRun(means[min(t, arms - 1)], 0.0, -math.inf, 0.0, 1)
        if t >= arms:
            leader = leading_arm(state, index, now)
            if state.value[leader] >= index.highest:
                before = state.pulls.copy()
                t, row = play_highest(means, state, index, t, record, row, checkpoints, horizon, rng)
                for arm in range(arms):
                    if state.pulls[arm] > before[arm]:
                        refresh(state, index, arm, exploration(index, t + 1))
                continue
            run = _run_of(means[leader], state, index, leader, t, horizon)
        pulled, state.sums[leader] = pull_reporting_leader(run, state.sums[leader], index.smallest, rng)
        row = record_run(record, row, checkpoints, state.pulls, leader, t, pulled)
        state.pulls[leader] += pulled
        t += pulled
        refresh(state, index, leader, exploration(index, t + 1))
    return record


@borrowing
def exploration(index: KLIndex, t: float) -> float:
    """L(t) = log t + c log+ log t."""
    log_t = math.log(t)
    return log_t + index.c * math.log(max(log_t, 1.0))


@borrowing
def refresh(state: IndexArms, index: KLIndex, arm: int, now: float) -> None:
    """Compute the index of an arm, and its slope, at the level `now`."""
    pulls = float(state.pulls[arm])
    mean = state.sums[arm] / pulls
    value, slope = index.highest, 0.0
    if not is_highest(pulls, mean, index.highest, now):
        value = min(divergence_upper_end(mean, now / pulls), np.nextafter(index.highest, 0.0))
        slope = value * (1 - value) / (pulls * (value - mean))
    state.value[arm], state.slope[arm], state.at[arm] = value, slope, now


@compiled
def is_highest(pulls: float, mean: float, highest: float, now: float) -> bool:
    """Whether an index is H."""
    return bool(mean >= highest or (highest < 1 and pulls * bernoulli_divergence(mean, highest) <= now))


@borrowing
def _bound(state: IndexArms, index: KLIndex, arm: int, level: float) -> float:
    """An upper bound on the index of an arm at this `level`, which is at least the level of its known index."""
    if state.at[arm] == level or state.value[arm] >= index.highest:
        return float(state.value[arm])
    return float(min(index.highest, state.value[arm] + state.slope[arm] * (level - state.at[arm]) + MARGIN))


@borrowing
def leading_arm(state: IndexArms, index: KLIndex, now: float) -> int:
    """An arm at H, or else the arm to pull at the level `now`.

    The largest bound is replaced by its exact index until the largest one is exact. Indices below H are equal only if
    pulls and sums are, up to rounding.
    """
    while True:
        leader, largest = 0, -math.inf
        for arm in range(len(state.pulls)):
            value = _bound(state, index, arm, now)
            if value > largest:
                leader, largest = arm, value
        if state.at[leader] == now or state.value[leader] >= index.highest:
            return leader
        refresh(state, index, leader, now)


@borrowing
def _run_of(mean: float, state: IndexArms, index: KLIndex, leader: int, t: int, horizon: int) -> LocalRun:
    """A run in which the leader, pulled at step t + 1, surely leads: the sum that it needs, and a window."""
    now = exploration(index, t + 1)
    single = LocalRun(mean, 0.0, -math.inf, 0.0, 1)
    closest = steepest = 0.0
    for arm in range(len(state.pulls)):
        if arm != leader:
            closest, steepest = max(closest, _bound(state, index, arm, now)), max(steepest, state.slope[arm])
    growth = exploration(index, t + 2) - now
    window = window_of(state.value[leader] - closest, max(steepest, 1e-300), growth, t, horizon)
    window = min(window, 1 + state.pulls[leader] // SHARE)
    if window < SHORT:
        return single
    threshold, last = 0.0, exploration(index, t + window)
    for arm in range(len(state.pulls)):
        if arm != leader:
            threshold = max(threshold, _bound(state, index, arm, last))
    if threshold >= state.value[leader]:
        return single
    first, slope = need_over(state.pulls[leader], window, threshold, now)
    return LocalRun(mean, 0.0, first, slope, window)


@compiled
def need_over(before: int, window: int, threshold: float, level: float) -> tuple[float, float]:
    """The sum that an index above `threshold` needs after `before` pulls, and the slope of its chord over a window.

    The bound holds for every level from `level` on. The need is convex in the pulls, so the chord is above it.
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
def play_highest(
    means: FloatArray,
    state: IndexArms,
    index: KLIndex,
    t: int,
    record: IntArray,
    row: int,
    checkpoints: IntArray,
    horizon: int,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Pull arms at H until none is left, or up to the horizon; returns the steps made and the first free row.

    The arm at H with the fewest pulls is pulled, the first of them. `ahead` holds the bits drawn before they are
    needed, and `state.sums` are those after `ahead.drawn` pulls.
    """
    arms = len(means)
    ahead = Ahead(state.pulls.copy(), np.zeros(arms), np.zeros(arms), state.pulls.copy())
    rises = np.zeros(arms, dtype=np.int64)  # 0 for an arm at H, else a step before which it is not
    for arm in range(arms):
        rises[arm] = rise(state, index, arm, t + 1)
    group = np.empty(arms, dtype=np.int64)
    while t < horizon:
        fewest = more = NEVER  # pulls of arms at H
        quiet = horizon - t
        for arm in range(arms):
            if 0 < rises[arm] <= t + 1:
                rises[arm] = rise(state, index, arm, t + 1)
            if rises[arm] > 0:
                quiet = min(quiet, rises[arm] - t - 1)
            elif state.pulls[arm] < fewest:
                fewest, more = state.pulls[arm], fewest
            elif fewest < state.pulls[arm] < more:
                more = state.pulls[arm]
        if fewest == NEVER:
            break
        size = 0
        for arm in range(arms):
            if rises[arm] == 0 and state.pulls[arm] == fewest and size < quiet:
                group[size] = arm
                size += 1
        members, rounds = group[:size], min(more - fewest, quiet // size)
        for arm in members:
            if ahead.drawn[arm] == fewest:
                draw_ahead(means[arm], state, index, ahead, arm, exploration(index, t + 1), rng)
            rounds = min(rounds, ahead.drawn[arm] - fewest)
        row = record_rounds(record, row, checkpoints, state.pulls, members, t, rounds * size)
        t += rounds * size
        for arm in members:
            pulls = state.pulls[arm]
            if pulls == ahead.drawn[arm] and state.sums[arm] <= ahead.first[arm] + ahead.slope[arm] * pulls:
                rises[arm], ahead.end[arm] = rise(state, index, arm, t + 1), pulls
    return t, row


@borrowing
def draw_ahead(
    mean: float, state: IndexArms, index: KLIndex, ahead: Ahead, arm: int, level: float, rng: np.random.Generator
) -> None:
    """Draw one bit of an arm at H, or a block of which all but the last pull leave its sum above the chord."""
    pulls = state.pulls[arm]
    if pulls >= ahead.end[arm]:
        window = 1 + pulls // SHARE
        first, ahead.slope[arm] = need_over(pulls, window, index.highest, level)
        ahead.first[arm], ahead.end[arm] = first - ahead.slope[arm] * pulls, pulls + window
    run = LocalRun(mean, 0.0, ahead.first[arm], ahead.slope[arm], ahead.end[arm] - pulls)
    cost = uncovered(run.slope, 1 - mean, mean)
    spare = state.sums[arm] - run.first - run.slope * pulls
    if spare > cost * (index.smallest + DEVIATIONS * math.sqrt(index.smallest)) and run.window >= index.smallest:
        block = block_length(spare / cost, run.window, index.smallest)
        made, state.sums[arm] = pull_block(run, state.sums[arm], pulls, block, rng)
        ahead.drawn[arm] += made
    else:
        state.sums[arm] += 1.0 if rng.random() < mean else 0.0
        ahead.drawn[arm] += 1


@borrowing
def rise(state: IndexArms, index: KLIndex, arm: int, step: int) -> int:
    """0 if an arm is at H at this step, else a later step before which it is below H unless it is pulled.

    L grows with log t, and by at most 1 + c / log t for every unit of it from t >= e on, 1 before.
    """
    pulls = float(state.pulls[arm])
    mean, now = state.sums[arm] / pulls, exploration(index, step)
    if is_highest(pulls, mean, index.highest, now):
        return 0
    if index.highest >= 1:
        return NEVER
    missing = pulls * bernoulli_divergence(mean, index.highest) - now
    steps = step * math.expm1(missing / (1 + index.c / max(math.log(step), 1.0))) * (1 - MARGIN)
    return step + max(1, int(min(steps, float(NEVER - step))))
