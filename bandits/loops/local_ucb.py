"""The loop of LDP-UCB-L: an index policy that sees rewards with Laplace noise of their own.

At step t the first arm with at most 4 log(t + 1) pulls is pulled, if there is one, else that with the largest

    mean of its noisy rewards + width / sqrt(n_a) x sqrt(2 log t).

While one arm leads, its rivals move with log t only, and `window_of` bounds them as in `bandits.loops.leader`. The
leader is pulled until its noisy sum falls to what its index needs, or the window ends: at the first step that may be
forced at the latest. The need is convex in the pulls, so that a chord over the window is above it: a run that ends
early ends in a comparison of all indices. Every noisy reward is drawn. Exact up to rounding.
"""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.leader import closest_rival, window_of
from bandits.loops.records import record_run

FORCED = 4.0  # arms with at most so many times log(t + 1) pulls come first
SHARE = 8  # a window is no longer than this share of the leader's pulls, so that its chord stays close


@compiled
def ldp_ucb_l_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, scale: float, width: float, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms); `scale` is that of the noise."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    center = np.zeros(arms)
    widths = np.zeros(arms)
    t = 0
    while t < horizon:
        leader, window, threshold, radius = neglected(pulls, t + 1), 1, -math.inf, 0.0
        if leader < 0:
            radius = math.sqrt(2 * math.log(t + 1))
            leader = int(np.argmax(center + widths * radius))
            closest, widest = closest_rival(center, widths, radius, leader)
            advance = center[leader] + widths[leader] * radius - closest
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            window = min(window, 1 + pulls[leader] // SHARE, free_steps(pulls, leader, t + 1))
            threshold, _ = closest_rival(center, widths, math.sqrt(2 * math.log(t + window)), leader)
        pulled, sums[leader] = pull_noisy(
            means[leader], scale, pulls[leader], sums[leader], window, threshold, width * radius, rng
        )
        row = record_run(record, row, checkpoints, pulls, leader, t, pulled)
        pulls[leader] += pulled
        t += pulled
        center[leader] = sums[leader] / pulls[leader]
        widths[leader] = width / math.sqrt(pulls[leader])
    return record


@compiled
def neglected(pulls: IntArray, step: int) -> int:
    """The first arm with at most 4 log(step + 1) pulls, or -1."""
    least = FORCED * math.log(step + 1.0)
    for arm in range(len(pulls)):
        if pulls[arm] <= least:
            return arm
    return -1


@compiled
def free_steps(pulls: IntArray, leader: int, step: int) -> int:
    """How many steps from `step` on leave all rivals of the leader with more than 4 log(step + 1) pulls, at least 1."""
    least = math.inf
    for arm in range(len(pulls)):
        if arm != leader:
            least = min(least, float(pulls[arm]))
    return int(max(1.0, min(1e18, math.ceil(math.exp(min(least / FORCED, 41.0)) - 1.0) - step)))


@compiled
def pull_noisy(
    mean: float,
    scale: float,
    before: int,
    total: float,
    window: int,
    threshold: float,
    bonus: float,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Pull an arm with `before` pulls and the noisy sum `total` until that falls to its need; pulls, and the new sum.

    One uniform number says which reward it is and, where it lies within that reward's part, which sign the noise has.
    """
    first = threshold * before - bonus * math.sqrt(before)
    slope = threshold - bonus * (math.sqrt(before + window) - math.sqrt(before)) / window
    one, sign = 0.5 * mean, 0.5 * (1 + mean)
    pulled = 0
    while True:
        point = rng.random()
        noise = scale * rng.standard_exponential()
        if point < mean:
            total += 1.0 + (noise if point < one else -noise)
        else:
            total += noise if point < sign else -noise
        pulled += 1
        if pulled == window or total <= first + slope * pulled:
            return pulled, total
