"""The first reward of every arm gets noise: exact laws of the next arm, for every pair of neighbours.

A raw reward, as some public code uses it, would change that arm with probability 1, and no ratio would be finite.
"""

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.stats import norm

from bandits.audit.transcripts import Convention, transcripts
from bandits.environments.bernoulli import Bernoulli
from bandits.mechanisms.modular_sums import DiscreteLaplace
from bandits.policies.base import Policy
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.distributed import DistDPSE, DistRDPSE
from bandits.policies.gaussian_thompson import DPTSUCB, ThompsonGDP
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.policies.local_ucb import LDPUCBB, LDPUCBL
from bandits.seeds import stream

REWARDS = list(itertools.product((0.0, 1.0), repeat=2))
NEIGHBOURS = [
    (one, other) for one in REWARDS for other in REWARDS if sum(a != b for a, b in zip(one, other, strict=True)) == 1
]


class Scripted:
    """A generator that returns given quantiles, in turn."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)

    def normal(self, mean, deviation):
        return np.array([m + d * norm.ppf(self.numbers.pop(0)) for m, d in zip(mean, deviation, strict=True)])


def third_arm(policy, rewards, numbers):
    """The arm at step 3 of two arms with one reward each."""
    return int(policy.play(np.array([[rewards[0]] * 3, [rewards[1]] * 3]), 3, Scripted(*numbers))[2])


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("kind", [LDPUCBB, partial(KLUCBCF, cap=False)])
def test_index_policies_on_bits(kind, epsilon):
    """A user's bit is 1 if a number is below the user's probability: four pairs of bits, each played once."""
    policy = kind(epsilon)
    laws = {}
    for rewards in REWARDS:
        chances = [float(policy.chance(reward)) for reward in rewards]
        law = np.zeros(2)
        for bits in itertools.product((1, 0), repeat=2):
            numbers = [c / 2 if bit else (1 + c) / 2 for c, bit in zip(chances, bits, strict=True)]
            mass = math.prod(c if bit else 1 - c for c, bit in zip(chances, bits, strict=True))
            law[third_arm(policy, rewards, numbers)] += mass
        laws[rewards] = law
    worst = max(float(np.abs(np.log(laws[one] / laws[other])).max()) for one, other in NEIGHBOURS)
    assert 0.2 * epsilon < worst <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_ts_cf(epsilon):
    """By hand: one bit makes Beta(2, 1) or Beta(1, 2), and the better one has the larger draw in 5 of 6 cases."""
    policy = TSCF(epsilon)
    laws = {}
    for rewards in REWARDS:
        first, second = (float(policy.chance(reward)) for reward in rewards)
        chance = 5 / 6 * first * (1 - second) + 1 / 6 * (1 - first) * second
        chance += (first * second + (1 - first) * (1 - second)) / 2
        laws[rewards] = np.array([chance, 1 - chance])
    draws = np.random.default_rng(5).beta([[2.0, 1.0]] * 40_000, [[1.0, 2.0]] * 40_000)
    assert abs((draws[:, 0] > draws[:, 1]).mean() - 5 / 6) < 0.01
    worst = max(float(np.abs(np.log(laws[one] / laws[other])).max()) for one, other in NEIGHBOURS)
    assert 0.1 * epsilon < worst <= epsilon


def test_ldp_ucb_l_looks_at_no_reward_yet():
    policy = LDPUCBL(1.0)
    state = policy.start(2, 3)
    for t in (1, 2, 3):  # 4 log(t + 1) pulls come first
        assert policy.select(state, t, None) == 0
        policy.update(state, 0, 1.0, np.random.default_rng(t))
    assert not float(state.sums[0]).is_integer()  # every report has noise nevertheless


@pytest.mark.slow
def test_dp_ts_ucb():
    """Both arms have normal values: arm 1 leads with probability Phi((r1 - r2) / sqrt(2 v)), also on a grid."""
    policy, points = DPTSUCB(1.0, level=3.2), (np.arange(80) + 0.5) / 80
    assert policy.first_epoch(3) == 1
    laws = {}
    for rewards in REWARDS:
        chance = norm.cdf((rewards[0] - rewards[1]) / math.sqrt(2 * policy.spread(3)))
        played = [third_arm(policy, rewards, numbers) for numbers in itertools.product(points, repeat=2)]
        assert math.isclose(1 - np.mean(played), chance, abs_tol=0.02)
        laws[rewards] = np.array([chance, 1 - chance])
    for epsilon in (0.1, 1.0, 3.0):
        shown = max(np.maximum(laws[one] - math.exp(epsilon) * laws[other], 0).sum() for one, other in NEIGHBOURS)
        assert shown <= policy.guarantee.delta_at(epsilon)
    assert max(np.abs(laws[one] - laws[other]).max() for one, other in NEIGHBOURS) > 0.1


def test_thompson_gdp():
    """After one pull of each arm: all sequences of three arms, by enumeration."""
    policy = ThompsonGDP(0.2, variance=0.5, start_pulls=1)
    found = transcripts(lambda pulls, sums: policy.decision(pulls, sums, 3), 2, 3, Convention.STREAM)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert found.delta(epsilon).shown <= policy.guarantee.delta_at(epsilon) + 1e-12
    assert found.delta(0.2).shown > 0.3 * policy.guarantee.delta_at(0.2)


@pytest.mark.parametrize(
    "policy", [DistDPSE(3.0, beta=0.9), DistRDPSE(2.0, 0.01, 1.0, beta=0.9)], ids=lambda policy: policy.name
)
def test_distributed_elimination(policy):
    """After a batch of both arms, arm 1 is next unless it is eliminated: a sum over the law of both residues.

    In the first batches no residue eliminates an arm, so that the next arm is fixed: the sixth batch is tested.
    """
    batch = policy.batch(2, 6, 300)
    reach = 5 * batch.modulus
    spread = np.arange(-reach, reach + 1)
    noise = policy.noise(batch.grid)
    if isinstance(noise, DiscreteLaplace):
        masses = np.exp(-np.abs(spread) / noise.scale) * math.tanh(0.5 / noise.scale)
    else:
        masses = noise.masses(reach)
    law = np.bincount(spread % batch.modulus, weights=masses, minlength=batch.modulus)
    means = np.array([batch.mean(residue) for residue in range(batch.modulus)])
    stays = means[None, :] - means[:, None] <= batch.threshold  # arm 1, where it has the first residue
    residues = np.array([np.roll(law, total * batch.grid) for total in range(batch.rounds + 1)])
    laws = np.array([residues @ event @ residues.T for event in (stays, ~stays)])  # by the sums of both arms
    promise = policy.guarantee
    for first, second in ((laws[:, :-1], laws[:, 1:]), (laws[:, :, :-1], laws[:, :, 1:])):
        for one, other in ((first, second), (second, first)):
            excess = np.maximum(one - math.exp(promise.epsilon) * other, 0).sum(axis=0)
            assert excess.max() <= promise.delta + 1e-12
        assert np.abs(first - second).max() > 1e-6  # one reward matters
        if promise.delta == 0:
            cost = float(np.abs(np.log(first / second)).max())
            assert 0.5 * promise.epsilon < cost <= promise.epsilon * (1 + 1e-9)


RUNS = 10_000
LOG3 = math.log(3)


@dataclass(frozen=True)
class Case:
    """A policy, and the interval in which its index grows with a noisy first reward."""

    policy: Policy
    low: float = -math.inf
    high: float = math.inf

    @property
    def epsilon(self) -> float:
        return self.policy.epsilon

    def first_wins(self, rewards):
        """The probability that step 3 pulls the first arm: its cut reward is at least that of the second."""
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
    for number, rewards in enumerate(REWARDS):
        rng, chance = stream("third", number), case.first_wins(rewards)
        simulated = [case.policy.simulate(Bernoulli(rewards), 3, np.array([3]), rng)[0, 0] - 1 for _ in range(RUNS)]
        assert stats.binomtest(int(sum(simulated)), RUNS, chance).pvalue > failure
        table = np.tile(np.array(rewards)[:, None], 3)
        played = sum(int(case.policy.play(table, 3, rng)[2] == 0) for _ in range(RUNS // 10))
        assert stats.binomtest(played, RUNS // 10, chance).pvalue > failure


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.policy.name)
def test_that_law_keeps_epsilon_between_all_neighbours(case):
    chance = {rewards: case.first_wins(rewards) for rewards in REWARDS}
    assert max(chance.values()) > 1.1 * min(chance.values())  # the rewards matter
    for one, other in itertools.permutations(REWARDS, 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            assert chance[one] <= math.exp(case.epsilon) * chance[other] * (1 + 1e-9)
            assert 1 - chance[one] <= math.exp(case.epsilon) * (1 - chance[other]) * (1 + 1e-9)
