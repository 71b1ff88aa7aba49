"""The loop of zCDP-UCB: sums with normal noise that is given for all pulls of an arm up to some count.

Each arm once, then at every step t the arm with the largest index, the first of equal ones:

    (S_a + N_a) / n_a + width(n_a) sqrt(2 log t),

S_a the sum of its n_a rewards, N_a noise number n_a of its row. As in `bandits.loops.tree_ucb`, the leader is pulled
while its index with the radius of the first step of a window exceeds what its rivals have at the last one. Every pull
is drawn.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.front import closest_rival, front, window_of
from bandits.loops.records import record_run


class Stopped(NamedTuple):
    """What a run has done so far; arrays are updated in place.

    Attributes
    ----------
    t, row: steps, and checkpoints that are recorded.
    wanting: the arm that has no noise left, -1 at the horizon.
    """

    t: int
    row: int
    wanting: int


class Compared(NamedTuple):
    """What arms are compared by, shape (arms,) each."""

    pulls: IntArray
    sums: FloatArray
    center: FloatArray
    width: FloatArray


@compiled
def unpulled(arms: int) -> Compared:
    """Arms that were never pulled."""
    return Compared(np.zeros(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@compiled
def pull_while_noise_lasts(
    means: FloatArray,
    checkpoints: IntArray,
    record: IntArray,
    done: Stopped,
    arms: Compared,
    noise: FloatArray,
    begins: IntArray,
    widths: FloatArray,
    rng: np.random.Generator,
) -> Stopped:
    """Pull Bernoulli arms up to the last checkpoint, or until the leader has no noise left.

    Parameters
    ----------
    record: pulls at each checkpoint, shape (checkpoints, arms), filled in.
    noise, begins: the noise of arm a after n pulls is `noise[begins[a] + n - 1]`, before `begins[a + 1]`.
    widths: of an index after 1, 2, ... pulls.
    """
    t, row, horizon = done.t, done.row, checkpoints[-1]
    while t < horizon:
        radius, leader, window, threshold = math.sqrt(2 * math.log(t + 1)), t, 1, -math.inf
        if t >= len(means):
            leader, closest, widest = front(arms.center, arms.width, radius)
            advance = arms.center[leader] + arms.width[leader] * radius - closest
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            threshold = closest_rival(arms.center, arms.width, math.sqrt(2 * math.log(t + window)), leader)
        count, total, begin = arms.pulls[leader], arms.sums[leader], begins[leader]
        end = min(count + window, begins[leader + 1] - begin)
        if count == end:
            return Stopped(t, row, leader)
        while True:
            count += 1
            total += 1.0 if rng.random() < means[leader] else 0.0
            noisy = (total + noise[begin + count - 1]) / count
            if noisy + widths[count - 1] * radius <= threshold or count == end:
                break
        row = record_run(record, row, checkpoints, arms.pulls, leader, t, count - arms.pulls[leader])
        t += count - arms.pulls[leader]
        arms.pulls[leader], arms.sums[leader] = count, total
        arms.center[leader], arms.width[leader] = noisy, widths[count - 1]
    return Stopped(t, row, -1)
