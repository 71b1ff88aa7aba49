"""The loop of successive elimination on Bernoulli arms, many rounds at a time.

After n rounds an arm stays while its sum is less than the slack of n rounds below the best. A round moves the
difference of two sums by at most 1, and the slack grows with n. So no arm can be removed in fewer rounds than the worst
viable arm is away from its slack, and the sums of these rounds are one binomial draw for each arm: exact, with the same
numbers as `SuccessiveElimination.simulate_any`.
"""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.draws import binomial
from bandits.loops.records import record_rounds, record_run


@compiled
def successive_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, inverse: float, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms); `inverse` is 1 / delta."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    viable = np.arange(arms)
    row = t = done = 0
    rounds = 1
    while len(viable) > 1:
        row = record_rounds(record, row, checkpoints, pulls, viable, t, rounds * len(viable))
        t += rounds * len(viable)
        if t >= horizon:
            return record
        done += rounds
        for arm in viable:
            sums[arm] += binomial(rounds, means[arm], rng)
        allowed = slack(arms, done, inverse)
        behind = sums[viable].max() - sums[viable]
        viable = viable[behind < allowed]
        rounds = max(1, math.ceil(allowed - behind[behind < allowed].max()) - 1)
    record_run(record, row, checkpoints, pulls, viable[0], t, horizon - t)
    return record


@compiled
def slack(arms: int, rounds: int, inverse: float) -> float:
    """2 n alpha_n after n rounds: an arm stays while its sum is less than this below the largest."""
    return 2 * math.sqrt(rounds * math.log(4 * arms * float(rounds) ** 2 * inverse))
