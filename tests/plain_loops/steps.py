"""Index policies, DP-SE and perturbed leaders, one step and one comparison of all arms at a time; single rewards."""

import math

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.environments.pareto import Ziggurat, pareto
from bandits.loops.low_sums import PATHS
from bandits.loops.perturbed_values import Constants, draw_value, parameters
from bandits.loops.tree_ucb import SIGNED
from bandits.mechanisms.hybrid import close_hybrid, fresh_levels
from bandits.mechanisms.laplace import laplace
from bandits.mechanisms.signed_tree import parent
from bandits.mechanisms.tree import close_node


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
    """The law of `bandits.loops.leader.pulls_of_leaders`, one step and one comparison of all arms at a time."""
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


@compiled
def tree_ucb_steps(
    means: FloatArray,
    checkpoints: IntArray,
    kind: int,
    scale: float,
    draws: int,
    arity: int,
    gammas: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """The law of `bandits.loops.tree_ucb.tree_ucb_pulls`; `gammas` are Gamma(1), Gamma(2), ...

    The noise of a path is summed again at every step; a node is drawn when the first leaf below it is reached. With
    signed digits that of each sum is kept, and that of later sums on which it depends is drawn when it is needed.
    """
    arms, horizon = len(means), checkpoints[-1]
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums, index = np.zeros(arms), np.zeros(arms)
    noisy = np.zeros(arms)
    memory = np.zeros((arms, draws))
    of_sums = np.full((arms, arity * (2 * horizon + 1) if kind == SIGNED else 1), math.nan)
    of_sums[:, 0] = 0.0
    for t in range(1, horizon + 1):
        for a in range(arms):
            index[a] = math.inf if pulls[a] == 0 else (noisy[a] + gammas[t - 1]) / pulls[a]
            index[a] += math.sqrt(2 * math.log(t) / max(1, pulls[a]))
        arm = int(np.argmax(index))
        leaf = pulls[arm]
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        if kind == SIGNED:
            while math.isnan(of_sums[arm, pulls[arm]]):
                later = pulls[arm]
                while math.isnan(of_sums[arm, parent(later, arity)]):
                    later = parent(later, arity)
                of_sums[arm, later] = of_sums[arm, parent(later, arity)] + laplace(scale, rng)
            noisy[arm] = sums[arm] + of_sums[arm, pulls[arm]]
        elif kind == PATHS:
            for level in range(draws):
                if leaf % (1 << level) == 0:
                    memory[arm, level] = laplace(scale, rng)
            noisy[arm] = sums[arm] + memory[arm].sum()
        else:
            noisy[arm] = sums[arm] + close_node(memory[arm], pulls[arm], laplace(scale, rng))
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
    return record


@compiled
def normal_ucb_steps(
    means: FloatArray, checkpoints: IntArray, noise: FloatArray, variances: FloatArray, rng: np.random.Generator
) -> IntArray:
    """The law of `bandits.loops.normal_ucb`; `noise` of each arm and count, shape (arms, horizon)."""
    arms, horizon = len(means), checkpoints[-1]
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums, index = np.zeros(arms), np.zeros(arms)
    for t in range(1, horizon + 1):
        for a in range(arms):
            n = pulls[a]
            index[a] = math.inf
            if n > 0:
                index[a] = (sums[a] + noise[a, n - 1]) / n
                index[a] += math.sqrt(8 * math.log(t) * (n / 4 + variances[n - 1])) / n
        arm = int(np.argmax(index))
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
    return record


@compiled
def dp_ucb_tossou_steps(
    means: FloatArray, horizon: int, checkpoints: IntArray, scale: float, levels: int, rng: np.random.Generator
) -> IntArray:
    """Pulls at each checkpoint under DP-UCB of Tossou and Dimitrakakis: every mechanism takes an item at every step."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums, released = np.zeros(arms), np.zeros(arms)
    noise = np.zeros((arms, levels))
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > arms:
            arm = int(np.argmax(released / pulls + np.sqrt(2 * math.log(t) / pulls)))
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        for a in range(arms):
            released[a] = sums[a] + close_hybrid(noise[a], t, laplace(scale * fresh_levels(t), rng))
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
    return record


@compiled
def dp_ucb_bound_steps(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    bound: float,
    scale: float,
    levels: int,
    rng: np.random.Generator,
) -> IntArray:
    """Pulls at each checkpoint under DP-UCB-BOUND, nu = `bound` x log, one comparison of all arms at a time."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)
    slope = np.zeros(arms)
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            radius = math.sqrt(2 * math.log(t))
            log_union = math.log(4.0) + 4 * math.log(t)
            arm = 0
            largest = -math.inf
            for a in range(arms):
                index = center[a] + width[a] * radius + slope[a] * log_union
                if index > largest:
                    largest, arm = index, a
        pulls[arm] += 1
        count = pulls[arm]
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        prefix_noise = close_hybrid(noise[arm], count, laplace(scale * fresh_levels(count), rng))
        center[arm] = (sums[arm] + prefix_noise) / count
        width[arm] = 1 / math.sqrt(count)
        power_of_two = count & (count - 1) == 0
        slope[arm] = bound * (1.0 if power_of_two else math.log(count) + 1) / count
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
    return record


@compiled
def dp_ucb_int_steps(
    means: FloatArray,
    horizon: int,
    checkpoints: IntArray,
    interval: int,
    v: float,
    rewards: np.random.Generator,
    noise: np.random.Generator,
) -> IntArray:
    """Pulls at each checkpoint under DP-UCB-INT, one reward and one comparison of all arms at a time."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    released_at = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    index = np.zeros(arms)
    for t in range(1, horizon + 1):
        if t <= arms * interval:
            arm = (t - 1) % arms
        else:
            for a in range(arms):
                if pulls[a] % interval == 0 and pulls[a] != released_at[a]:
                    released_at[a] = pulls[a]
                    magnitude = noise.standard_exponential() * pulls[a] ** (v / 2 - 1)
                    private_mean = sums[a] / pulls[a] + (magnitude if noise.random() < 0.5 else -magnitude)
                    index[a] = private_mean + math.sqrt(2 * math.log(t) / pulls[a])
            arm = int(np.argmax(index))
        pulls[arm] += 1
        sums[arm] += 1.0 if rewards.random() < means[arm] else 0.0
        if row < len(checkpoints) and t == checkpoints[row]:
            record[row] = pulls
            row += 1
    return record


@compiled
def dp_se_steps(
    means: FloatArray, epsilon: float, horizon: int, rewards: np.random.Generator, noise: np.random.Generator
) -> IntArray:
    """Final pulls of Algorithm 3 of Sajed and Sheffet (2019), one pull at a time; Bernoulli rewards."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    viable = np.arange(arms)
    beta = 1 / horizon
    t = 0
    epoch = 0
    while len(viable) > 1:
        epoch += 1
        gap = 2.0**-epoch
        log_mean = math.log(8 * len(viable) * epoch**2 / beta)
        log_noise = math.log(4 * len(viable) * epoch**2 / beta)
        length = max(32 * log_mean / gap**2, 8 * log_noise / (epsilon * gap)) + 1
        mean = np.zeros(len(viable))
        r = 0
        while r < length:
            r += 1
            for i in range(len(viable)):
                if t == horizon:
                    return pulls
                t += 1
                pulls[viable[i]] += 1
                reward = 1.0 if rewards.random() < means[viable[i]] else 0.0
                mean[i] += (reward - mean[i]) / r
        h = math.sqrt(log_mean / (2 * length))
        c = log_noise / (length * epsilon)
        for i in range(len(viable)):
            mean[i] += noise.laplace(0.0, 1 / (epsilon * r))
        viable = viable[mean.max() - mean <= 2 * h + 2 * c]
    pulls[viable[0]] += horizon - t
    return pulls


@compiled
def normal_se_steps(means: FloatArray, rho: float, horizon: int, rng: np.random.Generator) -> IntArray:
    """Final pulls of DP-SE with normal noise, one pull at a time; Bernoulli rewards."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    left = list(range(arms))
    epoch, t = 0, 0
    while len(left) > 1:
        epoch += 1
        log = math.log(8.0 * len(left) * epoch * epoch * horizon)
        length = 1 + max(32 * log * 4.0**epoch, 8 * math.sqrt(log / rho) * 2.0**epoch)
        totals = np.zeros(len(left))
        r = 0
        while r < length:
            r += 1
            for place in range(len(left)):
                if t == horizon:
                    return pulls
                t += 1
                pulls[left[place]] += 1
                totals[place] += 1.0 if rng.random() < means[left[place]] else 0.0
        for place in range(len(left)):
            totals[place] += rng.normal(0.0, math.sqrt(1 / (2 * rho)))
        allowed = math.sqrt(2 * log / length) + 2 * math.sqrt(log / rho) / length
        best = totals.max()
        left = [left[place] for place in range(len(left)) if (best - totals[place]) / r <= allowed]
    pulls[left[0]] += horizon - t
    return pulls


@compiled
def halving_steps(
    means: FloatArray, explored: int, uniform: bool, scale: float, normal: bool, horizon: int, rng: np.random.Generator
) -> IntArray:
    """Final pulls of halving by sums plus noise of `scale`, one pull at a time; of equal sums the first arm stays."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    left = list(range(arms))
    rounds = 0
    while 2**rounds < arms:
        rounds += 1
    t = 0
    while len(left) > 1:
        totals = np.zeros(len(left))
        share = explored / len(left) if uniform else explored / rounds / len(left)
        for _ in range(int(share + 1e-9)):
            for place in range(len(left)):
                if t == horizon:
                    return pulls
                t += 1
                pulls[left[place]] += 1
                totals[place] += 1.0 if rng.random() < means[left[place]] else 0.0
        for place in range(len(left)):
            totals[place] += rng.normal(0.0, scale) if normal else rng.laplace(0.0, scale)
        stay = 1 if uniform else (len(left) + 1) // 2
        while len(left) > stay:
            worst = len(left) - 1 - int(np.argmin(totals[::-1]))
            left.pop(worst)
            totals = np.delete(totals, worst)
    pulls[left[0]] += horizon - t
    return pulls


@compiled
def knockout_steps(
    means: FloatArray, explored: int, scale: float, normal: bool, horizon: int, rng: np.random.Generator
) -> IntArray:
    """Final pulls of a knockout by differences plus noise of `scale`, one pull at a time."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    left = list(range(arms))
    rounds = 0
    while 2**rounds < arms:
        rounds += 1
    t = 0
    while len(left) > 1:
        paired = len(left) if len(left) % 2 == 0 else len(left) - 1
        leads = np.zeros(len(left))
        for _ in range(int(explored / rounds / paired + 1e-9)):
            for place in range(paired):
                if t == horizon:
                    return pulls
                t += 1
                pulls[left[place]] += 1
                reward = 1.0 if rng.random() < means[left[place]] else 0.0
                leads[place // 2] += reward if place % 2 == 0 else -reward
        for place in range(paired - 2, -1, -2):
            noise = rng.normal(0.0, scale) if normal else rng.laplace(0.0, scale)
            left.pop(place + 1 if leads[place // 2] + noise >= 0 else place)
    pulls[left[0]] += horizon - t
    return pulls


@compiled
def perturbed_leader_steps(
    means: FloatArray, horizon: int, start: int, law: int, constants: Constants, rng: np.random.Generator
) -> IntArray:
    """Final pulls with the law of `perturbed_leader_pulls`; all arms are sampled at every step."""
    arms = len(means)
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    first = np.zeros(arms)
    second = np.zeros(arms)
    for t in range(horizon):
        arm = 0
        if t < start * arms:
            arm = t // start
        else:
            largest = -math.inf
            for rival in range(arms):
                if pulls[rival] == 0:
                    first[rival], second[rival] = parameters(law, constants, 0, 0.0)
                value = draw_value(law, constants, first[rival], second[rival], rng)
                if value > largest:
                    largest, arm = value, rival
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        first[arm], second[arm] = parameters(law, constants, pulls[arm], sums[arm])
    return pulls


@compiled
def dprucb_steps(
    scales: FloatArray,
    layers: Ziggurat,
    order: float,
    horizon: int,
    bonus: float,
    truncation_rate: float,
    noise_scale: float,
    levels: int,
    rng: np.random.Generator,
) -> IntArray:
    """Final pulls of Algorithm 1 of Tao et al. (2022), one step and one comparison of all arms at a time."""
    arms = len(scales)
    power = (order - 1) / order
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    noise = np.zeros((arms, levels))
    center = np.zeros(arms)
    width = np.zeros(arms)
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > arms:
            arm = int(np.argmax(center + width * (math.log(2.0) + 4 * math.log(t)) ** power))
        pulls[arm] += 1
        truncation = (truncation_rate * pulls[arm]) ** (1 / order)
        reward = scales[arm] * pareto(layers, rng)
        if reward <= truncation:
            sums[arm] += reward
        released = sums[arm] + close_node(noise[arm], pulls[arm], laplace(noise_scale * truncation, rng))
        center[arm] = released / pulls[arm]
        width[arm] = bonus / float(pulls[arm]) ** power
    return pulls


@compiled
def local_ucb_steps(
    means: FloatArray, horizon: int, checkpoints: IntArray, epsilon: float, bits: bool, rng: np.random.Generator
) -> IntArray:
    """Pulls at each checkpoint under LDP-UCB-B, which gets `bits`, or LDP-UCB-L; one reward and its report a step."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    for t in range(1, horizon + 1):
        arm = -1
        for rival in range(arms):
            if pulls[rival] <= (0.0 if bits else 4 * math.log(t + 1)):
                arm = rival
                break
        if arm < 0:
            width = 1.0 if bits else 1 + 4 / epsilon
            arm = int(np.argmax(sums / pulls + width * np.sqrt(2 * math.log(t) / pulls)))
        reward = 1.0 if rng.random() < means[arm] else 0.0
        if bits:
            sums[arm] += 1.0 if rng.random() < (honest if reward == 1 else 1 - honest) else 0.0
        else:
            sums[arm] += reward + rng.laplace(0.0, 1 / epsilon)
        pulls[arm] += 1
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
    return record


@compiled
def kl_ucb_steps(
    means: FloatArray, horizon: int, checkpoints: IntArray, highest: float, c: float, rng: np.random.Generator
) -> IntArray:
    """The law of `bandits.loops.kl_ucb.kl_ucb_pulls`, with every index by bisection at every step."""
    arms = len(means)
    record = np.zeros((len(checkpoints), arms), dtype=np.int64)
    row = 0
    pulls = np.zeros(arms, dtype=np.int64)
    sums = np.zeros(arms)
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > arms:
            level = math.log(t)
            if level > 1:
                level += c * math.log(level)
            largest = -1.0
            for rival in range(arms):
                value = kl_upper_end(sums[rival] / pulls[rival], level / pulls[rival], highest)
                if value > largest or (value == largest and pulls[rival] < pulls[arm]):
                    largest, arm = value, rival
        pulls[arm] += 1
        sums[arm] += 1.0 if rng.random() < means[arm] else 0.0
        if t == checkpoints[row]:
            record[row] = pulls
            row += 1
            if row == len(checkpoints):
                break
    return record


@compiled
def kl_upper_end(mean: float, level: float, highest: float) -> float:
    """The largest q <= highest with p log(p / q) + (1 - p) log((1 - p) / (1 - q)) <= level, p = mean, by bisection."""
    low, high = mean, highest
    if mean >= highest:
        return highest
    entropy = (1 - mean) * math.log1p(-mean) + (mean * math.log(mean) if mean > 0 else 0.0)
    for halving in range(61):
        q = high if halving == 0 else (low + high) / 2
        divergence = entropy - (1 - mean) * math.log1p(-q) - mean * math.log(q) if q < 1 else math.inf
        if divergence <= level:
            low = q
            if halving == 0:
                break
        else:
            high = q
    return low


@compiled
def bit_thompson_steps(means: FloatArray, horizon: int, rng: np.random.Generator) -> IntArray:
    """Final pulls with the law of `bandits.loops.bit_thompson.bit_thompson_pulls`, all arms sampled at every step."""
    arms = len(means)
    ones = np.zeros(arms)
    zeros = np.zeros(arms)
    for t in range(horizon):
        arm = t
        if t >= arms:
            largest = -1.0
            for rival in range(arms):
                value = rng.beta(ones[rival] + 1, zeros[rival] + 1)
                if value > largest:
                    largest, arm = value, rival
        if rng.random() < means[arm]:
            ones[arm] += 1
        else:
            zeros[arm] += 1
    return (ones + zeros).astype(np.int64)


@compiled
def pareto_draws(layers: Ziggurat, number: int, rng: np.random.Generator) -> FloatArray:
    """Pareto rewards drawn one by one, without a bound; shape (number,)."""
    drawn = np.empty(number)
    for i in range(number):
        drawn[i] = pareto(layers, rng)
    return drawn
