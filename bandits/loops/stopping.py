"""The compiled part of stopping rules: widths, and runs that ask after every sample.

Every function takes plain numbers: R, alpha, beta, the part of beta that the means may spend, and the
scales sigma1, sigma2 and sigma3 of the noises B, A_t and L (see `bandits.policies.stopping_rules`).
"""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import compiled
from bandits.mechanisms.laplace import laplace


@compiled
def mean_width(samples: int, question: int, bound: float, beta: float, mean_share: float) -> float:
    """h_t = R sqrt(2/t log(4 q^2 / (share beta))), t the samples and q the number of the question.

    By Hoeffding's inequality the mean is off by more with probability share beta / (2 q^2) at most, and
    these add up to less than share beta. Share 1/4 makes it the paper's log(16 q^2 / beta).
    """
    return bound * math.sqrt(2 / samples * math.log(4 * float(question) ** 2 / (mean_share * beta)))


@compiled
def noise_width(question: int, accuracy: float, beta: float, sigma1: float, sigma2: float, sigma3: float) -> float:
    """c_t = sigma1 log(4/beta) + sigma2 log(8 q^2 / beta) + (sigma3 / accuracy) log(4/beta), q the question.

    |B| + |A_t| + |L| / accuracy stays below it for all t with probability 1 - 3 beta / 4.
    """
    once = (sigma1 + sigma3 / accuracy) * math.log(4 / beta)
    return once + sigma2 * math.log(8 * float(question) ** 2 / beta)


@compiled
def required_sum(
    samples: int,
    question: int,
    bound: float,
    accuracy: float,
    beta: float,
    mean_share: float,
    sigma1: float,
    sigma2: float,
    sigma3: float,
) -> float:
    """t h_t (1 + 1/accuracy) + c_t; increasing in the samples and in the question."""
    from_means = samples * mean_width(samples, question, bound, beta, mean_share) * (1 + 1 / accuracy)
    return from_means + noise_width(question, accuracy, beta, sigma1, sigma2, sigma3)


@compiled
def noise(scale: float, rng: np.random.Generator) -> float:
    """Lap(scale), and nothing drawn for the scale 0."""
    return laplace(scale, rng) if scale > 0 else 0.0


@compiled
def walk(
    values: FloatArray,
    samples: int,
    total: float,
    threshold_noise: float,
    bound: float,
    accuracy: float,
    beta: float,
    mean_share: float,
    sigma1: float,
    sigma2: float,
    sigma3: float,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """Take `values` one by one, with a question after each: new count and sum, and whether the rule halted."""
    for value in values:
        samples += 1
        total += value
        required = required_sum(samples, samples, bound, accuracy, beta, mean_share, sigma1, sigma2, sigma3)
        if abs(total) >= required + threshold_noise + noise(sigma2, rng):
            return samples, total, True
    return samples, total, False


@compiled
def leap(
    low: float,
    high: float,
    chance: float,
    max_samples: int,
    threshold_noise: float,
    bound: float,
    accuracy: float,
    beta: float,
    mean_share: float,
    sigma1: float,
    sigma2: float,
    sigma3: float,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """A run that asks after every sample, without drawing every sample: count, sum, and whether it halted.

    With `slack` left to the required sum, which only grows, no m < (slack - loud) / bound samples lead to
    a halt unless some A_t falls to -loud or below. So the wait for the first such A_t is drawn, a geometric
    number. If it is longer than m, m samples are drawn by their sum, and nothing about their A_t is needed
    any more than that none was loud. Otherwise the samples up to the loud A_t are drawn by their sum; given
    that it is loud, A_t is -loud minus an exponential number, and only this question may halt.
    """
    samples = 0
    highs = 0
    total = 0.0
    while samples < max_samples:
        following = samples + 1
        required = required_sum(following, following, bound, accuracy, beta, mean_share, sigma1, sigma2, sigma3)
        slack = required + threshold_noise - abs(total)
        loud = 0.75 * slack if sigma2 > 0 else 0.0
        calm = min(math.ceil((slack - loud) / bound) - 1.0, float(max_samples - samples))
        asked = True
        step = 1
        if calm < 1:
            question_noise = noise(sigma2, rng)
            highs += 1 if rng.random() < chance else 0
        else:
            wait = wait_for_loud(loud, sigma2, rng)
            asked = wait <= calm
            step = int(min(wait, calm))
            question_noise = -loud - sigma2 * rng.standard_exponential() if asked else 0.0
            highs += rng.binomial(step, chance)
        samples += step
        total = low * samples + (high - low) * highs
        if asked:
            required = required_sum(samples, samples, bound, accuracy, beta, mean_share, sigma1, sigma2, sigma3)
            if abs(total) >= required + threshold_noise + question_noise:
                return samples, total, True
    return samples, total, False


@compiled
def wait_for_loud(loud: float, scale: float, rng: np.random.Generator) -> float:
    """Draws of Lap(scale) up to the first at or below -loud <= 0, a geometric number; infinite for the scale 0."""
    if scale == 0:
        return math.inf
    return float(np.ceil(rng.standard_exponential() / -math.log1p(-0.5 * math.exp(-loud / scale))))
