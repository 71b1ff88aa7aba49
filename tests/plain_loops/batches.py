"""Policies that release sums of batches, one reward and one decision at a time.

They share no loop and no index with `batches`, `lazy` and `lazy_thompson` of `bandits.loops`: here an index without
closed form is found by bisection, and a divergence by a search over z.
"""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from tests.plain_loops.top_two import searched_cost

ADAP_UCB, ADAP_KLUCB, DP_KLUCB, DP_IMED, DP_KLUCB_EXACT, ADAC_UCB = 0, 1, 2, 3, 4, 5
ZCDP_KLUCB = 6


@compiled
def kl(p: float, q: float) -> float:
    """Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q)."""
    total = 0.0
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q))
    return total


@compiled
def searched_divergence(x: float, y: float, epsilon: float) -> float:
    """d_epsilon(x, y) for x <= y < 1: ternary search for the least epsilon (z - x) + kl(z, y), which is convex in z."""
    low, high = x, y
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if epsilon * left + kl(left, y) < epsilon * right + kl(right, y):
            high = right
        else:
            low = left
    return epsilon * (low - x) + kl(low, y)


@compiled
def bisected(x: float, level: float, epsilon: float) -> float:
    """The largest q in [x, 1) with divergence <= level: d_epsilon, or kl where epsilon is infinite."""
    low, high = x, 1 - 1e-15
    for _ in range(50):
        q = (low + high) / 2
        if (kl(x, q) if math.isinf(epsilon) else searched_divergence(x, q, epsilon)) <= level:
            low = q
        else:
            high = q
    return 1.0 if low > 1 - 1e-14 else low


@compiled
def exact_end(total: float, count: float, batches: float, level: float, epsilon: float) -> float:
    """The largest q in [0, 1] at which a noisy sum this small costs at most `level`, or 0 if none, by bisection."""
    low, high = 0.0, 1.0
    if searched_cost(count - total, count, batches, 0.0, epsilon) <= level:
        return 1.0
    for _ in range(50):
        q = (low + high) / 2
        if searched_cost(count - total, count, batches, 1 - q, epsilon) <= level:
            low = q
        else:
            high = q
    return low if low > 1e-14 else 0.0


@compiled
def normal_cost(total: float, count: float, variance: float, mean: float) -> float:
    """The cost of a sum of at most `total`, with noise of this variance: the supremum over tilts by ternary search."""
    low, high = 0.0, 60.0
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        of_left = -left * total - count * math.log(1 - mean + mean * math.exp(-left)) - variance * left**2 / 2
        if of_left < -right * total - count * math.log(1 - mean + mean * math.exp(-right)) - variance * right**2 / 2:
            low = left
        else:
            high = right
    return -low * total - count * math.log(1 - mean + mean * math.exp(-low)) - variance * low**2 / 2


@compiled
def normal_end(total: float, count: float, variance: float, level: float) -> float:
    """The largest q in [0, 1] at which a sum this small costs at most `level`, or 0 if none, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        q = (low + high) / 2
        if normal_cost(total, count, variance, q) <= level:
            low = q
        else:
            high = q
    return 1.0 if low > 1 - 1e-14 else (low if low > 1e-14 else 0.0)


@compiled
def batch_index(
    policy: int, epsilon: float, alpha: float, count: int, total: float, batches: int, best_mean: float, t: int
) -> float:
    """The index of an arm at step t with `count` rewards of the noisy sum `total`."""
    if policy == DP_KLUCB_EXACT:
        return exact_end(total, float(count), float(batches), math.log(t), epsilon)
    if policy == ZCDP_KLUCB:  # alpha is c
        level = math.log(t) + alpha * math.log(max(1.0, math.log(t)))
        return normal_end(total, float(count), batches / epsilon**2, level)
    if policy == ADAC_UCB:  # epsilon is the level sqrt(2 rho): one reward and the noise have these variances
        variance = 1 / (4 * count) + 1 / (epsilon * count) ** 2
        return total / count + math.sqrt(2 * variance * alpha * math.log(t))
    if policy == ADAP_UCB:
        width = math.sqrt(alpha * math.log(t) / (2 * count))
        return total / count + width + alpha * math.log(t) / (epsilon * count)
    if policy == ADAP_KLUCB:
        lifted = total / count + alpha * math.log(t) / (epsilon * count)
        return 1.0 if lifted >= 1 else bisected(max(lifted, 0.0), alpha * math.log(t) / count, math.inf)
    mean = min(max(total / count, 0.0), 1.0)
    if policy == DP_KLUCB:
        return 1.0 if mean == 1 else bisected(mean, math.log(t) / count, epsilon)
    gap = best_mean - mean
    if gap == 0:
        return -math.log(count)
    divergence = epsilon * gap if best_mean == 1 else searched_divergence(mean, best_mean, epsilon)
    return -count * divergence - math.log(count)


@compiled
def batch_steps(
    means: FloatArray,
    horizon: int,
    policy: int,
    epsilon: float,
    alpha: float,
    first: int,
    ratio: float,
    rng: np.random.Generator,
) -> IntArray:
    """Final pulls of policies of batches, one reward at a time; Bernoulli rewards."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    counted = np.zeros(arms, dtype=np.int64)  # rewards in the sum
    sums = np.zeros(arms)
    noises = np.zeros(arms, dtype=np.int64)
    arm, left, size, batch = 0, first, first, 0.0
    for t in range(1, horizon + 1):
        pulls[arm] += 1
        batch += 1.0 if rng.random() < means[arm] else 0.0
        left -= 1
        if left > 0:
            continue
        batch += rng.normal(0.0, 1 / epsilon) if policy >= ADAC_UCB else rng.laplace(0.0, 1 / epsilon)
        noises[arm] += 1
        if policy <= ADAP_KLUCB or policy == ADAC_UCB:
            sums[arm], counted[arm] = batch, size
        else:
            sums[arm] += batch
            counted[arm] += size
        unseen = np.flatnonzero(pulls == 0)
        if len(unseen) > 0:
            arm, size = unseen[0], first
        else:
            best_mean = min(max(np.max(sums / counted), 0.0), 1.0)
            index = np.empty(arms)
            for a in range(arms):
                index[a] = batch_index(policy, epsilon, alpha, counted[a], sums[a], noises[a], best_mean, t + 1)
            arm = int(np.argmax(index))
            if policy >= DP_KLUCB and policy != ADAC_UCB:
                for a in range(arms):
                    if index[a] == index[arm] and counted[a] < counted[arm]:
                        arm = a
            size = max(pulls[arm] + 1, math.ceil(ratio * pulls[arm])) - pulls[arm]
        left, batch = size, 0.0
    return pulls


@compiled
def lazy_steps(
    means: FloatArray, horizon: int, epsilon: float, unit: float, thompson: bool, rng: np.random.Generator
) -> IntArray:
    """Final pulls of Anytime-Lazy-UCB, or of Lazy-DP-TS, with all arms compared in every step; Bernoulli rewards."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    behind = np.zeros(arms, dtype=np.int64)  # rewards in the private mean
    private = np.zeros(arms)
    waiting = np.zeros(arms, dtype=np.int64)
    buffer = np.zeros(arms)
    value = np.zeros(arms)
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > arms:
            bonus = 3 * math.log(t) / unit
            for a in range(arms):
                if thompson:
                    x = min(max(private[a] + bonus / (epsilon * behind[a]), 0.0), 1.0)
                    value[a] = rng.beta(x * behind[a] + 1, (1 - x) * behind[a] + 1)
                else:
                    value[a] = private[a] + math.sqrt(bonus / behind[a]) + bonus / (epsilon * behind[a])
            arm = int(np.argmax(value))
        pulls[arm] += 1
        waiting[arm] += 1
        buffer[arm] += 1.0 if rng.random() < means[arm] else 0.0
        if t <= arms or waiting[arm] == 2 * behind[arm]:
            behind[arm] = waiting[arm]
            private[arm] = (buffer[arm] + rng.laplace(0.0, 1 / epsilon)) / behind[arm]
            buffer[arm] = waiting[arm] = 0
    return pulls
