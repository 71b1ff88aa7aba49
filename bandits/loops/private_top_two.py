"""The loop of DP-TT: leader and challenger take turns until a batch of one of them is full.

Nothing changes between two releases: the pulls of both until the next one are known, and a batch is one binomial draw.
So a run costs a few dozen decisions, whatever its number of samples. A release changes one noisy sum, and only the
costs that depend on it are computed again.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.draws import binomial
from bandits.mechanisms.laplace import laplace
from bandits.noisy_sums import cost_of_order, level_of_two

LONGEST = 2.0**60  # rewards of a batch, more than any run may take; sums of three have 64 bits


class PrivateTopTwo(NamedTuple):
    """Constants of DP-TT.

    Attributes
    ----------
    epsilon: a batch sum is released with Lap(1 / epsilon).
    beta: the probability with which a wrong arm may be returned.
    first: rewards of the first batch of an arm.
    ratio: the least factor by which the rewards of an arm grow.
    kept: 1 if all batches of an arm are added up, 0 if only the last one counts.
    """

    epsilon: float
    beta: float
    first: int
    ratio: float
    kept: int


@compiled
def private_top_two(
    means: FloatArray, max_samples: int, rule: PrivateTopTwo, rng: np.random.Generator
) -> tuple[int, int]:
    """Samples until the rule stops and the arm that it returns, -1 if it has not stopped after `max_samples`."""
    arms = len(means)
    samples = arms * rule.first
    if samples > max_samples:
        return max_samples, -1
    length = np.full(arms, rule.first, dtype=np.int64)  # of the batch under way
    missing = np.zeros(arms, dtype=np.int64)  # rewards that this batch lacks
    finished = np.zeros(arms, dtype=np.int64)  # batches
    sums, counts, batches = np.zeros(arms), np.zeros(arms), np.zeros(arms)  # of which costs are computed
    costs, led = np.zeros(arms), -1  # the W of every arm, and the last leader
    arm, begun = 0, 1
    while True:
        released = binomial(length[arm], means[arm], rng) + laplace(1 / rule.epsilon, rng)
        sums[arm] = rule.kept * sums[arm] + released
        counts[arm] = rule.kept * counts[arm] + length[arm]
        batches[arm] = rule.kept * batches[arm] + 1
        finished[arm] += 1
        length[arm] = missing[arm] = next_length(rule, counts[arm])
        if begun < arms:
            arm, begun = begun, begun + 1
            continue
        leader = int(np.argmax(sums / counts))
        update_costs(costs, leader, -1 if arm == leader or led != leader else arm, sums, counts, batches, rule.epsilon)
        led, challenger = leader, challenger_of(rule, leader, costs, counts, finished)
        if challenger < 0:
            return samples, leader
        arm = leader if missing[leader] <= missing[challenger] else challenger
        pulls = missing[arm]
        others = pulls - 1 if arm == leader else pulls  # the leader is pulled first
        if pulls + others > max_samples - samples:
            return max_samples, -1
        samples += pulls + others
        missing[leader + challenger - arm] -= others


@compiled
def next_length(rule: PrivateTopTwo, count: float) -> int:
    """Rewards of the next batch of an arm whose sum has `count` rewards.

    The factor below 1 prevents rounding from making ceil(1.1 x 50) 56.
    """
    return int(min(max(1.0, math.ceil(rule.ratio * count * (1 - 1e-12)) - rule.kept * count), LONGEST))


@compiled
def update_costs(
    costs: FloatArray,
    leader: int,
    released: int,
    sums: FloatArray,
    counts: FloatArray,
    batches: FloatArray,
    epsilon: float,
) -> None:
    """Write W, the cost of the opposite order of leader and arm, of the arm that was `released`; of all if it is -1."""
    for arm in range(len(costs)):
        if arm != leader and released in (-1, arm):
            of_leader = sums[leader], counts[leader], batches[leader]
            costs[arm] = cost_of_order(of_leader, (sums[arm], counts[arm], batches[arm]), epsilon)


@compiled
def challenger_of(rule: PrivateTopTwo, leader: int, costs: FloatArray, counts: FloatArray, finished: IntArray) -> int:
    """The arm with the least W + log n; -1 if the rule stops, as no W is below its threshold."""
    best, challenger, stops = math.inf, -1, True
    for arm in range(len(costs)):
        if arm != leader:
            stops = stops and costs[arm] >= stopping_threshold(rule.beta, len(costs), finished[leader], finished[arm])
            if costs[arm] + math.log(counts[arm]) < best:
                best, challenger = costs[arm] + math.log(counts[arm]), arm
    return -1 if stops else challenger


@compiled
def stopping_threshold(beta: float, arms: int, first: int, second: int) -> float:
    """The c with (1 + c) e^-c = beta / ((K - 1) k (k + 1) l (l + 1)) after k and l batches of two of K arms."""
    spent = math.log(arms - 1) + math.log(first * (first + 1.0)) + math.log(second * (second + 1.0))
    return level_of_two(math.log(beta) - spent)
