"""The loop of policies that pull an arm for a whole batch, release its sum once with noise, and choose by an index.

Nothing is decided within a batch, so its sum is one binomial draw, and time grows with the number of batches alone.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.divergences import divergence_upper_end, private_divergence, private_upper_end
from bandits.loops.draws import binomial
from bandits.loops.records import record_run
from bandits.mechanisms.laplace import laplace
from bandits.noisy_sums import highest_mean
from bandits.normal_sums import highest_normal_mean

LONGEST = 2.0**62  # steps, more than any horizon; integers have 64 bits
UCB, KL_UCB, PRIVATE_KL_UCB, PRIVATE_IMED, EXACT_KL_UCB = 0, 1, 2, 3, 4  # indices, see `index`
GAUSSIAN_UCB, GAUSSIAN_KL_UCB = 5, 6  # indices of sums with normal noise


class Rule(NamedTuple):
    """How arms are chosen and batches grow.

    Attributes
    ----------
    kind: of index, see `index`.
    epsilon: the sum of a batch is released with Lap(1/epsilon); with GAUSSIAN_UCB and GAUSSIAN_KL_UCB it is a level of
        Gaussian privacy, and the noise is Normal(0, 1/epsilon^2).
    alpha: of the indices of AdaP and AdaC, and c of GAUSSIAN_KL_UCB; others do not use it.
    first: pulls of the first batch of an arm.
    ratio: the least factor by which each further batch multiplies the pulls of an arm.
    kept: factor of the earlier sums and pulls in an index: 1 for all batches, 0 for the last batch alone.
    """

    kind: int
    epsilon: float
    alpha: float
    first: float
    ratio: float
    kept: float


@compiled
def batch_pulls(
    means: FloatArray, horizon: int, checkpoints: IntArray, rule: Rule, rng: np.random.Generator
) -> IntArray:
    """Pulls of every Bernoulli arm at each checkpoint, shape (checkpoints, arms)."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    pulls = np.zeros(arms, dtype=np.int64)
    counts, batches = np.zeros(arms), np.zeros(arms)
    sums = np.zeros(arms)
    row = begun = t = 0
    while t < horizon:
        arm = begun if begun < arms else arm_of_batch(rule, counts, batches, sums, t + 1)
        begun = min(begun + 1, arms)
        steps = min(batch_length(rule, pulls[arm]), horizon - t)
        row = record_run(record, row, checkpoints, pulls, arm, t, steps)
        pulls[arm] += steps
        t += steps
        released = binomial(steps, means[arm], rng) + noise(rule, rng)
        counts[arm] = rule.kept * counts[arm] + steps
        batches[arm] = rule.kept * batches[arm] + 1
        sums[arm] = rule.kept * sums[arm] + released
    return record


@compiled
def noise(rule: Rule, rng: np.random.Generator) -> float:
    """The noise of the sum of a batch."""
    if rule.kind == GAUSSIAN_UCB or rule.kind == GAUSSIAN_KL_UCB:
        return rng.normal(0.0, 1 / rule.epsilon)
    return laplace(1 / rule.epsilon, rng)


@compiled
def batch_length(rule: Rule, pulls: int) -> int:
    """Length of the next batch of an arm with so many pulls, which brings them to max(pulls + 1, ceil(ratio pulls)).

    The factor below 1 prevents rounding from making ceil(1.1 x 50) 56. No batch is longer than `LONGEST`.
    """
    if pulls == 0:
        return int(min(rule.first, LONGEST))
    return int(min(max(1.0, math.ceil(rule.ratio * pulls * (1 - 1e-12)) - pulls), LONGEST))


@compiled
def batches_in(rule: Rule, count: float) -> int:
    """The number of batches whose rewards are the `count` of an index: the grid of batches is fixed in advance."""
    if rule.kept == 0:
        return 1
    pulls, number = 0, 0
    while pulls < count:
        pulls += batch_length(rule, pulls)
        number += 1
    return number


@compiled
def arm_of_batch(rule: Rule, counts: FloatArray, batches: FloatArray, sums: FloatArray, t: int) -> int:
    """The arm with the largest index at step `t`; ties go to the first arm, where all sums count to the least pulled.

    counts, batches, sums: rewards that an index counts, their batches, and their noisy sum, shape (arms,).
    """
    log_t = math.log(t)
    highest = min(1.0, max(0.0, (sums / counts).max()))
    least_pulled = rule.kind == PRIVATE_KL_UCB or rule.kind == PRIVATE_IMED or rule.kind == EXACT_KL_UCB
    least_pulled = least_pulled or rule.kind == GAUSSIAN_KL_UCB
    best, leader = -math.inf, 0
    for arm in range(len(counts)):
        value = index(rule, counts[arm], batches[arm], sums[arm], log_t, highest, best)
        if value > best or (value == best and least_pulled and counts[arm] < counts[leader]):
            best, leader = value, arm
    return leader


@compiled
def index(
    rule: Rule,
    count: float,
    batches: float,
    total: float,
    log_t: float,
    highest: float,
    needed: float = -math.inf,
) -> float:
    """The index of an arm whose `count` rewards, in so many `batches`, have the noisy sum `total`.

    Where it is below `needed`, an upper bound on it below `needed` may be returned, which takes less time.

    n is `count`, m the noisy mean, [m] is m clipped to [0, 1], and b = alpha log(t) / (epsilon n).

    UCB: m + sqrt(alpha log(t) / (2 n)) + b.
    KL_UCB: the largest q with kl([m + b], q) <= alpha log(t) / n.
    PRIVATE_KL_UCB: the largest q with d_epsilon([m], q) <= log(t) / n.
    PRIVATE_IMED: -(n d_epsilon([m], `highest`) + log n), `highest` the largest [m] of all arms.
    GAUSSIAN_UCB: m + sqrt((1 / (2 n) + 2 / (epsilon n)^2) alpha log(t)).
    EXACT_KL_UCB: the largest q with D-(`total`, n, `batches`; q) <= log(t), see `bandits.noisy_sums`.
    GAUSSIAN_KL_UCB: the same with normal noise, at most log(t) + alpha log+ log(t), see `bandits.normal_sums`.
    """
    mean = total / count
    bonus = rule.alpha * log_t / (rule.epsilon * count)
    if rule.kind == UCB:
        return mean + math.sqrt(rule.alpha * log_t / (2 * count)) + bonus
    if rule.kind == GAUSSIAN_UCB:
        return mean + math.sqrt((1 / (2 * count) + 2 / (rule.epsilon * count) ** 2) * rule.alpha * log_t)
    if rule.kind == KL_UCB:
        return divergence_upper_end(min(1.0, max(0.0, mean + bonus)), rule.alpha * log_t / count, needed)
    if rule.kind == EXACT_KL_UCB:
        return highest_mean(total, count, batches, log_t, rule.epsilon, needed)
    if rule.kind == GAUSSIAN_KL_UCB:
        cost = log_t + rule.alpha * math.log(max(log_t, 1.0))
        return highest_normal_mean(total, count, batches, cost, rule.epsilon, needed)
    mean = min(1.0, max(0.0, mean))
    if rule.kind == PRIVATE_KL_UCB:
        return private_upper_end(mean, log_t / count, rule.epsilon, needed)
    return -(count * private_divergence(mean, highest, rule.epsilon) + math.log(count))
