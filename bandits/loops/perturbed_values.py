"""Perturbed values of arms, their laws, and one step: which arm has the largest value.

Most arms can hardly have the largest value, and are not drawn; the law is exact. Fix a bar. The
arms that often exceed it are drawn at every step. Each of the others exceeds the bar with a small
probability, independently. These events are drawn as one Poisson process on [0, sum of hazards], in
which an arm with the hazard -log(1 - probability) has an interval of that length: usually a single
exponential variable shows that no arm exceeds. An arm that exceeds the bar gets a value from its law
above the bar. The value of an arm that does not exceed the bar matters only if no arm does, and is then
drawn from its law below the bar. Bar and hazards are chosen before the draws of a step.

If the probability has no closed form (Beta), the Chernoff bound exp(-n kl(mean, bar)) of a Beta
variable G_a / (G_a + G_b) takes its place. An event proposed in this way is accepted with the likelihood
ratio of the exponentially tilted pair of Gamma variables, exp(-tilt W) 1{W >= 0}, W = (1 - bar) G_a -
bar G_b: accepted events have the exact probability and the exact law.
"""

import math
from typing import NamedTuple

import numpy as np

from bandits.arrays import BoolArray, FloatArray
from bandits.compiled import borrowing, compiled, inlined
from bandits.mechanisms.truncated_laplace import offset, upper_tail

GAUSS, BETA, TRUNCATED_LAPLACE = 0, 1, 2  # laws of the perturbed values
OFTEN = 0.05  # arms that exceed the bar with a larger probability are drawn at every step


class Constants(NamedTuple):
    """Constants of the laws, see `parameters`; each law uses only its own.

    Attributes
    ----------
    prior, variance: of GAUSS.
    mirrored: of BETA.
    log_horizon, lift, epsilon, delta, tail, reach: of TRUNCATED_LAPLACE; `tail` is `tail_constant(epsilon, delta)`,
        and `reach` the largest offset.
    """

    prior: float = 0.0
    variance: float = 0.0
    mirrored: float = 0.0
    log_horizon: float = 0.0
    lift: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0
    tail: float = 0.0
    reach: float = math.inf


class Arms(NamedTuple):
    """The state of the arms, shapes (arms,); updated in place.

    Attributes
    ----------
    first, second: the two parameters of the law of an arm's value, see `parameters`.
    hazard: -log(1 - probability) that an arm exceeds the bar; 0 for the arms that often do.
    often: the arms that are drawn at every step.
    """

    first: FloatArray
    second: FloatArray
    hazard: FloatArray
    often: BoolArray


@compiled
def parameters(law: int, constants: Constants, count: int, total: float) -> tuple[float, float]:
    """The two parameters of an arm's law after `count` pulls with the reward sum `total`.

    GAUSS: mean and standard deviation of Normal(total / n, variance / n), n = count + prior.
    BETA: a and b of Beta(total + 1 + k, count - total + 1 + k), k = mirrored (floor(count / 8) + 1).
    TRUNCATED_LAPLACE: center total / n + sqrt(log T / n) + lift / n and 1 / n, n = count.
    """
    if law == GAUSS:
        n = count + constants.prior
        return total / n, math.sqrt(constants.variance / n)
    if law == BETA:
        k = constants.mirrored * (count // 8 + 1)
        return total + 1 + k, count - total + 1 + k
    return total / count + math.sqrt(constants.log_horizon / count) + constants.lift / count, 1 / count


@compiled
def draw_value(law: int, constants: Constants, first: float, second: float, rng: np.random.Generator) -> float:
    """A perturbed value."""
    if law == GAUSS:
        return first + second * rng.standard_normal()
    if law == BETA:
        return rng.beta(first, second)
    return first + second * offset(rng.random(), constants.epsilon, constants.delta, constants.tail)


@compiled
def low_value(law: int, constants: Constants, first: float, second: float) -> float:
    """A value that a draw exceeds with probability about 0.98."""
    if law == GAUSS:
        return first - 2 * second
    if law == BETA:
        mean = first / (first + second)
        return mean - 2 * math.sqrt(mean * (1 - mean) / (first + second + 1))
    return first + second * offset(0.02, constants.epsilon, constants.delta, constants.tail)


@compiled
def exceeding(law: int, constants: Constants, first: float, second: float, bar: float) -> float:
    """The probability of a draw above `bar`, or for Beta a bound on it."""
    if law == GAUSS:
        return 0.5 * math.erfc((bar - first) / (second * math.sqrt(2.0)))
    if law == BETA:
        n = first + second
        mean = first / n
        if bar <= mean:
            return 1.0
        if bar >= 1:
            return 0.0
        return math.exp(-n * (mean * math.log(mean / bar) + (1 - mean) * math.log((1 - mean) / (1 - bar))))
    return upper_tail((bar - first) / second, constants.epsilon, constants.delta, constants.tail)


@borrowing
def set_bar(law: int, constants: Constants, arms: Arms) -> float:
    """A bar that some arm nearly always exceeds; fills in `hazard` and `often`."""
    first, second, hazard, often = arms
    bar = -math.inf
    for arm in range(len(first)):
        bar = max(bar, low_value(law, constants, first[arm], second[arm]))
    for arm in range(len(first)):
        chance = exceeding(law, constants, first[arm], second[arm], bar)
        often[arm] = chance > OFTEN
        hazard[arm] = 0.0 if often[arm] else -math.log1p(-chance)
    return bar


@borrowing
def largest(
    law: int, constants: Constants, arms: Arms, bar: float, rare: float, rng: np.random.Generator
) -> tuple[int, bool]:
    """The arm with the largest perturbed value, and whether that value exceeds `bar`.

    `rare` is the sum of the hazards.
    """
    best, leader = largest_value(law, constants, arms.first, arms.second, arms.often, rng)
    point = rng.standard_exponential()
    if point < rare or best <= bar:
        best, leader = rarely(law, constants, arms, bar, best, leader, point, rng)
    return leader, best > bar


@inlined
def largest_value(
    law: int, constants: Constants, first: FloatArray, second: FloatArray, among: BoolArray, rng: np.random.Generator
) -> tuple[float, int]:
    """The largest value of the arms in `among`, all of which are drawn, and its arm; -inf and -1 if there are none.

    Offsets of TRUNCATED_LAPLACE are drawn without a logarithm: their sizes are exponential variables up to `reach`, by
    rejection, or by rejection from uniform ones if more than half of the exponential ones would be rejected.
    """
    best, leader = -math.inf, -1
    for arm in range(len(first)):
        if among[arm]:
            if law == GAUSS:
                value = first[arm] + second[arm] * rng.standard_normal()
            elif law == BETA:
                value = rng.beta(first[arm], second[arm])
            else:
                if constants.tail < 0.5:
                    size = rng.standard_exponential() / constants.epsilon
                    while size > constants.reach:
                        size = rng.standard_exponential() / constants.epsilon
                else:
                    size = rng.random() * constants.reach
                    while rng.random() > math.exp(-constants.epsilon * size):
                        size = rng.random() * constants.reach
                value = first[arm] + second[arm] * (size if rng.random() < 0.5 else -size)
            if value > best:
                best, leader = value, arm
    return best, leader


@borrowing
def rarely(
    law: int,
    constants: Constants,
    arms: Arms,
    bar: float,
    best: float,
    leader: int,
    point: float,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """The largest value and its arm, from those of the arms that are drawn at every step.

    `point` is the first of the Poisson process.
    """
    first, second, hazard, often = arms
    end = 0.0
    for arm in range(len(first)):
        end += hazard[arm]
        if point < end:
            value = draw_above(law, constants, first[arm], second[arm], bar, rng)
            if value > best:
                best, leader = value, arm
            point = end + rng.standard_exponential()

    if best <= bar:
        for arm in range(len(first)):
            if not often[arm]:
                value = draw_value(law, constants, first[arm], second[arm], rng)
                while value > bar:
                    value = draw_value(law, constants, first[arm], second[arm], rng)
                if value > best:
                    best, leader = value, arm
    return best, leader


@borrowing
def draw_above(
    law: int, constants: Constants, first: float, second: float, bar: float, rng: np.random.Generator
) -> float:
    """A perturbed value given that it exceeds `bar`; for Beta -inf if the proposed event is rejected."""
    if law == GAUSS:
        return first + second * normal_above((bar - first) / second, rng)
    if law == BETA:
        return beta_above(first, second, bar, rng)
    epsilon, delta, constant = constants.epsilon, constants.delta, constants.tail
    tail = rng.random() * upper_tail((bar - first) / second, epsilon, delta, constant)
    return first - second * offset(tail, epsilon, delta, constant)


@borrowing
def normal_above(low: float, rng: np.random.Generator) -> float:
    """A standard normal variable given that it exceeds `low` (Marsaglia 1964 in the tail)."""
    if low < 0.5:
        value = rng.standard_normal()
        while value <= low:
            value = rng.standard_normal()
        return value
    while True:
        value = math.sqrt(low**2 + 2 * rng.standard_exponential())
        if rng.random() * value < low:
            return value


@borrowing
def beta_above(a: float, b: float, bar: float, rng: np.random.Generator) -> float:
    """A Beta(a, b) variable given that it exceeds `bar` > mean, or -inf if the proposed event is rejected.

    It is accepted with the probability that a Beta(a, b) variable exceeds `bar`, divided by the Chernoff bound
    exp(-n kl(mean, bar)) on this probability.
    """
    mean = a / (a + b)
    grown = rng.gamma(a, 1.0) * bar / mean
    shrunk = rng.gamma(b, 1.0) * (1 - bar) / (1 - mean)
    lead = (1 - bar) * grown - bar * shrunk
    tilt = (bar - mean) / (bar * (1 - bar))
    if lead >= 0 and rng.random() < math.exp(-tilt * lead):
        return grown / (grown + shrunk)
    return -math.inf
