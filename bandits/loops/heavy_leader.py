"""The loops of index policies on Pareto rewards that are cut off at a growing bound.

As in `bandits.loops.leader`, the leader is pulled until its index falls to a bound on its rivals'
indices; then all indices are compared again. With

    index_a(t) = (noisy sum of a) / n_a + bonus (L(t) / n_a)^q,    q = v / (1 + v),

the leader stays ahead while noisy sum + bonus L^q n^(1-q) > threshold n. L(t) is taken at the start of
the run, where it is least, and n^(1-q), which is concave, is replaced by its chord over the run.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.leader import closest_rival, window_of
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import close_node, lowest_bit

LONGEST_RUN = 4096  # pulls after which the chord is renewed


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
    """

    bonus: float
    truncation_rate: float
    noise_scale: float
    levels: int


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
    bonus, truncation_rate, noise_scale, levels = constants
    arms = len(scales)
    power = (order - 1) / order
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)

    t = 0
    while t < horizon:
        log = math.log(2.0) + 4 * math.log(t + 1)
        radius = log**power
        if t < arms:
            leader, window, threshold = t, 1, math.inf
        else:
            leader = int(np.argmax(center + width * radius))
            closest, widest = closest_rival(center, width, radius, leader)
            advance = center[leader] + width[leader] * radius - closest
            window = window_of(advance, widest, 4 * power * radius / (log * (t + 1)), t, horizon)
            window = min(window, LONGEST_RUN)
            threshold, _ = closest_rival(center, width, (math.log(2.0) + 4 * math.log(t + window)) ** power, leader)
        before = pulls[leader]
        start, end = float(before), float(before + window)
        lift = bonus * radius * start ** (1 - power)
        slope = bonus * radius * (end ** (1 - power) - start ** (1 - power)) / window
        count = before
        while True:
            count += 1
            truncation = (truncation_rate * count) ** (1 / order)
            reward = scales[leader] * math.exp(rng.standard_exponential() / shape)
            if reward <= truncation:
                sums[leader] += reward
            total = sums[leader] + close_node(noise[leader], count, laplace(noise_scale * truncation, rng))
            pulled = count - before
            if pulled == window or total + lift + slope * pulled <= threshold * count:
                break
        row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
        pulls[leader] = count
        t += pulled
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
    exponents = [np.zeros(16) for _ in range(arms)]  # of the rewards: scale exp(exponent)

    t = 0
    while t < horizon:
        log = 2 * math.log(t + 1)
        radius = log**power
        if t < arms:
            leader, window, threshold = t, 1, math.inf
        else:
            leader = int(np.argmax(center + width * radius))
            closest, widest = closest_rival(center, width, radius, leader)
            advance = center[leader] + width[leader] * radius - closest
            window = window_of(advance, widest, 2 * power * radius / (log * (t + 1)), t, horizon)
            window = min(window, LONGEST_RUN)
            threshold, _ = closest_rival(center, width, (2 * math.log(t + window)) ** power, leader)
        before = pulls[leader]
        start, end = float(before), float(before + window)
        lift = bonus * radius * start ** (1 - power)
        slope = bonus * radius * (end ** (1 - power) - start ** (1 - power)) / window
        count = before
        while True:
            if count == len(exponents[leader]):
                exponents[leader] = np.concatenate((exponents[leader], np.zeros(count)))
            exponents[leader][count] = rng.standard_exponential() / shape
            first = count
            count += 1
            pulled = count - before
            limit = moment / (2 * math.log(t + pulled) * scales[leader] ** order)
            if count & first == 0:
                sums[leader] = 0.0
                first = 0
            for i in range(first, count):
                if math.exp(order * exponents[leader][i]) <= limit * (i + 1):
                    sums[leader] += scales[leader] * math.exp(exponents[leader][i])
            if pulled == window or sums[leader] + lift + slope * pulled <= threshold * count:
                break
        row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
        pulls[leader] = count
        t += pulled
        center[leader] = sums[leader] / count
        width[leader] = bonus / float(count) ** power
    return record
