"""Mean regret that rare runs carry, by importance sampling (ours), for index policies that keep the sums of batches.

A best arm whose first batches are unlucky is left for very long. Such runs are too rare to be seen, but may carry the
mean at long horizons. So the noisy sums of the first batches of the best arm are drawn from a mixture: of their law,
and of that law tilted by exp(-theta S), S the noisy sum of the first m batches, for several m and theta > 0. Tilting
acts on rewards and noise alike: a reward is Bernoulli with the mean p e^-theta / (1 - p + p e^-theta), and noise of
density proportional to exp(-epsilon |x|) gets exp(-epsilon |x| - theta x), theta < epsilon. After m batches with n
rewards in all the likelihood ratio of the tilted law to the true one is

    exp(-theta S) / E exp(-theta S),    E exp(-theta S) = (1 - p + p e^-theta)^n (1 - theta^2 / epsilon^2)^-m,

for normal noise of variance v, whose tilted law has the mean -theta v, with exp(m v theta^2 / 2) as the last factor: a
function of the noisy sum alone. A run with regret R gets the weight w = 1 / (ratio of the mixture), so that the mean of
w R is unbiased, whatever the tilts, and w is at most 1 / (share of the true law): a defensive mixture (Hesterberg
1995; Owen and Zhou 2000). For a run that ends before m batches the ratio is that of the batches which it drew.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.divergences import private_divergence
from bandits.loops.batches import EXACT_KL_UCB, GAUSSIAN_KL_UCB, PRIVATE_IMED, Rule, arm_of_batch, batch_length
from bandits.loops.draws import binomial
from bandits.mechanisms.laplace import laplace
from bandits.noisy_sums import cost_below

TRUE_SHARE = 0.25  # of runs that are drawn from the law itself
LEVELS = 6  # of log(T): for how long the best arm is left, on a grid
LEAST = 1.0  # steps: runs of the best arm's absence that add less to the mean are not tilted for
HALVINGS = 60


class Tilts(NamedTuple):
    """The tilted laws of a mixture; each has the same share of the runs that are not drawn from the law itself.

    Attributes
    ----------
    batches: how many first batches of the best arm are tilted, shape (laws,).
    thetas: by how much, theta > 0, and below epsilon where noise is Laplace, shape (laws,).
    """

    batches: IntArray
    thetas: FloatArray


class Weighted(NamedTuple):
    """What independent weighted runs say, arrays of shape (runs,)."""

    weights: FloatArray
    regret: FloatArray

    @property
    def mean(self) -> float:
        """The estimate of the mean regret: unbiased."""
        return float((self.weights * self.regret).mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate, from at least two runs."""
        return float((self.weights * self.regret).std(ddof=1)) / math.sqrt(len(self.weights))

    @property
    def effective(self) -> float:
        """Effective number of runs: (sum of w R)^2 / sum of (w R)^2, as of so many equal terms."""
        terms = self.weights * self.regret
        return float(terms.sum()) ** 2 / float((terms**2).sum())

    @property
    def largest(self) -> float:
        """The largest weight times regret, as a share of their sum."""
        terms = self.weights * self.regret
        return float(terms.max() / terms.sum())


def weighted_runs(
    means: FloatArray, horizon: int, rule: Rule, tilts: Tilts, runs: int, rng: np.random.Generator
) -> Weighted:
    """Independent weighted runs of an index policy that keeps its sums, on Bernoulli arms."""
    weights, pulls = _weighted_pulls(means, horizon, rule, tilts, runs, rng)
    return Weighted(weights, pulls @ (means.max() - means))


@compiled
def _weighted_pulls(
    means: FloatArray, horizon: int, rule: Rule, tilts: Tilts, runs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The weight of each run, shape (runs,), and its pulls at the horizon, shape (runs, arms)."""
    arms, laws = len(means), len(tilts.thetas)
    best = int(means.argmax())
    weights, record = np.ones(runs), np.zeros((runs, arms))
    log_ratios = np.zeros(laws)
    for run in range(runs):
        law = -1 if laws == 0 or rng.random() < TRUE_SHARE else int(rng.integers(0, laws))
        pulls = np.zeros(arms, dtype=np.int64)
        counts, batches, sums = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        log_ratios[:] = 0.0
        begun = t = 0
        while t < horizon:
            arm = begun if begun < arms else arm_of_batch(rule, counts, batches, sums, t + 1)
            begun = min(begun + 1, arms)
            steps = min(batch_length(rule, pulls[arm]), horizon - t)
            tilted = arm == best and law >= 0 and batches[arm] < tilts.batches[law]
            theta = tilts.thetas[law] if tilted else 0.0
            released = binomial(steps, tilted_mean(means[arm], theta), rng) + tilted_noise(rule, theta, rng)
            if arm == best:
                for tilt in range(laws):
                    if batches[arm] < tilts.batches[tilt]:
                        theta = tilts.thetas[tilt]
                        log_ratios[tilt] -= theta * released + log_moment(rule, means[arm], steps, 1, theta)
            pulls[arm] += steps
            t += steps
            counts[arm] += steps
            batches[arm] += 1
            sums[arm] += released
        if laws > 0:
            weights[run] = 1 / (TRUE_SHARE + (1 - TRUE_SHARE) * np.exp(log_ratios).mean())
        record[run] = pulls
    return weights, record


@compiled
def tilted_mean(mean: float, theta: float) -> float:
    """p e^-theta / (1 - p + p e^-theta): the mean of a Bernoulli reward tilted downwards."""
    return mean * math.exp(-theta) / (1 - mean + mean * math.exp(-theta)) if theta > 0 else mean


@compiled
def tilted_noise(rule: Rule, theta: float, rng: np.random.Generator) -> float:
    """A draw of the noise of a batch, tilted by exp(-theta x)."""
    if rule.kind == GAUSSIAN_KL_UCB:
        return rng.normal(-theta / rule.epsilon**2, 1 / rule.epsilon)
    return tilted_laplace(rule.epsilon, theta, rng)


@compiled
def tilted_laplace(epsilon: float, theta: float, rng: np.random.Generator) -> float:
    """A draw of the density proportional to exp(-epsilon |x| - theta x), 0 <= theta < epsilon.

    Its negative side has the mass 1 / (epsilon - theta), its positive one 1 / (epsilon + theta).
    """
    if theta == 0:
        return laplace(1 / epsilon, rng)
    magnitude = rng.standard_exponential()
    negative = rng.random() * 2 * epsilon < epsilon + theta
    return -magnitude / (epsilon - theta) if negative else magnitude / (epsilon + theta)


@compiled
def log_moment(rule: Rule, mean: float, count: float, batches: float, theta: float) -> float:
    """log E exp(-theta S) of the noisy sum S of `count` rewards in so many batches."""
    share = theta / rule.epsilon
    noise = share**2 / 2 if rule.kind == GAUSSIAN_KL_UCB else -math.log1p(-share) - math.log1p(share)
    return count * math.log1p(mean * math.expm1(-theta)) + batches * noise


def tilts_for(means: FloatArray, horizon: int, rule: Rule) -> Tilts:
    """Tilts under which the best arm is left for about T^(1/6), T^(2/6), ..., T steps after its first m batches.

    It is left for t steps if its index falls below the second best mean with log(t), at a noisy sum s; theta makes s
    the mean of the tilted sum. By Chernoff the chance is at most e^-c, c the cost of s: where t e^-c < `LEAST` such
    runs cannot carry the mean, and the law is left out. So it is for every law where the index is exact: the sum at
    which it falls below the rival's mean costs log(t) there, and no less at the mean of the best arm.
    """
    if rule.kind in (EXACT_KL_UCB, GAUSSIAN_KL_UCB):
        return Tilts(np.zeros(0, dtype=np.int64), np.zeros(0))
    ordered = np.sort(means)
    best, rival = float(ordered[-1]), float(ordered[-2])
    numbers, thetas = [], []
    count, number = 0, 0
    while count < horizon:
        count += batch_length(rule, count)
        number += 1
        for log_t in np.arange(1, LEVELS + 1) / LEVELS * math.log(horizon):
            total = _left_at(rule, count, rival, float(log_t))
            cost = math.inf if total == -math.inf else cost_below(total, count, number, best, rule.epsilon)
            if 0 < cost < log_t - math.log(LEAST):
                numbers.append(number)
                thetas.append(_theta(best, count, number, rule.epsilon, total))
    return Tilts(np.array(numbers, dtype=np.int64), np.array(thetas, dtype=float))


def _left_at(rule: Rule, count: int, rival: float, log_t: float) -> float:
    """The largest noisy sum whose cost at the mean `rival` is at least log(t); -inf if no sum costs so much."""
    waits = math.log(count) if rule.kind == PRIVATE_IMED else 0.0

    def cost(total: float) -> float:
        return count * private_divergence(min(max(total / count, 0.0), 1.0), rival, rule.epsilon) + waits

    low, high = 0.0, count * rival
    if cost(low) < log_t:
        return -math.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) >= log_t else (low, middle)
    return low


def _theta(mean: float, count: int, batches: int, epsilon: float, total: float) -> float:
    """The theta with which the mean of the tilted sum, n p_theta - 2 m theta / (epsilon^2 - theta^2), is `total`."""
    low, high = 0.0, epsilon
    for _ in range(HALVINGS):
        theta = (low + high) / 2
        centre = count * tilted_mean(mean, theta) - 2 * batches * theta / ((epsilon - theta) * (epsilon + theta))
        low, high = (theta, high) if centre > total else (low, theta)
    return low
