"""The compiled part of stopping rules: widths, and runs that ask after every sample.

The formulas are explained in `bandits.policies.stopping_rules`.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import borrowing, compiled
from bandits.loops.draws import binomial
from bandits.mechanisms.laplace import laplace


class Scales(NamedTuple):
    """Scales of the Laplace noises of a rule, in units of a sum of samples.

    Attributes
    ----------
    threshold: sigma1, of B, drawn once.
    question: sigma2, of A_t, drawn for every question.
    output: sigma3, of L, drawn on halting.
    """

    threshold: float
    question: float
    output: float


class StoppingConstants(NamedTuple):
    """The parameters of a rule that the compiled functions use.

    Attributes
    ----------
    bound: R, the largest absolute value of a sample.
    accuracy: alpha, the relative error that is allowed.
    beta: the probability with which it may be exceeded.
    mean_share: the part of beta that the widths of the means may spend.
    scales: of the noises.
    """

    bound: float
    accuracy: float
    beta: float
    mean_share: float
    scales: Scales


@compiled
def mean_width(samples: int, question: int, rule: StoppingConstants) -> float:
    """h_t = R sqrt(2/t log(4 q^2 / (share beta))), t the samples and q the number of the question.

    By Hoeffding's inequality the error of the mean is larger with probability at most share beta / (2 q^2), and
    these add up to less than share beta. Share 1/4 gives the paper's log(16 q^2 / beta).
    """
    return rule.bound * math.sqrt(2 / samples * math.log(4 * float(question) ** 2 / (rule.mean_share * rule.beta)))


@compiled
def noise_width(question: int, rule: StoppingConstants) -> float:
    """c_t = sigma1 log(4/beta) + sigma2 log(8 q^2 / beta) + (sigma3 / accuracy) log(4/beta), q the question.

    |B| + |A_t| + |L| / accuracy stays below it for all t with probability 1 - 3 beta / 4.
    """
    scales = rule.scales
    once = (scales.threshold + scales.output / rule.accuracy) * math.log(4 / rule.beta)
    return once + scales.question * math.log(8 * float(question) ** 2 / rule.beta)


@compiled
def required_sum(samples: int, question: int, rule: StoppingConstants) -> float:
    """t h_t (1 + 1/accuracy) + c_t; increasing in the samples and in the question."""
    from_means = samples * mean_width(samples, question, rule) * (1 + 1 / rule.accuracy)
    return from_means + noise_width(question, rule)


@borrowing
def stopping_noise(scale: float, rng: np.random.Generator) -> float:
    """A draw of Lap(scale); for the scale 0 it is 0, without use of a random number."""
    return laplace(scale, rng) if scale > 0 else 0.0


@borrowing
def walk(
    values: FloatArray,
    samples: int,
    total: float,
    threshold_noise: float,
    rule: StoppingConstants,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """Take `values` one by one, with a question after each: new count and sum, and whether the rule halted."""
    for value in values:
        samples += 1
        total += value
        required = required_sum(samples, samples, rule)
        if abs(total) >= required + threshold_noise + stopping_noise(rule.scales.question, rng):
            return samples, total, True
    return samples, total, False


@borrowing
def leap(
    low: float,
    high: float,
    chance: float,
    max_samples: int,
    threshold_noise: float,
    rule: StoppingConstants,
    rng: np.random.Generator,
) -> tuple[int, float, bool]:
    """A run that asks after every sample, without drawing every sample: count, sum, and whether it halted.

    With `slack` left to the required sum, which only grows, no m < (slack - loud) / bound samples lead to a halt unless
    some A_t is loud: at or below -loud. So the waiting time for the first loud A_t is drawn, which is geometric. If it
    is longer than m, only the sum of m samples is drawn: of their A_t only the fact matters that none is loud.
    Otherwise the sum of the samples up to the loud A_t is drawn. A loud A_t is -loud minus an exponential variable, and
    only this question may halt.
    """
    sigma2 = rule.scales.question
    samples = 0
    highs = 0
    total = 0.0
    while samples < max_samples:
        following = samples + 1
        required = required_sum(following, following, rule)
        slack = required + threshold_noise - abs(total)
        loud = 0.75 * slack if sigma2 > 0 else 0.0
        calm = min(math.ceil((slack - loud) / rule.bound) - 1.0, float(max_samples - samples))
        question = True
        step = 1
        if calm < 1:
            question_noise = stopping_noise(sigma2, rng)
            highs += 1 if rng.random() < chance else 0
        else:
            wait = wait_for_loud(loud, sigma2, rng)
            question = wait <= calm
            step = int(min(wait, calm))
            question_noise = -loud - sigma2 * rng.standard_exponential() if question else 0.0
            highs += binomial(step, chance, rng)
        samples += step
        total = low * samples + (high - low) * highs
        if question:
            required = required_sum(samples, samples, rule)
            if abs(total) >= required + threshold_noise + question_noise:
                return samples, total, True
    return samples, total, False


@borrowing
def wait_for_loud(loud: float, scale: float, rng: np.random.Generator) -> float:
    """Draws of Lap(scale) up to the first at or below -loud <= 0, a geometric number; infinite for the scale 0."""
    if scale == 0:
        return math.inf
    return float(np.ceil(rng.standard_exponential() / -math.log1p(-0.5 * math.exp(-loud / scale))))
