"""Loops of the policies of Tossou and Dimitrakakis (2016), one step at a time (`DPUCBInt` one interval at a time)."""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.records import record_run
from bandits.mechanisms.hybrid import continued, fresh_levels
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import lowest_bit


@compiled
def dp_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, scale: float, levels: int, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms): `DPUCBTossou`.

    All mechanisms have taken t items, so they close the same node of their trees, which is found once per step.
    """
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    inverse = np.zeros(arms)
    width = np.zeros(arms)
    no_noise = np.zeros(arms)
    prefix_noise = np.zeros((levels, arms))
    best = 0
    for t in range(1, horizon + 1):
        arm = t - 1 if t <= arms else best
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        inverse[arm] = 1 / pulls[arm]
        width[arm] = math.sqrt(inverse[arm])
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
        fresh_scale = scale * fresh_levels(t)
        earlier = prefix_noise[lowest_bit(continued(t))] if t > 1 else no_noise
        noise = prefix_noise[lowest_bit(t)]
        radius = math.sqrt(2 * math.log(t + 1))
        largest = -math.inf
        for a in range(arms):
            noise[a] = earlier[a] + laplace(fresh_scale, rng)
            index = (sums[a] + noise[a]) * inverse[a] + width[a] * radius
            if index > largest:
                largest, best = index, a
    return record


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
        sums[arm] = rewards.binomial(interval, means[arm])
        index[arm] = released_index(sums[arm], pulls[arm], t + 1, v, noise)
    while True:
        leader = int(np.argmax(index))
        end = min(t + interval, horizon)
        row = record_run(record, row, checkpoints, pulls, leader, t, end - t)
        if end == horizon:
            return record
        t = end
        pulls[leader] += interval
        sums[leader] += rewards.binomial(interval, means[leader])
        index[leader] = released_index(sums[leader], pulls[leader], t + 1, v, noise)


@compiled
def released_index(total: float, count: int, t: int, v: float, noise: np.random.Generator) -> float:
    """Private mean of `count` rewards that sum to `total`, plus the confidence width at step `t`."""
    mean = total / count + laplace(count ** -(1 - v / 2), noise)
    return mean + math.sqrt(2 * math.log(t) / count)
