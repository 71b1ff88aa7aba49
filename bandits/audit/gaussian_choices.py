"""Lower bounds on delta from the choices of a policy that compares means with normal noise.

Every arm is pulled once, and the arm with the largest noisy reward is chosen first. The probability that an arm beats
others is an integral over its noise. So is that of an arm that wins several choices in a row against one other: the
noisy mean of the other does not change, and those of the winner are fresh and independent.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.gauss_legendre import nodes_between

REACH = 12.0  # standard deviations, beyond which a density counts as 0
ERROR = 1e-12  # of the quadratures; tests compare them with closed forms and with draws


class Margin(NamedTuple):
    """A choice that arm 2 wins if its noisy mean of `rewards` rewards, plus `ahead`, is above that of arm 1."""

    rewards: int
    ahead: float


def first_choice_delta(level: float, epsilon: float, arms: int) -> Bounds:
    """Delta at `epsilon` of the first choice, exact for rewards 0 or 1, over all rewards and changes of one.

    The noise of a reward is Normal(0, 1 / level^2). The chances of arms of equal rewards are equal.
    """
    best, witness = 0.0, "no reward changes the first choice by so much"
    for ones in range(arms):  # rewards of 1 among the other arms
        zeros = arms - 1 - ones
        own = [_chance(level, reward, ones, zeros) for reward in (0, 1)]
        others = 0.0
        for count, reward in ((ones, 1), (zeros, 0)):
            if count:
                rest = ones - (reward == 1), zeros - (reward == 0)
                low, high = _chance(level, reward, rest[0], rest[1] + 1), _chance(level, reward, rest[0] + 1, rest[1])
                others += count * max(low - math.exp(epsilon) * high, 0.0)
        for delta, told in ((own[1] - math.exp(epsilon) * own[0], "it is"), (others, "it is not")):
            if delta > best:
                best, witness = (
                    delta,
                    f"{ones} of {arms - 1} other rewards are 1; that of an arm changes; {told} chosen",
                )
    return Bounds(best, best, witness, "quadrature of the first choice, all rewards", ERROR)


def _chance(level: float, reward: int, ones: int, zeros: int) -> float:
    """The probability that an arm with this reward beats `ones` arms with reward 1 and `zeros` arms with reward 0."""
    nodes, weights = nodes_between(np.linspace(-REACH, REACH, 97))
    log = _log_density(nodes) + ones * scipy.special.log_ndtr(nodes + level * (reward - 1))
    log += zeros * scipy.special.log_ndtr(nodes + level * reward)
    return float(np.exp(log) @ weights)


def clipped_choice_delta(level: float, epsilon: float, arms: int, low: float, high: float) -> Bounds:
    """As `first_choice_delta`, where all noisy rewards below `low` are equal, and all above `high`; then the first arm.

    Every vector of rewards 0 or 1 is tried: for few arms.
    """
    about = np.linspace(-REACH, REACH, 97) / level
    nodes, weights = nodes_between(np.unique(np.clip([low, high, *about, *(1 + about)], low, high)))
    best, witness = 0.0, "no reward changes the first choice by so much"

    def chances(rewards: tuple[int, ...]) -> FloatArray:
        centers = np.array(rewards, dtype=np.float64)
        below = scipy.special.log_ndtr(level * (nodes[:, None] - centers))
        density = level * np.exp(_log_density(level * (nodes[:, None] - centers)))
        others = np.exp(below.sum(axis=1)[:, None] - below)
        chosen: FloatArray = weights @ (density * others)
        log_high = scipy.special.log_ndtr(level * (high - centers))
        earlier = np.concatenate([[0.0], np.cumsum(log_high)[:-1]])
        chosen += np.exp(scipy.special.log_ndtr(-level * (high - centers)) + earlier)  # at `high`, as no earlier arm is
        chosen[0] += np.exp(scipy.special.log_ndtr(level * (low - centers)).sum())  # all at `low`
        return chosen

    laws = {rewards: chances(rewards) for rewards in itertools.product((0, 1), repeat=arms)}
    for rewards, place in itertools.product(laws, range(arms)):
        changed = (*rewards[:place], 1 - rewards[place], *rewards[place + 1 :])
        delta = float(np.maximum(laws[rewards] - math.exp(min(epsilon, 700.0)) * laws[changed], 0.0).sum())
        if delta > best:
            best, witness = delta, f"rewards {rewards}; that of arm {place + 1} changes"
    return Bounds(best, best, witness, "quadrature of the first choice, all rewards", ERROR)


def _log_density(x: FloatArray) -> FloatArray:
    """Of the standard normal law."""
    return -(x**2) / 2 - math.log(math.sqrt(2 * math.pi))


def repeated_delta(level: float, epsilon: float, choices: Sequence[Margin]) -> tuple[float, str]:
    """A delta at `epsilon` of the first of these choices together, for the best number of them, and its witness.

    Arm 2 wins them all; the one reward of arm 1 is 0 or, under the neighbouring input, 1. Rewards of arm 2 are all 0 or
    all 1.
    """
    nodes, weights = nodes_between(np.linspace(-REACH - level, REACH + level, 193))
    best, witness = 0.0, "none found"
    for mean in (0, 1):
        won = np.zeros(len(nodes))  # log of the chance, given the noisy reward of arm 1 in units of its noise
        for number, choice in enumerate(choices, 1):
            room = mean + choice.ahead - nodes / level
            won = won + scipy.special.log_ndtr(room * level * choice.rewards)
            chances = [float(np.exp(won + _log_density(nodes - level * reward)) @ weights) for reward in (0, 1)]
            if (delta := chances[0] - math.exp(epsilon) * chances[1]) > best:
                best = delta
                witness = f"the reward of arm 1 is 0 or 1, all others {mean}; arm 2 is chosen {number} times in a row"
    return best, witness
