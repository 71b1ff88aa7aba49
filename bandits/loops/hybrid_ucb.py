"""Loops of the policies of Tossou and Dimitrakakis (2016): exact, without drawing the noise of every step.

`DPUCBInt` plays one interval at a time. Of `DPUCBTossou` blocks of steps are skipped in which one arm, the leader, is
surely pulled. After t steps, 2^level a divisor of t, the sums after t + j steps, 0 < j < 2^level, have the noise that
they had after t and fresh noise of nodes within the block, all of one scale: no power of two lies in between.

Take any number, the bar. While the leader is pulled, the sums of its rivals change by noise alone, and their widths
grow with log t; so a rival is below the bar throughout if no fresh noise of its sums is as large as its *room*. The
leader's rewards are at least 0, and what its sum needs to be above the bar is convex in its count, so largest at an end
of the block; so the leader is above if no fresh noise of its sums is as low as minus its room. `first_low_of_all` draws
the first step at which any arm's fresh noise uses up its room, with the noise of all arms up to it, or finds that there
is none; large noise is minus low noise, as Laplace noise is symmetric. Up to that step, or else to the end of the
block, the leader is pulled; its rewards are independent of all noise, so that they are one binomial draw. Then all arms
are compared as they are. Noise of a block without such a step is in no later sum.

The bar and the level are functions of what is known before the block, so that their choice changes no law. The bar is
nearly the one with the largest least room. (Exact up to rounding and to the error of the library's binomial sampler.)
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled, inlined
from bandits.loops.draws import binomial
from bandits.loops.low_sums import ENOUGH_ROOM, HIGHEST, SET_BITS, Scratch, first_low_of_all, low_sums, scratch
from bandits.loops.records import record_run
from bandits.mechanisms.hybrid import continued, fresh_levels
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit

SMALLEST_QUIET = 2  # level below which walking is faster than asking for a low sum,
QUIET_STEPS = 1 << SMALLEST_QUIET  # and the length of a block of this level


class HybridArms(NamedTuple):
    """What is known of the arms after a step, arrays of shape (arms,).

    Attributes
    ----------
    means: of their rewards.
    pulls, sums: their pulls, and the sums of their rewards.
    inverse, width: 1 / pulls and its square root.
    """

    means: FloatArray
    pulls: IntArray
    sums: FloatArray
    inverse: FloatArray
    width: FloatArray


class Memory(NamedTuple):
    """Memory of `dp_ucb_pulls`, made once.

    Attributes
    ----------
    prefix_noise: the noise of the sums of all arms, as in `bandits.mechanisms.hybrid.close_hybrid`, shape
        (levels, arms).
    fresh: of `first_low_of_all`, shape (levels, arms).
    rooms: of the arms, shape (arms,).
    """

    prefix_noise: FloatArray
    fresh: FloatArray
    rooms: FloatArray


class Lead(NamedTuple):
    """The leader after a step, which is pulled next.

    Attributes
    ----------
    arm: the leader.
    t: steps so far.
    radius: sqrt(2 log(t + 1)).
    unit: scale of the noise of the nodes that begin after `t`.
    """

    arm: int
    t: int
    radius: float
    unit: float


@compiled
def dp_ucb_pulls(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    scale: float,
    levels: int,
    largest_block: int,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms): `DPUCBTossou`.

    All mechanisms have taken t items, so they close the same node of their trees, which is found once per step.
    `largest_block` is the highest level of a block that may be skipped; with 0 every step is drawn.
    """
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    state = HybridArms(means, np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms))
    memory = Memory(np.zeros((levels, arms)), np.zeros((levels, arms)), np.zeros(arms))
    _play(record, checkpoints, horizon, state, scale, memory, largest_block, scratch(levels), rng)
    return record


@borrowing
def _play(
    record: IntArray,
    checkpoints: IntArray,
    horizon: int,
    state: HybridArms,
    scale: float,
    memory: Memory,
    largest_block: int,
    work: Scratch,
    rng: np.random.Generator,
) -> None:
    """Fill the `record` of `dp_ucb_pulls`, from the first step to the last: skip a block, or walk where none can be."""
    arms, prefix_noise = len(state.pulls), memory.prefix_noise
    t = leader = row = 0
    while t < horizon:
        lead = Lead(leader, t, math.sqrt(2 * math.log(t + 1)), scale * fresh_levels(t + 1))
        noise = prefix_noise[lowest_bit(t) if t > 0 else 0]
        level = quiet_level(lead, state, noise, largest_block, horizon - t, memory.rooms) if t >= arms else 0
        if level < SMALLEST_QUIET:
            end = min(max(t - t % QUIET_STEPS + QUIET_STEPS, arms), horizon)
            if row < len(checkpoints):
                end = min(end, checkpoints[row])
            leader = _walk(lead, end, state, prefix_noise, scale, rng)
            row = record_run(record, row, checkpoints, state.pulls, leader, end, 0)
            t = end
        else:
            steps, sure = sure_steps(lead, level, noise, memory, work, rng)
            row = record_run(record, row, checkpoints, state.pulls, leader, t, steps)
            t += steps
            _pull(state, leader, steps, rng)
            if sure:
                leader = known_leader(state, prefix_noise[lowest_bit(t)], t)
            else:
                leader = draw_leader(state, prefix_noise, t, scale * fresh_levels(t), rng)


@borrowing
def _walk(
    lead: Lead, end: int, state: HybridArms, prefix_noise: FloatArray, scale: float, rng: np.random.Generator
) -> int:
    """The next steps up to `end`, of which all noise is drawn; returns the leader after them."""
    arms, leader = len(state.pulls), lead.arm
    for step in range(lead.t + 1, end + 1):
        _pull(state, leader if step > arms else step - 1, 1, rng)
        leader = draw_leader(state, prefix_noise, step, scale * fresh_levels(step), rng)
    return leader


@inlined
def _pull(state: HybridArms, arm: int, steps: int, rng: np.random.Generator) -> None:
    """Pull an arm so many times."""
    if steps == 1:
        state.sums[arm] += 1.0 if rng.random() < state.means[arm] else 0.0
    else:
        state.sums[arm] += binomial(steps, state.means[arm], rng)
    state.pulls[arm] += steps
    state.inverse[arm] = 1 / state.pulls[arm]
    state.width[arm] = math.sqrt(state.inverse[arm])


@inlined
def draw_leader(state: HybridArms, prefix_noise: FloatArray, t: int, scale: float, rng: np.random.Generator) -> int:
    """Add fresh noise of this scale to the sums of all arms after `t` steps; returns the first arm that leads."""
    node, earlier = lowest_bit(t), lowest_bit(continued(t)) if t > 1 else 0
    radius = math.sqrt(2 * math.log(t + 1))
    leader, largest = 0, -math.inf
    for arm in range(len(state.pulls)):
        noise = prefix_noise[earlier, arm] + laplace(scale, rng)
        prefix_noise[node, arm] = noise
        index = (state.sums[arm] + noise) * state.inverse[arm] + state.width[arm] * radius
        if index > largest:
            leader, largest = arm, index
    return leader


@borrowing
def known_leader(state: HybridArms, noise: FloatArray, t: int) -> int:
    """The first arm that leads after `t` steps, given the noise of the sums of all arms."""
    radius = math.sqrt(2 * math.log(t + 1))
    leader, largest = 0, -math.inf
    for arm in range(len(noise)):
        index = (state.sums[arm] + noise[arm]) * state.inverse[arm] + state.width[arm] * radius
        if index > largest:
            leader, largest = arm, index
    return leader


@borrowing
def sure_steps(
    lead: Lead,
    level: int,
    noise: FloatArray,
    memory: Memory,
    work: Scratch,
    rng: np.random.Generator,
) -> tuple[int, bool]:
    """Steps of a block in which the leader is pulled, and whether `prefix_noise` has the noise of all sums after them.

    It has if an arm uses up its room then. `noise` is that of all sums now, and `memory.rooms` are those of the arms.
    """
    rooms, fresh, prefix_noise = memory.rooms, memory.fresh, memory.prefix_noise
    first = first_low_of_all(level, rooms, fresh, work, rng)
    if first < 0:
        return 1 << level, False
    for i in range(level):
        if first >> i & 1 == 1:
            for arm in range(len(rooms)):
                prefix_noise[i, arm] = noise[arm] + (lead.unit if arm == lead.arm else -lead.unit) * fresh[i, arm]
    return first, True


@borrowing
def quiet_level(
    lead: Lead, state: HybridArms, noise: FloatArray, largest_block: int, left: int, rooms: FloatArray
) -> int:
    """Level of the next block if the leader is probably pulled throughout, 0 for none, and its `rooms`.

    A wrong guess costs time, never exactness. `noise` is that of all sums now, and `left` the steps that are left.
    """
    level = min(lowest_bit(lead.t), largest_block, HIGHEST)
    while level > 0 and 1 << level > left:
        level -= 1
    enough = ENOUGH_ROOM[SET_BITS, SMALLEST_QUIET]
    while level >= SMALLEST_QUIET:
        least = set_rooms(lead, state, noise, (1 << level) - 1, enough, rooms)
        if least <= enough:
            return 0
        if least > ENOUGH_ROOM[SET_BITS, level] and len(rooms) * low_sums(SET_BITS, level, least) <= 1:
            return level
        level -= 1
        while least <= ENOUGH_ROOM[SET_BITS, level]:
            level -= 1
    return 0


@borrowing
def set_rooms(lead: Lead, state: HybridArms, noise: FloatArray, steps: int, enough: float, rooms: FloatArray) -> float:
    """The `rooms` of all arms for the sums after each of the next `steps`, in units; returns the least.

    If that is at most `enough`, it may return another number that is at most `enough`, with other `rooms`.
    """
    total, count, radius = state.sums[lead.arm] + noise[lead.arm], state.pulls[lead.arm], lead.radius
    last_radius = radius + steps / ((lead.t + 1) * radius)  # or less, as the radius is concave in the step
    width_after_one, width_after_all = radius * math.sqrt(count + 1), radius * math.sqrt(count + steps)
    lowest = total / (count + steps) + radius / math.sqrt(count + steps)
    bar, least = -math.inf, math.inf
    for arm in range(len(rooms)):
        if arm != lead.arm:
            index = (state.sums[arm] + noise[arm]) * state.inverse[arm] + state.width[arm] * last_radius
            rooms[arm] = index
            between = index + (lowest - index) * count / (count + state.pulls[arm])
            if between > bar:
                bar = between
                needed = max(bar * (count + 1) - width_after_one, bar * (count + steps) - width_after_all)
                least = (total - needed) / lead.unit
                if least <= enough:  # the room of the leader, which falls as the bar rises
                    return float(least)
    rooms[lead.arm] = least
    for arm in range(len(rooms)):
        if arm != lead.arm:
            rooms[arm] = (bar - rooms[arm]) * state.pulls[arm] / lead.unit
            least = min(least, rooms[arm])
    return float(least)


@compiled
def dp_ucb_int_pulls(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    interval: int,
    v: float,
    rewards: np.random.Generator,
    noise: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms): `DPUCBInt`.

    Indices change at the end of an interval only, so an arm that leads does so for a whole interval, and
    the rewards of an interval come in one binomial draw.
    """
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    index = np.zeros(arms)
    t = 0
    while t < min(arms * interval, horizon):
        pulls[t % arms] += 1
        t += 1
        if row < len(checkpoints) and t == checkpoints[row]:
            record[row] = pulls
            row += 1
    if t == horizon:
        return record
    for arm in range(arms):
        sums[arm] = binomial(interval, means[arm], rewards)
        index[arm] = released_index(sums[arm], pulls[arm], t + 1, v, noise)
    while True:
        leader = int(np.argmax(index))
        end = min(t + interval, horizon)
        row = record_run(record, row, checkpoints, pulls, leader, t, end - t)
        if end == horizon:
            return record
        t = end
        pulls[leader] += interval
        sums[leader] += binomial(interval, means[leader], rewards)
        index[leader] = released_index(sums[leader], pulls[leader], t + 1, v, noise)


@compiled
def released_index(total: float, count: int, t: int, v: float, noise: np.random.Generator) -> float:
    """Private mean of `count` rewards that sum to `total`, plus the confidence width at step `t`."""
    mean = total / count + laplace(count ** -(1 - v / 2), noise)
    return mean + math.sqrt(2 * math.log(t) / count)
