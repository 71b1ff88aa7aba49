"""Top Two rules, one reward at a time. They share no cost with `bandits`: suprema and minima are found by search."""

import math

from bandits.compiled import compiled

THIRDS = 40


@compiled
def tilted(tilt, total, count, batches, mean, epsilon):
    """The function whose supremum is the cost of a noisy sum."""
    noise = batches * math.log(1 - (tilt / epsilon) ** 2) if batches > 0 else 0.0
    return tilt * total - count * math.log(1 - mean + mean * math.exp(tilt)) + noise


@compiled
def searched_cost(total, count, batches, mean, epsilon):
    """The supremum over tilts, by ternary search: the function is concave."""
    low, high = 0.0, epsilon
    for _ in range(THIRDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        below = tilted(left, total, count, batches, mean, epsilon)
        if below < tilted(right, total, count, batches, mean, epsilon):
            low = left
        else:
            high = right
    return max(0.0, tilted((low + high) / 2, total, count, batches, mean, epsilon))


@compiled
def searched_order(first, second, epsilon):
    """The least cost of two noisy sums (total, count, batches) at one mean, by ternary search: it is convex."""
    low, high = 0.0, 1.0
    for _ in range(THIRDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if both(first, second, left, epsilon) > both(first, second, right, epsilon):
            low = left
        else:
            high = right
    return both(first, second, (low + high) / 2, epsilon)


@compiled
def both(first, second, mean, epsilon):
    above = searched_cost(first[0], first[1], first[2], mean, epsilon)
    return above + searched_cost(second[1] - second[0], second[1], second[2], 1 - mean, epsilon)


def dp_tt_steps(means, most, policy, rng, noisy=True):
    """DP-TT with one reward at a time, lists and dictionaries; without noise if not `noisy`. Samples and the arm."""
    arms, first = range(len(means)), math.ceil(4 / policy.epsilon)
    past = [[] for _ in arms]  # of each arm: (rewards, noisy sum) of every batch
    waiting = [[] for _ in arms]
    needed, samples = [first] * len(means), 0

    def pull(arm):
        """Whether a batch is full."""
        waiting[arm].append(float(rng.random() < means[arm]))
        if len(waiting[arm]) < needed[arm]:
            return False
        released = sum(waiting[arm]) + (rng.laplace(scale=1 / policy.epsilon) if noisy else 0.0)
        past[arm].append((len(waiting[arm]), released))
        waiting[arm] = []
        total = math.ceil(policy.ratio * sum(length for length, _ in past[arm]))
        last = math.ceil(policy.ratio * past[arm][-1][0])
        needed[arm] = last if policy.memory == "last" else max(1, total - sum(length for length, _ in past[arm]))
        return True

    for arm in arms:
        while not pull(arm):
            samples += 1
        samples += 1
    while True:
        counted = [batches if policy.memory == "all" else batches[-1:] for batches in past]
        sums = [(sum(s for _, s in of), float(sum(n for n, _ in of)), float(len(of) * noisy)) for of in counted]
        leader = max(arms, key=lambda a: sums[a][0] / sums[a][1])
        rivals = [arm for arm in arms if arm != leader]
        costs = {
            arm: searched_order(sums[leader], sums[arm], policy.epsilon)
            if sums[leader][0] / sums[leader][1] > sums[arm][0] / sums[arm][1]
            else 0.0
            for arm in rivals
        }
        k = {arm: len(past[arm]) for arm in arms}
        wrong = policy.beta / (len(rivals) * k[leader] * (k[leader] + 1))
        if all((1 + costs[a]) * math.exp(-costs[a]) <= wrong / (k[a] * (k[a] + 1)) for a in rivals):
            return samples, leader
        challenger = min(rivals, key=lambda a: costs[a] + math.log(sums[a][1]))
        turn = leader
        while True:
            if samples == most:
                return most, -1
            samples += 1
            if pull(turn):
                break
            turn = challenger if turn == leader else leader


def ctb_tt_steps(means, most, policy, rng, noisy=True):
    """CTB-TT with one reward and one bit at a time, which is the reward if not `noisy`. Samples and the arm, or -1."""
    arms = range(len(means))
    bits = [[] for _ in arms]
    truth = math.exp(policy.epsilon) / (1 + math.exp(policy.epsilon)) if noisy else 1.0

    def kl(x, u):
        one = x * math.log(x / u) if x > 0 else 0.0
        return one + ((1 - x) * math.log((1 - x) / (1 - u)) if x < 1 else 0.0)

    def log_share(of):
        """log((n + 1) P(Binomial(n, x) = s))."""
        n, s = len(of), sum(of)
        x = s / n
        return math.log((n + 1) * math.comb(n, s) * (x**s * (1 - x) ** (n - s)))

    arm = 0
    for samples in range(1, most + 1):
        reward = rng.random() < means[arm]
        bits[arm].append(int(reward) if rng.random() < truth else 1 - int(reward))
        if samples < len(means):
            arm = samples
            continue
        mean = [sum(of) / len(of) for of in bits]
        leader = max(arms, key=lambda a: mean[a])
        costs = {}
        for a in arms:
            if a != leader:
                u = (sum(bits[leader]) + sum(bits[a])) / (len(bits[leader]) + len(bits[a]))
                equal = mean[a] == mean[leader]
                costs[a] = 0.0 if equal else len(bits[leader]) * kl(mean[leader], u) + len(bits[a]) * kl(mean[a], u)
        level = math.log((len(means) - 1) / policy.beta)
        if all(cost >= level + log_share(bits[leader]) + log_share(bits[a]) for a, cost in costs.items()):
            return samples, leader
        challenger = min(costs, key=lambda a: costs[a] + math.log(len(bits[a])))
        arm = leader if rng.random() < 0.5 else challenger
    return most, -1
