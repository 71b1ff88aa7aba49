"""The loop of index policies: exact, with indices compared only where the leader may change.

An index policy pulls each arm once and then, at every step t, the arm with the largest

    index_a(t) = (S_a + N_a + bonus + nu_a) / n_a + sqrt(2 log t / n_a),

S_a the sum of its n_a rewards, N_a the noise of a tree or hybrid mechanism over them (none for UCB1), and nu_a a bound
on that noise (0 but for DP-UCB-BOUND): `noise_bound` log(4 t^4), times log(n_a) + 1 unless n_a is a power of two.

While one arm, the leader, is pulled, its rivals' indices change with log t only. `pulls_of_leaders`
bounds them over a window of steps by one number, `threshold`, and pulls the leader until its index
falls to it. Nothing is approximated: if the bound no longer decides who leads, all indices are
compared again.

Within such a run, blocks of pulls are skipped. Between a count n divisible by 2^level and the next such count, the
nodes of the tree that are active at n stay active. So if a sum is low enough to end the run, its fresh noise is at most
minus the `room`: the advance of the noisy sum at n over what is needed there, less the most by which that grows in the
block, rewards counted as 0. `bandits.loops.low_sums` draws the first sum whose fresh noise is so low, with the noise up
to it, or finds that there is none. Without one all pulls of the block are made. Their noise is in no later sum, and
their rewards, which were not looked at, are one binomial draw, put off until they are more than the noise or might
decide whether the run ends. With one, the pulls up to it are made, their rewards are drawn, and it is seen whether the
run ends there. Later nodes are independent of all this.

Without noise (UCB1) a block is skipped if even rewards of 0 cannot end the run; else it is split into two halves.

A hybrid mechanism is a tree between powers of two, whose nodes have a scale that depends on the powers alone. So runs
end before and after a pull that makes the count a power of two, and all else is the same: at such a pull there is only
one to make, and in between needs stay convex in the count, since -log is.
(Exact up to rounding and to the error of the library's binomial sampler.)
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial
from bandits.loops.front import closest_rival, front, window_of
from bandits.loops.low_sums import ENOUGH_ROOM, HIGHEST, SET_BITS, Scratch, low_sums, proposed, scratch
from bandits.loops.records import record_run
from bandits.mechanisms.hybrid import fresh_levels
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import close_node, lowest_bit

SMALLEST_BLOCK = 4  # level below which walking is faster than bounding rewards,
SMALLEST_QUIET = 2  # and than asking for a low sum
UNSEEN = 0.5  # scales of noise: rewards are drawn when more of them are expected
LARGEST_BLOCK = 40  # longer than any horizon that is run


class NoisySums(NamedTuple):
    """How the reward sum of an arm enters its index.

    Attributes
    ----------
    bonus: added to every sum.
    scale: of the Laplace noise of every node of an arm's tree, 0 for no noise; `hybrid_scale` of a hybrid mechanism.
    levels: of the tree.
    hybrid: whether sums are released by a hybrid mechanism.
    noise_bound: the factor of nu in the index.
    """

    bonus: float
    scale: float
    levels: int
    hybrid: bool = False
    noise_bound: float = 0.0


class Run(NamedTuple):
    """The numbers that stay the same while the leader is pulled.

    Arrays are separate arguments: in a tuple, numba counts references to them in every function that takes the
    tuple, which made these loops 6 % slower.

    Attributes
    ----------
    mean: of the leader's rewards.
    bonus: that of `NoisySums`.
    scale: of the noise of a node.
    union: `noise_bound` log(4 t^4) at the first step of the run, its least value there.
    radius: sqrt(2 log t) at the first step of the run, its least value there.
    threshold: the run ends when the index falls to it,
    window: or after so many pulls.
    """

    mean: float
    bonus: float
    scale: float
    union: float
    radius: float
    threshold: float
    window: int


@compiled
def pulls_of_leaders(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    released: NoisySums,
    largest_block: int,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms).

    `largest_block` is the highest level of a block that may be skipped; with 0 every pull is drawn.
    """
    bonus, scale, levels, hybrid, noise_bound = released
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)
    slope = np.zeros(arms)
    work = scratch(levels)

    t = 0
    while t < horizon:
        radius, union = math.sqrt(2 * math.log(t + 1)), union_of(t + 1)
        if t < arms:
            leader, window, threshold = t, 1, math.inf
        else:
            now = center + slope * union if noise_bound > 0 else center
            leader, closest, widest = front(now, width, radius)
            advance = now[leader] + width[leader] * radius - closest
            widest += 4 * radius * slope.max()  # as 4 radius is the derivative of the union's logarithm in the radius
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            if hybrid:
                window = min(window, before_power_of_two(pulls[leader]))
            then = center + slope * union_of(t + window) if noise_bound > 0 else center
            threshold = closest_rival(then, width, math.sqrt(2 * math.log(t + window)), leader)
        node_scale = scale * fresh_levels(pulls[leader] + 1) if hybrid else scale
        run = Run(means[leader], bonus, node_scale, noise_bound * union, radius, threshold, window)
        if scale > 0:
            count, sums[leader] = pull_leader(run, pulls[leader], sums[leader], noise[leader], largest_block, work, rng)
        else:
            count, sums[leader] = pull_clear_leader(run, pulls[leader], sums[leader], largest_block, rng)
        pulled = count - pulls[leader]
        row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
        pulls[leader] = count
        t += pulled
        node = lowest_bit(count)
        power_of_two = count == 1 << node
        if hybrid and power_of_two and node > 0:
            noise[leader, node] += noise[leader, node - 1]  # a hybrid mechanism keeps the noise of the power before
        center[leader] = (sums[leader] + noise[leader, node] + bonus) / count
        width[leader] = 1 / math.sqrt(count)
        slope[leader] = noise_bound * (1.0 if power_of_two else math.log(count) + 1) / count
    return record


@compiled
def union_of(step: int) -> float:
    """log(4 t^4) at a step t."""
    return math.log(4.0) + 4 * math.log(step)


@compiled
def before_power_of_two(count: int) -> int:
    """Pulls of an arm with `count` up to the last before its count is a power of two, or 1 up to that power itself."""
    power = 1
    while power <= count:
        power <<= 1
    return max(1, power - 1 - count)


@borrowing
def pull_leader(
    run: Run,
    count: int,
    total: float,
    noise: FloatArray,
    largest_block: int,
    work: Scratch,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Pull the leader, whose sums are noisy, until the run ends; returns its new count and sum.

    `largest_block` is that of `pulls_of_leaders`. `noise` is the leader's row of prefix noises, updated in place;
    `work` is scratch.
    """
    end, rise = count + run.window, most_rise(run)
    unseen = 0  # pulls in quiet blocks, whose rewards are not drawn yet: they are at least 0
    advance = -math.inf
    while True:
        level = _quiet_level(run, rise, count, end - count, advance, largest_block)
        if level >= SMALLEST_QUIET:
            room = (advance - rise * ((1 << level) - 1)) / run.scale
            left = rng.random()
            first = -1
            if left < low_sums(SET_BITS, level, room):
                first = proposed(SET_BITS, level, room, left, work, rng)
            if first > 0:
                before = noise[lowest_bit(count)]
                for i in range(lowest_bit(first), level):
                    if first >> i & 1 == 1:
                        noise[i] = before + run.scale * work.partial[i]
                count += first
                total += binomial(unseen + first, run.mean, rng)
                unseen = 0
                advance = total + noise[lowest_bit(count)] + run.bonus - needed(run, count)
                if advance <= 0:
                    return count, total
                continue
            inside = (1 << level) - 1
            count += inside
            unseen += inside
        count += 1
        total += 1.0 if rng.random() < run.mean else 0.0
        prefix_noise = close_node(noise, count, laplace(run.scale, rng))
        advance = total + prefix_noise + run.bonus - needed(run, count)
        earned, unseen = put_off(run, unseen, advance, count == end, rng)
        total += earned
        advance += earned
        if advance <= 0 or count == end:
            return count, total


@borrowing
def put_off(run: Run, unseen: int, advance: float, last: bool, rng: np.random.Generator) -> tuple[int, int]:
    """Rewards of `unseen` pulls and 0, or 0 and `unseen` if it can wait to draw them: the run goes on without them."""
    if unseen > 0 and (advance <= 0 or last or run.mean * unseen > UNSEEN * run.scale):
        return binomial(unseen, run.mean, rng), 0
    return 0, unseen


@borrowing
def most_rise(run: Run) -> float:
    """The most by which what is needed grows per pull."""
    return float(max(run.threshold, 0.0))


@borrowing
def _quiet_level(run: Run, rise: float, count: int, room: int, advance: float, largest_block: int) -> int:
    """Level of a block at `count` that is probably quiet: a wrong guess costs time, never exactness."""
    if advance <= 0:
        return 0
    level = min(lowest_bit(count), largest_block, HIGHEST)
    while level > 0 and (
        1 << level > room or advance <= run.scale * ENOUGH_ROOM[SET_BITS, level] + rise * (1 << level)
    ):
        level -= 1
    return level


@borrowing
def pull_clear_leader(
    run: Run, count: int, total: float, largest_block: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Pull the leader, whose sums have no noise, until the run ends; returns its new count and sum."""
    end = count + run.window
    advance = -math.inf
    while True:
        level = block_level(count, end - count, advance, 0.0, 0.8, largest_block)
        if level >= SMALLEST_BLOCK:
            count, total, fell = _skip_block(run, count, total, level, rng)
            if fell:
                return count, total
        count += 1
        total += 1.0 if rng.random() < run.mean else 0.0
        advance = total + run.bonus - needed(run, count)
        if advance <= 0 or count == end:
            return count, total


@borrowing
def needed(run: Run, count: int) -> float:
    """Noisy sum with bonus at which the leader's index equals the threshold after `count` pulls; convex in `count`."""
    need = run.threshold * count - run.radius * math.sqrt(count)
    return need - run.union * (math.log(count) + 1) if run.union > 0 else need


@borrowing
def block_level(count: int, room: int, advance: float, noise: float, slope: float, largest_block: int) -> int:
    """Level of a block at `count` that probably need not be split: a wrong guess costs time, never exactness.

    `room` is how many pulls are left; a block of a level may lose `noise` level^2 + `slope` 2^level of the `advance`.
    """
    if advance <= 0:
        return 0
    level = min(lowest_bit(count), largest_block)
    while level > 0 and (1 << level > room or advance <= noise * level * level + slope * (1 << level)):
        level -= 1
    return level


@borrowing
def _skip_block(run: Run, count: int, total: float, level: int, rng: np.random.Generator) -> tuple[int, float, bool]:
    """The 2^level - 1 pulls after `count`, without noise: new count and sum, and whether the index fell.

    If rewards of 0 would keep the index above the threshold in all of them, their rewards are one binomial draw.
    Otherwise the block is split into two halves and a pull between them.
    """
    end = count + (1 << level)
    while True:
        while level > 0 and not stays_ahead(run, count, total, level):
            level -= 1
        inside = (1 << level) - 1
        total += binomial(inside, run.mean, rng)
        count += inside + 1
        if count == end:
            return count - 1, total, False
        total += 1.0 if rng.random() < run.mean else 0.0
        level = lowest_bit(count)
        if total + run.bonus <= needed(run, count):
            return count, total, True


@borrowing
def stays_ahead(run: Run, count: int, total: float, level: int) -> bool:
    """Whether the index is sure to stay above the threshold in the 2^level - 1 pulls after `count`, without noise."""
    first = needed(run, count + 1)
    last = needed(run, count + (1 << level) - 1)
    return bool(total + run.bonus > max(first, last))
