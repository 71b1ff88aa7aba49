"""The loop of DP-UCB with a bonus that grows with time, on sums of any tree.

Each arm once, then at every step t the arm with the largest

    (S_a + N_a + Gamma(t)) / n_a + sqrt(2 log t / n_a),    Gamma(t) = bonus + Chernoff's bound of N_a at t^-exponent,

S_a the sum of its n_a rewards, N_a the noise of its tree: `draws` Laplace variables at most.

While one arm, the leader, is pulled, its rivals' indices grow with t only. In a window of steps they are at most
`threshold`, their value at its last step, and the leader's index is at least its value with Gamma and the radius of the
first step. So the leader is pulled until that lower value falls to the threshold or the window ends; then all indices
are compared again. Every pull of the leader is thus one that the comparison of all arms would choose.

Within such a run blocks of pulls are skipped, as in `bandits.loops.leader`; a block is quiet if no sum in it is low
enough to end the run (`bandits.loops.low_sums`). On paths, nodes are drawn from the highest that begins with the next
reward downwards, until the rest below a node is probably a quiet block. Its noise is in no sum after the block. With
signed digits no block is skipped: every pull is drawn.
Exact in law, up to rounding and to the error of the library's binomial sampler.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled
from bandits.loops.front import closest_rival, front, window_of
from bandits.loops.leader import (
    LARGEST_BLOCK,
    Run,
    most_rise,
    needed,
    pull_leader,
    put_off,
)
from bandits.loops.low_sums import ENOUGH_ROOM, HIGHEST, PATHS, SET_BITS, Scratch, first_low, scratch
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace, laplace_sum_bound
from bandits.mechanisms.signed_tree import next_signed
from bandits.mechanisms.tree import lowest_bit

SIGNED = 2  # the third kind of tree, beside SET_BITS and PATHS


class TreeSums(NamedTuple):
    """How sums are released and bounded.

    Attributes
    ----------
    kind: of nodes in the noise: SET_BITS, one for each set bit; PATHS, all above a leaf; SIGNED, one for each unit of a
        signed digit.
    scale: of the noise of a node.
    draws: the most nodes in the noise of a sum.
    bonus: added to every sum, at all steps.
    exponent: Gamma exceeds the bonus by the noise's Chernoff bound at t^-exponent; 0 for none.
    digits, arity: of a tree of signed digits.
    """

    kind: int
    scale: float
    draws: int
    bonus: float
    exponent: float
    digits: int = 0
    arity: int = 2


@borrowing
def gamma(released: TreeSums, t: int) -> float:
    """Gamma(t), added to every noisy sum at step `t`."""
    return released.bonus + laplace_sum_bound(released.scale, released.draws, released.exponent * math.log(t))


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
    ahead = np.zeros((arms, released.digits, released.arity // 2 + 1))
    center = np.zeros(arms)
    inverse = np.zeros(arms)
    width = np.zeros(arms)
    work = scratch(released.draws)
    t = 0
    while t < horizon:
        radius, now = math.sqrt(2 * math.log(t + 1)), gamma(released, t + 1)
        leader, window, threshold = t, 1, math.inf
        if t >= arms:
            values = center + now * inverse
            leader, closest, widest = front(values, width, radius)
            widest += 2 * released.exponent * radius * released.scale * inverse.max()  # a wrong guess costs time only
            advance = values[leader] + width[leader] * radius - closest
            window = window_of(advance, widest, 1 / ((t + 1) * radius), t, horizon)
            then = center + gamma(released, t + window) * inverse
            threshold = closest_rival(then, width, math.sqrt(2 * math.log(t + window)), leader)
        run = Run(means[leader], now, released.scale, 0.0, radius, threshold, window)
        if released.kind == SET_BITS:
            count, total = pull_leader(run, pulls[leader], sums[leader], noise[leader], LARGEST_BLOCK, work, rng)
            noisy = total + noise[leader, lowest_bit(count)]
        elif released.kind == PATHS:
            count, total = pull_on_paths(run, pulls[leader], sums[leader], noise[leader], work, rng)
            noisy = total + noise[leader, 0]
        else:
            count, total, noisy = pull_on_digits(run, pulls[leader], sums[leader], ahead[leader], rng)
        row = record_run(record, row, checkpoints, pulls, leader, t, count - pulls[leader])
        t += count - pulls[leader]
        pulls[leader], sums[leader] = count, total
        center[leader], inverse[leader], width[leader] = noisy / count, 1 / count, 1 / math.sqrt(count)
    return record


@borrowing
def pull_on_paths(
    run: Run, count: int, total: float, above: FloatArray, work: Scratch, rng: np.random.Generator
) -> tuple[int, float]:
    """Pull the leader, whose noise is that of paths, until the run ends; returns its new count and sum.

    `above`, shape (draws,), is the memory of `bandits.mechanisms.path_tree.next_path` for its `count` rewards, updated
    in place; `work` is scratch.
    """
    end, rise, top = count + run.window, most_rise(run), len(above) - 1
    unseen = 0  # pulls in quiet blocks, whose rewards are not drawn yet: they are at least 0
    while True:
        level = min(lowest_bit(count), top) if count > 0 else top
        noise = above[level + 1] if level < top else 0.0
        while True:
            noise += laplace(run.scale, rng)
            above[level] = noise
            if level == 0 or quiet(run, rise, count, end, total + noise, level):
                break
            level -= 1
        if level == 0:
            count += 1
            total += 1.0 if rng.random() < run.mean else 0.0
        else:
            size = 1 << level
            room = (total + noise + run.bonus - needed(run, count) - rise * size) / run.scale
            leaf = first_low(PATHS, level, room, work, rng)
            if leaf < 0:
                count += size
                unseen += size
                continue
            for i in range(level):
                above[i] = noise + run.scale * work.partial[i]
            count += leaf + 1
            unseen += leaf + 1
        advance = total + above[0] + run.bonus - needed(run, count)
        earned, unseen = put_off(run, unseen, advance, count == end, rng)
        total += earned
        advance += earned
        if advance <= 0 or count == end:
            return count, total


@borrowing
def pull_on_digits(
    run: Run, count: int, total: float, ahead: FloatArray, rng: np.random.Generator
) -> tuple[int, float, float]:
    """Pull the leader, whose noise is that of signed digits, until the run ends: its new count, sum and noisy sum.

    `ahead` is the memory of `bandits.mechanisms.signed_tree.next_signed` for its `count` rewards, updated in place.
    """
    end = count + run.window
    while True:
        count += 1
        total += 1.0 if rng.random() < run.mean else 0.0
        noisy = total + next_signed(ahead, count, run.scale, rng)
        if noisy + run.bonus <= needed(run, count) or count == end:
            return count, total, noisy


@borrowing
def quiet(run: Run, rise: float, count: int, end: int, noisy: float, level: int) -> bool:
    """Whether a block of this level is probably quiet, and ends before the run does.

    `noisy` is what is surely earned in `count` pulls, with the noise of the nodes above and at the block.
    """
    size = 1 << level
    if level > HIGHEST or count + size >= end:
        return False
    return bool(noisy + run.bonus - needed(run, count) > run.scale * ENOUGH_ROOM[PATHS, level] + rise * size)
