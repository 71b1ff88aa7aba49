"""The loop of AdaP-TT: two arms compete for every pull, and all decisions follow from noisy means of whole phases.

The leader's pulls between two of challengers are drawn as one number. Pulls of challengers cannot be skipped: the rule
keeps their leads equal, so the challenger changes almost every time.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import compiled
from bandits.loops.draws import binomial
from bandits.mechanisms.laplace import laplace

BASEL = math.pi**2 / 6  # zeta(2)


class TopTwo(NamedTuple):
    """Constants of AdaP-TT.

    Attributes
    ----------
    epsilon: the privacy budget.
    beta: the probability with which a wrong arm may be returned.
    proved: whether the threshold is the one with a proof.
    """

    epsilon: float
    beta: float
    proved: bool


@compiled
def top_two(means: FloatArray, max_samples: int, rule: TopTwo, rng: np.random.Generator) -> tuple[int, int]:
    """Samples until the rule stops and the arm that it returns, -1 if it has not stopped after `max_samples`.

    An arm's phase ends when its pulls have doubled; its noisy mean is then that of this phase alone. Rewards matter
    only when their phase ends, so one binomial number is drawn per phase. When the leader's phase ends, the rest of its
    geometric number of pulls is discarded: the geometric law is memoryless.
    """
    arms = len(means)
    if max_samples < arms:
        return max_samples, -1
    pulls = np.ones(arms, dtype=np.int64)
    length = np.ones(arms, dtype=np.int64)
    phase = np.ones(arms, dtype=np.int64)
    waiting = np.zeros(arms, dtype=np.int64)
    noisy = np.zeros(arms)
    for arm in range(arms):
        noisy[arm] = noisy_mean(means[arm], 1, rule.epsilon, rng)
    samples = arms
    if settled(noisy, length, phase, rule) >= 0:
        return samples, settled(noisy, length, phase, rule)
    inverse = 1.0 / pulls  # of all pulls so far, in phases that have not ended too
    leader, ahead = optimist(noisy, length, pulls, rule.epsilon)
    while samples < max_samples:
        # Pulls of the leader before the next of a challenger, geometric with 1/2: the integer part of an exponential.
        quiet = min(int(rng.standard_exponential() / math.log(2.0)), max_samples - samples)
        arm, made = leader, min(quiet, pulls[leader] - waiting[leader])
        waiting[leader] += made
        inverse[leader] = 1.0 / (pulls[leader] + waiting[leader])
        samples += made
        if waiting[leader] < pulls[leader] and samples < max_samples:
            arm = challenger(leader, ahead, inverse)
            waiting[arm] += 1
            inverse[arm] = 1.0 / (pulls[arm] + waiting[arm])
            samples += 1
        if waiting[arm] == pulls[arm]:
            length[arm] = waiting[arm]
            pulls[arm] += waiting[arm]
            phase[arm] += 1
            waiting[arm] = 0
            noisy[arm] = noisy_mean(means[arm], length[arm], rule.epsilon, rng)
            answer = settled(noisy, length, phase, rule)
            if answer >= 0:
                return samples, answer
            leader, ahead = optimist(noisy, length, pulls, rule.epsilon)
    return samples, -1


@compiled
def noisy_mean(mean: float, length: int, epsilon: float, rng: np.random.Generator) -> float:
    """The mean of `length` Bernoulli rewards plus Lap(1 / (epsilon length))."""
    return (binomial(length, mean, rng) + laplace(1 / epsilon, rng)) / length


@compiled
def optimist(noisy: FloatArray, length: IntArray, pulls: IntArray, epsilon: float) -> tuple[int, FloatArray]:
    """The arm with the largest index, from the pulls of finished phases, and its lead over every other.

    A lead is d |d|, d = mean_B - mean + 1 / (1 + sqrt(total)): the square keeps the order of d / sqrt(variance).
    """
    total = float(pulls.sum())
    log = math.log(total)
    index = noisy + log / (epsilon * length) + np.sqrt(log / (2 * length))
    leader = int(np.argmax(index))
    apart = noisy[leader] - noisy + 1 / (1 + math.sqrt(total))
    ahead = apart * np.abs(apart)
    ahead[leader] = math.inf
    return leader, ahead


@compiled
def challenger(leader: int, ahead: FloatArray, inverse: FloatArray) -> int:
    """The arm over which the leader's lead is the least certain; `inverse` are 1 / pulls."""
    best, closest = math.inf, -1
    for arm in range(len(ahead)):
        cost = ahead[arm] / (inverse[leader] + inverse[arm])
        if cost < best:
            best, closest = cost, arm
    return closest


@compiled
def settled(noisy: FloatArray, length: IntArray, phase: IntArray, rule: TopTwo) -> int:
    """The arm with the largest noisy mean if it leads every other clearly enough, else -1."""
    best = int(np.argmax(noisy))
    for arm in range(len(noisy)):
        if arm != best:
            share = 1.0 / length[best] + 1.0 / length[arm]
            needed = threshold(length[best], length[arm], max(phase[best], phase[arm]), len(noisy), rule)
            if (noisy[best] - noisy[arm]) ** 2 / (2 * share) < needed:
                return -1
    return best


@compiled
def threshold(first: int, second: int, phase: int, arms: int, rule: TopTwo) -> float:
    """The threshold for two phases of these lengths, see `bandits.policies.top_two.AdaPTT`."""
    share = 1.0 / first + 1.0 / second
    if rule.proved:
        x = 0.5 * math.log((arms - 1) * BASEL * float(phase) ** 2 / rule.beta)
        noise = math.log(2 * arms * BASEL * float(phase) ** 2 / rule.beta) / rule.epsilon
        lengths = math.log(4 + math.log(first)) + math.log(4 + math.log(second))
        return 2 * (x + math.log(x)) + 2 * lengths + share * noise**2
    log = math.log(1 / rule.beta)
    return log + math.log(1 + math.log(first)) + math.log(1 + math.log(second)) + share * (log / rule.epsilon) ** 2
