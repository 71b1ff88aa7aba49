"""The first reward of every arm is released with noise: the exact law of the third step, two arms, each pulled once.

Both arms have one noisy reward r + Lap(1/epsilon) then, and the index grows with it. It may be flat beyond two limits:
there indices are equal, and the first arm is pulled. So what is compared are noisy rewards cut to these limits.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import optimize, stats

from bandits.environments.bernoulli import Bernoulli
from bandits.policies.base import Policy
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.seeds import stream

TABLES = tuple(itertools.product((0.0, 1.0), repeat=2))  # the first rewards of both arms
RUNS = 10_000
LOG3 = math.log(3)


@dataclass(frozen=True)
class Case:
    """A policy, and between which limits its index grows with a noisy first reward."""

    policy: Policy
    low: float = -math.inf
    high: float = math.inf

    @property
    def epsilon(self) -> float:
        return self.policy.epsilon

    def first_wins(self, rewards):
        """The chance that the third step pulls the first arm: its cut reward is at least that of the second."""
        if isinstance(self.policy, LazyDPTS):
            return thompson(rewards, self.epsilon, self.low, self.high)
        one, other = (stats.laplace(reward, 1 / self.epsilon) for reward in rewards)
        total = one.sf(self.high) + one.cdf(self.low) * other.cdf(self.low)
        for x, weight in nodes(rewards[0], self.low, self.high):
            total += weight * one.pdf(x) * other.cdf(x)
        return float(total)


def nodes(reward, low, high):
    """Points and weights of an integral over [low, high], cut at 0 and 1, where a density has a kink."""
    ends = sorted({max(low, -60.0), *(end for end in (0.0, 1.0) if low < end < high), min(high, 60.0)})
    points, weights = np.polynomial.legendre.leggauss(80)
    for left, right in itertools.pairwise(ends):
        half = (right - left) / 2
        yield from zip(left + half * (points + 1), half * weights, strict=True)


def thompson(rewards, epsilon, low, high):
    """The same where each arm draws from Beta(x + 1, 2 - x), x = its cut reward less `low`."""
    laws = []
    for reward in rewards:
        law = stats.laplace(reward, 1 / epsilon)
        inner = [(x - low, weight * law.pdf(x)) for x, weight in nodes(reward, low, high)]
        laws.append([(0.0, law.cdf(low)), *inner, (high - low, law.sf(high))])
    points, weights = np.polynomial.legendre.leggauss(60)
    v, weights = (points + 1) / 2, weights / 2
    drawn = sum(mass * stats.beta.pdf(v, x + 1, 2 - x) for x, mass in laws[0])
    below = sum(mass * stats.beta.cdf(v, x + 1, 2 - x) for x, mass in laws[1])
    return float((weights * drawn * below).sum())


def rounded_to_one(p):
    """Above 0 where the largest q with kl(p, q) <= 3.1 log 3 is so close to 1 that it is rounded to it."""
    return 3.1 * LOG3 - (1 - p) * 54 * math.log(2) - p * math.log(p) - (1 - p) * math.log(1 - p)


LIFT = 3.1 * LOG3 / 4  # the bonus of AdaP-KLUCB, whose mean with its bonus is cut at 0
CASES = [
    Case(AdaPUCB(1.0)),
    Case(AdaPKLUCB(4.0), -LIFT, optimize.brentq(rounded_to_one, 0.5, 1 - 1e-9) - LIFT),
    Case(DPKLUCB(3.0), 0.0, 1 - LOG3 / 3),  # the index is 1 once epsilon (1 - mean) <= log 3
    Case(DPIMED(1.0), 0.0, 1.0),
    Case(AnytimeLazyUCB(1.0)),
    Case(LazyDPTS(8.0), -3 * LOG3 / 8, 1 - 3 * LOG3 / 8),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.policy.name)
def test_the_third_arm_has_the_law_that_noise_on_every_first_reward_gives(case, failure):
    for number, rewards in enumerate(TABLES):
        rng, chance = stream("third", number), case.first_wins(rewards)
        simulated = [case.policy.simulate(Bernoulli(rewards), 3, np.array([3]), rng)[0, 0] - 1 for _ in range(RUNS)]
        assert stats.binomtest(int(sum(simulated)), RUNS, chance).pvalue > failure
        table = np.tile(np.array(rewards)[:, None], 3)
        played = sum(int(case.policy.play(table, 3, rng)[2] == 0) for _ in range(RUNS // 10))
        assert stats.binomtest(played, RUNS // 10, chance).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.policy.name)
def test_that_law_keeps_epsilon_between_all_neighbours(case):
    chance = {rewards: case.first_wins(rewards) for rewards in TABLES}
    assert max(chance.values()) > 1.1 * min(chance.values())  # the rewards matter
    for one, other in itertools.permutations(TABLES, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            assert chance[one] <= math.exp(case.epsilon) * chance[other] * (1 + 1e-9)
            assert 1 - chance[one] <= math.exp(case.epsilon) * (1 - chance[other]) * (1 + 1e-9)
