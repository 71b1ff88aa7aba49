"""The loops of index policies on Pareto rewards that are cut off at a growing bound: exact, and few comparisons.

As in `bandits.loops.leader`, the leader is pulled until its index falls to a bound on its rivals' indices; then all
indices are compared again. With

    index_a(t) = (noisy sum of a) / n_a + bonus (L(t) / n_a)^q,    q = v / (1 + v),

the leader stays ahead while noisy sum + bonus L^q n^(1-q) > threshold n. L^q is concave in t: the tangent at the start
of the run bounds it for the rivals, and for the leader it is taken at the start, where it is least. With n = m (1 + x),
n^(1-q) is at least m^(1-q) (1 + (1-q) x - (1-q) q x^2 / 2), as the signs of its Taylor series alternate; with x^2 at
most x times its largest value in the run this is a line in n.

DPRUCB skips blocks of 2^level - 1 pulls as `bandits.loops.leader` does; `split_minima` is the same. Two things differ.
The noise of a node is its bound B_n times noise of one scale: minima are drawn of the latter, and multiplied by the
largest bound of the block. Rewards are at least 0, so that the noisy sum in the block is at least that before it plus
these products. The rewards of a block are still drawn one by one, but without noise and comparisons, and as bounds
grow, only a reward above the first bound of the block is compared with its own.

Robust-UCB judges all rewards of an arm again when its pulls double. The i-th reward x counts at step t if
x^(1+v) <= u i / L(t), and L(t) <= L(T). Hence it counts always if x^(1+v) <= u i / L(T); only the few larger rewards,
and of these only those that still count (none can count again), have to be remembered.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.front import front
from bandits.loops.leader import LARGEST_BLOCK, closest_rival, split_minima, window_of
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace, laplace_above
from bandits.mechanisms.tree import close_node, lowest_bit

SHARE = 8  # a run is no longer than this share of the leader's pulls, so that its line stays close
SMALLEST_BLOCK = 3  # level below which walking is faster than bounding


class ParetoRewards(NamedTuple):
    """The law of the rewards of all arms.

    Attributes
    ----------
    scales: least reward of every arm, shape (arms,).
    shape: of every arm.
    order: 1 + v, the order of the known moment.
    """

    scales: FloatArray
    shape: float
    order: float


class DPRUCBConstants(NamedTuple):
    """Constants of DPRUCB, from its budget and the horizon.

    Attributes
    ----------
    bonus: factor on the confidence width.
    truncation_rate: the n-th reward of an arm counts if it is at most B_n = (truncation_rate n)^(1/order).
    noise_scale: the node that the n-th reward closes has noise Lap(noise_scale B_n).
    levels: of the tree of every arm.
    largest_block: the highest level of a block that may be skipped; with 0 every pull has its noise drawn.
    """

    bonus: float
    truncation_rate: float
    noise_scale: float
    levels: int
    largest_block: int = LARGEST_BLOCK


class Run(NamedTuple):
    """The numbers that stay the same while the leader is pulled.

    Attributes
    ----------
    first, slope: the run ends when the noisy sum is at most first + slope x pulls of the arm,
    end: or when it has so many pulls.
    """

    first: float
    slope: float
    end: int


class CutRewards(NamedTuple):
    """Rewards of the leader under DPRUCB, with their bounds and noise.

    Attributes
    ----------
    scale, shape: of the Pareto law.
    rate, inverse: the n-th bound is (rate n)^inverse.
    noise_scale: as in `DPRUCBConstants`.
    """

    scale: float
    shape: float
    rate: float
    inverse: float
    noise_scale: float


@compiled
def dprucb_pulls(
    rewards: ParetoRewards,
    horizon: int,
    checkpoints: IntArray,
    constants: DPRUCBConstants,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Pareto arm at each checkpoint under DPRUCB, shape (checkpoints, arms); L(t) = log(2 t^4)."""
    scales, shape, order = rewards
    bonus, rate, noise_scale, levels, largest_block = constants
    arms = len(scales)
    power = (order - 1) / order
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)
    minima = np.zeros((levels + 1, levels))
    minima_right = np.zeros((levels + 1, levels))

    t = 0
    while t < horizon:
        leader, run = t, Run(-math.inf, 0.0, 1)
        if t >= arms:
            log = math.log(2.0) + 4 * math.log(t + 1)
            radius = log**power
            leader, run = run_of(center, width, pulls, radius, 4 * power * radius / (log * (t + 1)), power, t, horizon)
        law = CutRewards(scales[leader], shape, rate, 1 / order, noise_scale)
        count, sums[leader] = pull_leader(
            law, run, pulls[leader], sums[leader], noise[leader], largest_block, minima, minima_right, rng
        )
        row = record_run(record, row, checkpoints, pulls, leader, t, count - pulls[leader])
        t += count - pulls[leader]
        pulls[leader] = count
        center[leader] = (sums[leader] + noise[leader, lowest_bit(count)]) / count
        width[leader] = bonus / float(count) ** power
    return record


@compiled
def robust_ucb_pulls(
    rewards: ParetoRewards,
    horizon: int,
    checkpoints: IntArray,
    bonus: float,
    moment: float,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Pareto arm at each checkpoint under Robust-UCB, shape (checkpoints, arms); L(t) = log(t^2).

    The i-th reward x of an arm counts at step t if x^order <= moment i / L(t). Rewards kept so far are
    judged again, at the current t, whenever the number of pulls of the arm has doubled; in between,
    a new reward is judged at the step it arrives.
    """
    scales, shape, order = rewards
    arms = len(scales)
    power = (order - 1) / order
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    center = np.zeros(arms)
    width = np.zeros(arms)
    limits = moment / scales**order  # the i-th reward, scale exp(e), counts if exp(order e) <= limit i / L(t)
    always = np.full(arms, -math.inf)  # the next rewards with an exponent e up to this count at every step
    large = [np.zeros((0, 2)) for _ in range(arms)]  # i and e of those that count now, but may not later

    t = 0
    while t < horizon:
        leader, run = t, Run(-math.inf, 0.0, 1)
        if t >= arms:
            log = 2 * math.log(t + 1)
            radius = log**power
            leader, run = run_of(center, width, pulls, radius, 2 * power * radius / (log * (t + 1)), power, t, horizon)
        count, total, scale = pulls[leader], sums[leader], scales[leader]
        before = count
        while True:
            exponent = rng.standard_exponential() / shape
            count += 1
            if exponent <= always[leader]:
                total += scale * math.exp(exponent)
            elif counts(exponent, order, limits[leader], count, t + count - before):
                total += scale * math.exp(exponent)
                large[leader] = np.concatenate((large[leader], np.array([[float(count), exponent]])))
            if count & (count - 1) == 0:
                always[leader] = math.log(limits[leader] * count / (2 * math.log(horizon))) / order
                kept = np.ones(len(large[leader]), dtype=np.bool_)
                for k in range(len(kept)):
                    i, exponent = large[leader][k]
                    kept[k] = counts(exponent, order, limits[leader], i, t + count - before)
                    total -= 0.0 if kept[k] else scale * math.exp(exponent)
                large[leader] = large[leader][kept]
            if count == run.end or total <= run.first + run.slope * count:
                break
        sums[leader] = total
        row = record_run(record, row, checkpoints, pulls, leader, t, count - before)
        pulls[leader] = count
        t += count - before
        center[leader] = total / count
        width[leader] = bonus / float(count) ** power
    return record


@compiled
def counts(exponent: float, order: float, limit: float, i: float, step: int) -> bool:
    """Whether the i-th reward of an arm, scale exp(exponent), counts at this step under Robust-UCB."""
    return bool(math.exp(order * exponent) <= limit * i / (2 * math.log(step)))


@borrowing
def run_of(
    center: FloatArray,
    width: FloatArray,
    pulls: IntArray,
    radius: float,
    growth: float,
    power: float,
    t: int,
    horizon: int,
) -> tuple[int, Run]:
    """The leader at step t + 1 and its run; L^q is `radius` there, with the derivative `growth`; `power` is q."""
    leader, closest, widest = front(center, width, radius)
    before = pulls[leader]
    advance = center[leader] + width[leader] * radius - closest
    window = min(window_of(advance, widest, growth, t, horizon), 1 + before // SHARE)
    if window > 1:
        closest, _ = closest_rival(center, width, radius + growth * (window - 1), leader)
    gain = width[leader] * radius * (1 - power) * (1 - power * window / (2 * before))
    return leader, Run((gain - width[leader] * radius) * before, closest - gain, before + window)


@borrowing
def pull_leader(
    law: CutRewards,
    run: Run,
    count: int,
    total: float,
    noise: FloatArray,
    largest_block: int,
    minima: FloatArray,
    minima_right: FloatArray,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Pull the leader of DPRUCB until the run ends; returns its new count and sum.

    `noise` is the leader's row of prefix noises, updated in place.
    """
    advance = -math.inf
    while True:
        level = block_level(law, run, count, advance, largest_block)
        if level >= SMALLEST_BLOCK:
            count, total, fell = skip_block(law, run, count, total, noise, level, minima, minima_right, rng)
            if fell:
                return count, total
        count += 1
        cut = bound(law, count)
        total += reward_up_to(law, cut, rng)
        prefix_noise = close_node(noise, count, laplace(law.noise_scale * cut, rng))
        advance = total + prefix_noise - run.first - run.slope * count
        if advance <= 0 or count == run.end:
            return count, total


@compiled
def bound(law: CutRewards, count: int) -> float:
    """B_n of the n-th reward, n = `count`."""
    return float((law.rate * count) ** law.inverse)


@borrowing
def reward_up_to(law: CutRewards, cut: float, rng: np.random.Generator) -> float:
    """A reward, or 0 if it is above `cut`."""
    reward = law.scale * math.exp(rng.standard_exponential() / law.shape)
    return reward if reward <= cut else 0.0


@borrowing
def walked_rewards(law: CutRewards, first: int, number: int, rng: np.random.Generator) -> float:
    """The sum of this `number` of rewards from the `first`-th on, each cut off at its own bound."""
    total, smallest = 0.0, bound(law, first)
    for count in range(first, first + number):
        reward = law.scale * math.exp(rng.standard_exponential() / law.shape)
        if reward <= smallest or reward <= bound(law, count):
            total += reward
    return total


@compiled
def block_level(law: CutRewards, run: Run, count: int, advance: float, largest_block: int) -> int:
    """Level of a block at `count` that probably need not be cut: a wrong guess costs time, never exactness."""
    if advance <= 0:
        return 0
    level = min(lowest_bit(count), largest_block)
    scale = law.noise_scale * bound(law, count) if level >= SMALLEST_BLOCK else 0.0
    while level >= SMALLEST_BLOCK and (
        count + 2**level > run.end or advance <= 0.35 * scale * level**2 + run.slope * 2**level
    ):
        level -= 1
    return level


@borrowing
def skip_block(
    law: CutRewards,
    run: Run,
    count: int,
    total: float,
    noise: FloatArray,
    level: int,
    minima: FloatArray,
    minima_right: FloatArray,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """The 2^level - 1 pulls after `count`: new count and sum, and whether the noisy sum fell to the line of the run.

    `minima` and `minima_right` are those of `bandits.loops.leader.split_minima`, of noise of scale 1.
    """
    end = count + 2**level
    for i in range(level):
        minima[level, i] = -rng.standard_exponential() / 2 ** (level - 1 - i)
    while True:
        while level > 0 and not stays_ahead(law, run, count, total, noise, level, minima[level]):
            split_minima(minima, minima_right, level, rng)
            level -= 1
        inside = 2**level - 1
        total += walked_rewards(law, count + 1, inside, rng)
        count += inside + 1
        if count == end:
            return count - 1, total, False
        cut = bound(law, count)
        total += reward_up_to(law, cut, rng)
        level = lowest_bit(count)
        fresh = laplace_above(minima_right[level, level], law.noise_scale * cut)
        if total + close_node(noise, count, fresh) <= run.first + run.slope * count:
            return count, total, True
        for i in range(level):
            minima[level, i] = minima_right[level, i]


@borrowing
def stays_ahead(
    law: CutRewards, run: Run, count: int, total: float, noise: FloatArray, level: int, minima: FloatArray
) -> bool:
    """Whether the noisy sum is sure to stay above the line of the run in the 2^level - 1 pulls after `count`."""
    last = count + 2**level - 1
    scale = law.noise_scale * bound(law, last)
    lowest = total + noise[lowest_bit(count)]
    for i in range(level):
        lowest += min(0.0, laplace_above(minima[i], scale))
    return bool(lowest > run.first + max(run.slope * (count + 1), run.slope * last))
