"""The loop of DP-TS-UCB: Thompson sampling that draws a few values per epoch and reuses the largest.

An arm is judged by the mean of its last complete epoch, and collects rewards for the next one, which is twice as long.
At every step an arm with draws left draws a value; the value of any other arm is the largest that it drew in its epoch.
Once all draws are used up, nothing changes until the arm with the largest value ends its epoch, and these steps are
simulated at once. Rewards matter only when their epoch ends, so that only their sums over epochs are drawn.
"""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.records import record_run


@compiled
def reused_draws_pulls(
    means: FloatArray,
    lengths: IntArray,
    draws: int,
    variance: float,
    horizon: int,
    checkpoints: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls of every arm at each checkpoint, shape (checkpoints, arms).

    `means` are the mean rewards of every epoch, shape (epochs, arms), `lengths` the numbers of these rewards, shape
    (epochs,). A value is Normal(mean, variance / length), and an arm draws at most `draws` of them per epoch.
    """
    arms = means.shape[1]
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    epoch = np.full(arms, -1)
    waiting = np.zeros(arms, dtype=np.int64)
    left = np.zeros(arms, dtype=np.int64)
    largest = np.full(arms, -math.inf)
    deviation = np.zeros(arms)
    t = 0
    while t < horizon:
        arm, block = len(pulls), 1
        if t // lengths[0] < arms:
            arm = t // lengths[0]
            block = lengths[0]
        else:
            best, settled = -math.inf, True
            for rival in range(arms):
                value = largest[rival]
                if left[rival] > 0:
                    value = means[epoch[rival], rival] + deviation[rival] * rng.standard_normal()
                    largest[rival] = max(largest[rival], value)
                    left[rival] -= 1
                    settled = False
                if value > best:
                    best, arm = value, rival
            if settled:
                block = lengths[epoch[arm] + 1] - waiting[arm]
        block = min(block, horizon - t)
        row = record_run(record, row, checkpoints, pulls, arm, t, block)
        pulls[arm] += block
        waiting[arm] += block
        t += block
        if waiting[arm] == lengths[epoch[arm] + 1]:
            epoch[arm] += 1
            waiting[arm] = 0
            left[arm] = draws
            largest[arm] = -math.inf
            deviation[arm] = math.sqrt(variance / lengths[epoch[arm]])
    return record
