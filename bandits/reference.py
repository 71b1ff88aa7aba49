"""Step-by-step forms of the fast simulations, for tests and benchmarks to compare with."""

import math

import numpy as np

from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.tree import close_node
from bandits.types import FloatArray, IntArray


@compiled
def index_steps(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    bonus: float,
    scale: float,
    levels: int,
    rng: np.random.Generator,
) -> IntArray:
    """What `bandits.policies.leader.pulls_of_leaders` simulates, one step and one comparison of all arms at a time."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            radius = math.sqrt(2 * math.log(t))
            arm = 0
            for rival in range(1, arms):
                if center[rival] + width[rival] * radius > center[arm] + width[arm] * radius:
                    arm = rival
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        prefix_noise = close_node(noise[arm], pulls[arm], laplace(scale, rng) if scale > 0 else 0.0)
        center[arm] = (sums[arm] + prefix_noise + bonus) / pulls[arm]
        width[arm] = 1 / math.sqrt(pulls[arm])
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
    return record
