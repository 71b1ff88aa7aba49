"""The loops of index policies on Pareto rewards that are truncated at a growing bound: exact, with few comparisons.

As in `bandits.loops.leader`, the leader is pulled until its index falls to a bound on its rivals' indices; then all
indices are compared again. With

    index_a(t) = (noisy sum of a) / n_a + bonus (L(t) / n_a)^q,    q = v / (1 + v),

the leader stays ahead while noisy sum + bonus L^q n^(1-q) > threshold n. L^q is concave in t: its slope at the start
of the run, times the largest width of a rival, bounds what rivals gain at a step; for the leader L^q is taken at the
start, where it is least. With n = m (1 + x), n^(1-q) is at least m^(1-q) (1 + (1-q) x - (1-q) q x^2 / 2), as the signs
of its Taylor series alternate; with x^2 at most x times its largest value in the run this is a line in n.

DPRUCB skips blocks of 2^level - 1 pulls in which the leader surely keeps the lead. The noise of a node is its bound B_n
times noise of one scale: minima are drawn of the latter, and multiplied by a number that no bound of the block exceeds.
B_n is concave in n, so that its tangent at the pull before the block gives one. Rewards are at least 0, so that the
noisy sum in the block is at least that before it plus these products. The rewards of a block are still drawn one by
one, but without noise and comparisons, and as bounds grow, only a reward above the bound before the block is compared
with its own.

Robust-UCB judges all rewards of an arm again when its pulls double. The i-th reward x counts at step t if
x^(1+v) <= u i / L(t), and L(t) <= L(T). Hence it counts always if x^(1+v) <= u i / L(T); only the few larger rewards,
and of these only those that still count (none can count again), have to be remembered.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.environments.pareto import Ziggurat, pareto
from bandits.loops.front import front, window_of
from bandits.loops.leader import LARGEST_BLOCK, block_level
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
    layers: of the ziggurat for their shape.
    order: 1 + v, the order of the known moment.
    """

    scales: FloatArray
    layers: Ziggurat
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


class HeavyRun(NamedTuple):
    """The numbers that stay the same while the leader is pulled.

    Attributes
    ----------
    first, slope: the run ends when the noisy sum is at most first + slope x pulls of the arm,
    end: or when it has so many pulls.
    """

    first: float
    slope: float
    end: int


class TruncatedRewards(NamedTuple):
    """Rewards of the leader under DPRUCB, with their bounds and noise.

    Attributes
    ----------
    scale: least reward.
    rate, inverse: the n-th bound is (rate n)^inverse.
    noise_scale: as in `DPRUCBConstants`.
    """

    scale: float
    rate: float
    inverse: float
    noise_scale: float


@compiled
def truncated_ucb_pulls(
    rewards: ParetoRewards,
    horizon: int,
    checkpoints: IntArray,
    constants: DPRUCBConstants,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every Pareto arm at each checkpoint under DPRUCB, shape (checkpoints, arms); L(t) = log(2 t^4)."""
    scales, layers, order = rewards
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
        leader, run = t, HeavyRun(-math.inf, 0.0, 1)
        if t >= arms:
            log = math.log(2.0) + 4 * math.log(t + 1)
            radius = log**power
            leader, run = _run_of(center, width, pulls, radius, 4 * power * radius / (log * (t + 1)), power, t, horizon)
        law = TruncatedRewards(scales[leader], rate, 1 / order, noise_scale)
        count, sums[leader] = _pull_leader(
            law, layers, run, pulls[leader], sums[leader], noise[leader], largest_block, minima, minima_right, rng
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
    scales, layers, order = rewards
    arms = len(scales)
    power = (order - 1) / order
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    center = np.zeros(arms)
    width = np.zeros(arms)
    always = np.zeros(arms)  # the next rewards up to this count at every step
    large = [np.zeros((0, 2)) for _ in range(arms)]  # i and reward of those that count now, but may not later

    t = 0
    while t < horizon:
        leader, run = t, HeavyRun(-math.inf, 0.0, 1)
        if t >= arms:
            log = 2 * math.log(t + 1)
            radius = log**power
            leader, run = _run_of(center, width, pulls, radius, 2 * power * radius / (log * (t + 1)), power, t, horizon)
        count, total, scale, limit = pulls[leader], sums[leader], scales[leader], always[leader]
        before = count
        while True:
            reward = scale * pareto(layers, rng)
            count += 1
            if reward <= limit:
                total += reward
            elif counts(reward, order, moment, count, t + count - before):
                total += reward
                large[leader] = np.concatenate((large[leader], np.array([[float(count), reward]])))
            if count & (count - 1) == 0:
                limit = (moment * count / (2 * math.log(horizon))) ** (1 / order)
                kept = np.ones(len(large[leader]), dtype=np.bool_)
                for k in range(len(kept)):
                    i, reward = large[leader][k]
                    kept[k] = counts(reward, order, moment, i, t + count - before)
                    total -= 0.0 if kept[k] else reward
                large[leader] = large[leader][kept]
            if count == run.end or total <= run.first + run.slope * count:
                break
        sums[leader], always[leader] = total, limit
        row = record_run(record, row, checkpoints, pulls, leader, t, count - before)
        pulls[leader] = count
        t += count - before
        center[leader] = total / count
        width[leader] = bonus / float(count) ** power
    return record


@compiled
def counts(reward: float, order: float, moment: float, i: float, step: int) -> bool:
    """Whether the i-th reward of an arm counts at this step under Robust-UCB."""
    return bool(reward**order <= moment * i / (2 * math.log(step)))


@borrowing
def _run_of(
    center: FloatArray,
    width: FloatArray,
    pulls: IntArray,
    radius: float,
    growth: float,
    power: float,
    t: int,
    horizon: int,
) -> tuple[int, HeavyRun]:
    """The leader at step t + 1 and its run; L^q is `radius` there, with the derivative `growth`; `power` is q."""
    leader, closest, widest = front(center, width, radius)
    before = pulls[leader]
    advance = center[leader] + width[leader] * radius - closest
    window = min(window_of(advance, widest, growth, t, horizon), 1 + before // SHARE)
    closest += widest * growth * (window - 1)
    gain = width[leader] * radius * (1 - power) * (1 - power * window / (2 * before))
    return leader, HeavyRun((gain - width[leader] * radius) * before, closest - gain, before + window)


@borrowing
def _pull_leader(
    law: TruncatedRewards,
    layers: Ziggurat,
    run: HeavyRun,
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
    advance, cut = -math.inf, 0.0
    while True:
        noise_lost = 0.35 * (law.noise_scale * cut)  # per level^2; `cut` is the bound of the latest reward
        level = block_level(count, run.end - count, advance, noise_lost, run.slope, largest_block)
        if level >= SMALLEST_BLOCK:
            count, total, fell = _skip_block(
                law, layers, run, count, cut, total, noise, level, minima, minima_right, rng
            )
            if fell:
                return count, total
        count += 1
        cut = _bound(law, count)
        total += reward_up_to(law, layers, cut, rng)
        prefix_noise = close_node(noise, count, laplace(law.noise_scale * cut, rng))
        advance = total + prefix_noise - run.first - run.slope * count
        if advance <= 0 or count == run.end:
            return count, total


@compiled
def _bound(law: TruncatedRewards, count: int) -> float:
    """B_n of the n-th reward, n = `count`."""
    return float((law.rate * count) ** law.inverse)


@borrowing
def reward_up_to(law: TruncatedRewards, layers: Ziggurat, cut: float, rng: np.random.Generator) -> float:
    """A reward, or 0 if it is above `cut`."""
    reward = law.scale * pareto(layers, rng)
    return reward if reward <= cut else 0.0


@borrowing
def walked_rewards(
    law: TruncatedRewards, layers: Ziggurat, before: int, cut: float, number: int, rng: np.random.Generator
) -> float:
    """The sum of the next `number` rewards after `before`, each truncated at its own bound, at least `cut`."""
    total = 0.0
    for count in range(before + 1, before + 1 + number):
        reward = law.scale * pareto(layers, rng)
        if reward <= cut or reward <= _bound(law, count):
            total += reward
    return total


@borrowing
def _skip_block(
    law: TruncatedRewards,
    layers: Ziggurat,
    run: HeavyRun,
    count: int,
    cut: float,
    total: float,
    noise: FloatArray,
    level: int,
    minima: FloatArray,
    minima_right: FloatArray,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """The 2^level - 1 pulls after `count`: new count and sum, and whether the noisy sum fell to the line of the run.

    `cut` is the bound of the reward before them. `minima` and `minima_right` are those of `split_minima`, of noise of
    scale 1.
    """
    end = count + (1 << level)
    for i in range(level):
        minima[level, i] = -rng.standard_exponential() / (1 << (level - 1 - i))
    while True:
        while level > 0 and not stays_above(law, run, count, cut, total, noise, level, minima[level]):
            split_minima(minima, minima_right, level, rng)
            level -= 1
        inside = (1 << level) - 1
        total += walked_rewards(law, layers, count, cut, inside, rng)
        count += inside + 1
        if count == end:
            return count - 1, total, False
        cut = _bound(law, count)
        total += reward_up_to(law, layers, cut, rng)
        level = lowest_bit(count)
        fresh = laplace_above(minima_right[level, level], law.noise_scale * cut)
        if total + close_node(noise, count, fresh) <= run.first + run.slope * count:
            return count, total, True
        for i in range(level):
            minima[level, i] = minima_right[level, i]


@borrowing
def split_minima(minima: FloatArray, minima_right: FloatArray, level: int, rng: np.random.Generator) -> None:
    """Distribute the least noise of the nodes of a block over its halves and the node between.

    `minima[level, i]` is the logarithm of Pr[Laplace noise > the least of the 2^(level-1-i) nodes of level i in a block
    of `level`]; `minima_right` is the same for right halves, and its entry [level, level] is for the node before the
    right half of that level. Each minimum lies in either half with probability 1/2; that of the other half is larger.
    """
    half = level - 1
    minima_right[half, half] = minima[level, half]
    for i in range(half):
        nodes = 1 << (half - 1 - i)
        smaller = minima[level, i]
        larger = smaller - rng.standard_exponential() / nodes
        if rng.random() < 0.5:
            minima[half, i], minima_right[half, i] = smaller, larger
        else:
            minima[half, i], minima_right[half, i] = larger, smaller


@borrowing
def stays_above(
    law: TruncatedRewards,
    run: HeavyRun,
    count: int,
    cut: float,
    total: float,
    noise: FloatArray,
    level: int,
    minima: FloatArray,
) -> bool:
    """Whether the noisy sum is sure to stay above the line of the run in the 2^level - 1 pulls after `count`.

    `cut` is the bound of the reward before them. Bounds are concave in the pulls: none is above the tangent there.
    """
    last = count + (1 << level) - 1
    scale = law.noise_scale * cut * (1 + law.inverse * (last - count) / count)
    least = run.first + max(run.slope * (count + 1), run.slope * last)
    lowest = total + noise[lowest_bit(count)]
    for i in range(level):
        if lowest <= least:
            return False
        lowest += min(0.0, laplace_above(minima[i], scale))
    return bool(lowest > least)
