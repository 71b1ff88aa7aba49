"""The loop of DP-UCB with a bonus that grows with time, on sums of either tree.

Each arm once, then at every step t the arm with the largest

    (S_a + N_a + Gamma(t)) / n_a + sqrt(2 log t / n_a),    Gamma(t) = bonus + Chernoff's bound of N_a at t^-exponent,

S_a the sum of its n_a rewards, N_a the noise of its tree: `draws` Laplace variables at most.

While one arm, the leader, is pulled, its rivals' indices grow with t only. In a window of steps they are at most
`threshold`, their value at its last step, and the leader's index is at least its value with Gamma and the radius of the
first step. So the leader is pulled, with a reward and noise drawn at every pull, until that lower value falls to the
threshold or the window ends; then all indices are compared again. Every pull of the leader is thus one that the
comparison of all arms would choose, and all draws are those of the plain loop: exact in law, up to rounding.
Cost: some 100 ns a pull, two thirds of it draws (the variables of a path that change are two on average).
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.leader import closest_rival, leader_of, window_of
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace, laplace_sum_bound
from bandits.mechanisms.path_tree import next_path
from bandits.mechanisms.tree import close_node


class TreeSums(NamedTuple):
    """How sums are released and bounded.

    Attributes
    ----------
    path: whether the noise is that of all nodes above a leaf, else that of one node for each set bit.
    scale: of the noise of a node.
    draws: the most nodes in the noise of a sum.
    bonus: added to every sum, at all steps.
    exponent: Gamma exceeds the bonus by the noise's Chernoff bound at t^-exponent; 0 for none.
    """

    path: bool
    scale: float
    draws: int
    bonus: float
    exponent: float


@compiled
def gamma(released: TreeSums, t: int) -> float:
    """Gamma(t), added to every noisy sum at step `t`."""
    return released.bonus + laplace_sum_bound(released.scale, released.draws, released.exponent * math.log(t))


@compiled
def tree_noise(released: TreeSums, noise: FloatArray, count: int, rng: np.random.Generator) -> float:
    """The noise of the sum of `count` rewards of an arm; `noise`, shape (draws,), is its memory, updated in place."""
    if released.path:
        return next_path(noise, count, released.scale, rng)
    return close_node(noise, count, laplace(released.scale, rng))


@compiled
def tree_ucb_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, released: TreeSums, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, released.draws))
    center = np.zeros(arms)
    inverse = np.zeros(arms)
    width = np.zeros(arms)
    t = 0
    while t < horizon:
        radius, now = math.sqrt(2 * math.log(t + 1)), gamma(released, t + 1)
        leader, window, threshold = t, 1, math.inf
        if t >= arms:
            values = center + now * inverse
            leader = leader_of(values, width, radius)
            closest, widest = closest_rival(values, width, radius, leader)
            widest += 2 * released.exponent * radius * released.scale * inverse.max()  # a wrong guess costs time only
            advance = values[leader] + width[leader] * radius - closest
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            then = center + gamma(released, t + window) * inverse
            threshold, _ = closest_rival(then, width, math.sqrt(2 * math.log(t + window)), leader)
        count, last, total = pulls[leader], pulls[leader] + window, sums[leader]
        noisy = 0.0
        while count < last:
            count += 1
            total += 1.0 if rng.random() < means[leader] else 0.0
            noisy = total + tree_noise(released, noise[leader], count, rng)
            if noisy + now + radius * math.sqrt(count) <= threshold * count:
                break
        row = record_run(record, row, checkpoints, pulls, leader, t, count - pulls[leader])
        t += count - pulls[leader]
        pulls[leader], sums[leader] = count, total
        center[leader], inverse[leader], width[leader] = noisy / count, 1 / count, 1 / math.sqrt(count)
    return record
