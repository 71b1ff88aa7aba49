"""Exact transcripts of policies that pull batches, of policies without a server, and of random prefixes."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import integrate, stats

from bandits.audit.batch_rules import (
    BatchRule,
    _Integral,
    _of_two,
    batch_epsilon,
    first_choice,
    longest,
    walk_chances,
    walks,
    walks_fit,
)
from bandits.audit.costs import AuditVerdict
from bandits.audit.half_spaces import Draws, chances
from bandits.audit.ledger import Domain, LaplaceRelease
from bandits.audit.noisy_max import log_chance, noisy_max_cost, prefix_cost
from bandits.audit.residues import BatchLaws
from bandits.audit.transcripts import Convention
from bandits.environments.heavy_tails import S1
from bandits.mechanisms.modular_sums import DiscreteLaplace, Skellam, decoded
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.distributed import DistDPSE, DistRDPSE
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE
from bandits.policies.random_prefix import RandomPrefix

POLICIES = [DPIMED(2.0), DPKLUCB(4.0), AdaPKLUCB(15.0, 3.01), AdaPUCB(10.0, 3.01)]


def rule_of(policy):
    return policy.batch_rule()


def of_winners(policy, horizon, *winners):
    """The probability of each of two arms after these choices."""
    return walk_chances(rule_of(policy), next(walk for walk in walks(policy.rule, horizon) if walk.winners == winners))


def test_walks_by_hand():
    """Batches of 1, 1, 2, 4 pulls: after both first batches a batch is chosen at step 3, then at 4, then at 5 or 6."""
    found = {walk.winners: walk for walk in walks(DPIMED(1.0).rule, 6)}
    assert set(found) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert [choice.step for choice in found[0, 0].choices] == [3, 4, 6]
    assert [choice.step for choice in found[0, 1].choices] == [3, 4, 5]
    assert found[0, 0].choices[2].counts == (4.0, 1.0)
    assert found[0, 0].lengths == (1, 1, 1, 2)
    assert found[0, 1].lengths == (1, 1, 1, 1)
    assert {walk.winners: walk.ending for walk in walks(DPIMED(1.0).rule, 5)} == {
        (0,): (0,),
        (0, 1): (0, 1),
        (1, 0): (0, 1),
        (1,): (1,),
    }
    assert {walk.winners: walk for walk in walks(AdaPUCB(1.0).rule, 6)}[0, 0].choices[2].counts == (2.0, 1.0)
    assert [walks_fit(DPIMED(1.0).rule, steps) for steps in (6, 7)] == [True, False]
    assert [longest(DPIMED(1.0).rule, steps) for steps in (3, 6, 10**7)] == [3, 6, 6]


def test_the_first_choice_by_hand():
    """epsilon = 1, one reward each: DP-IMED takes the larger mean cut to [0, 1]; a tie goes to the first arm.

    With x and y the noisy rewards, arm 2 is chosen for y > x, y > 0, x < 1.
    """
    none = (1 - math.exp(-1)) / 2 - (1 - math.exp(-2)) / 8 + math.exp(-1) / 2 * (1 - math.exp(-1) / 2)
    first = math.exp(-1) / 2
    found = of_winners(DPIMED(1.0), 3)[..., 1]
    assert found[0, 0] == pytest.approx(none, rel=1e-9)
    assert found[1, 0] == pytest.approx(first, rel=1e-9)
    epsilon = batch_epsilon(rule_of(DPIMED(1.0)), 3)
    assert epsilon.kept == epsilon.shown == pytest.approx(math.log(none / first), rel=1e-8)


def test_the_first_choice_of_three_arms_by_hand():
    """Arm 1 with reward 0 or 1, the others with 1: it is chosen unless another mean, cut to [0, 1], is larger."""
    without = 5 / 8 * math.exp(-1)
    with_one = 1 / 2 + (1 - math.exp(-3)) / 24 + math.exp(-3) / 8
    found = first_choice(rule_of(DPIMED(1.0)), 3)
    assert found.shown == pytest.approx(math.log(with_one / without), rel=1e-8)
    assert first_choice(rule_of(DPIMED(1.0)), 2).shown == pytest.approx(batch_epsilon(rule_of(DPIMED(1.0)), 3).shown)


@pytest.mark.parametrize("second", [-1.0, 0.5, 3.0])
@pytest.mark.parametrize("least", [-4.0, 0.3, 2.0])
def test_the_density_of_two_batches_by_quadrature(least, second):
    """The density of u + `second` + noise on the event u = 1 + noise > `least`, for z on both sides of the mode."""
    first, scale = 1.0, 0.5

    def density(u, z):
        return math.exp(-(abs(u - first) + abs(z - second - u)) / scale) / (4 * scale**2)

    for z in (-3.0, 0.2, 1.5, 6.0):
        kinks = sorted(point for point in (first, z - second) if point > least)
        edges = [least, *kinks, max([least, *kinks]) + 40.0]
        expected = sum(integrate.quad(density, *ends, args=(z,), epsabs=1e-14)[0] for ends in itertools.pairwise(edges))
        found = _of_two(np.array([z]), np.array([least]), first, second, scale)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_linear_indices_by_half_spaces():
    """AdaP-UCB compares sum / n + bonus: its probabilities in closed form, for arms 1 2 1 1 1 2 and 1 2 1 2 1."""
    policy, scale = AdaPUCB(3.0), 1 / 3

    def bonus(step, count):
        log = 3.1 * math.log(step)
        return math.sqrt(log / (2 * count)) + log / (3.0 * count)

    alike = np.ones(4, dtype=np.int64)
    found = of_winners(policy, 6, 0, 0)[..., 1]
    for sums in itertools.product(*map(range, found.shape)):
        x, y, x2, x3 = sums  # first rewards, then the second of arm 1, then the sum of two
        constants = np.array([[x - y, x2 - y, 2 * y - x3 + 2 * (bonus(6, 1) - bonus(6, 2))]])
        expected, _ = chances([(1, -1, 0, 0), (0, -1, 1, 0), (0, 2, 0, -1)], constants, Draws(np.full(4, scale), alike))
        assert found[sums] == pytest.approx(expected[0], rel=1e-6)
    found = of_winners(policy, 6, 0, 1)[..., 0]
    for sums in itertools.product(*map(range, found.shape)):
        x, y, x2, y2 = sums
        constants = np.array([[x - y, y - x2, x2 - y2]], dtype=float)
        expected, _ = chances([(1, -1, 0, 0), (0, 1, -1, 0), (0, 0, 1, -1)], constants, Draws(np.full(4, scale), alike))
        assert found[sums] == pytest.approx(expected[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_transcripts_have_the_law_of_what_is_played(policy, failure):
    """4,000 plays of a table on which each arm has one reward of 1."""
    table = np.zeros((2, 6))
    table[0, 0] = table[1, 1] = 1.0
    rng, runs = np.random.default_rng(7), 4000
    played = np.array([policy.play(table, 6, rng) for _ in range(runs)])
    observed, expected = [], []
    for walk in walks(policy.rule, 6):
        arms, batch = [0, 1], [1, 1]
        place = [1, 0]  # reward sums of the batches
        for arm in walk.winners:
            length = 1 if batch[arm] == 1 else 2
            arms += [arm] * length
            place.append(1 if (arm, batch[arm]) == (1, 1) else 0)
            batch[arm] += length
        law = _Integral(rule_of(policy), walk, 8).chances(tuple(place))
        for arm in walk.ending:
            with_last = np.array((arms + [arm] * 2)[:6])
            observed.append(int((played == with_last).all(axis=1).sum()))
            expected.append(runs * law[arm])
    assert sum(observed) == runs
    assert sum(expected) == pytest.approx(runs, rel=1e-6)
    often = np.array(expected) >= 5
    assert often.sum() > 1
    rest = [sum(np.array(counts)[~often]) for counts in (observed, expected)]
    assert stats.poisson.sf(rest[0] - 1, rest[1]) > failure
    kept = [np.array(counts)[often] for counts in (observed, expected)]
    assert stats.chisquare(kept[0], kept[1] * kept[0].sum() / kept[1].sum()).pvalue > failure


@dataclass(frozen=True)
class HalfTheNoise(DPIMED):
    """DP-IMED with half the noise that its ledger declares."""

    name: ClassVar[str] = "half_the_noise"

    @property
    def noise_scale(self):
        return 0.5 / self.epsilon

    def ledger(self, arms, horizon):
        return (LaplaceRelease("sum of batch 1", "", 0.0, 1.0, 1.0, 1 / self.epsilon),)


@pytest.mark.slow
@pytest.mark.parametrize("arms", [2, 3])
def test_half_the_noise_is_found_despite_the_ledger(arms):
    leaky = HalfTheNoise(1.0).transcript_cost(arms, arms + 2, Domain.UNIT, Convention.STREAM)
    assert leaky.epsilon.kept == 1
    assert leaky.verdict(HalfTheNoise(1.0).guarantee) is AuditVerdict.VIOLATED
    honest = DPIMED(1.0).transcript_cost(arms, arms + 2, Domain.UNIT, Convention.STREAM)
    assert honest.verdict(DPIMED(1.0).guarantee) is AuditVerdict.KEPT
    assert honest.epsilon.shown > 0.8


@pytest.mark.slow
def test_long_runs_show_what_their_first_steps_show():
    long = DPIMED(1.0, 30).transcript_cost(2, 10**6, Domain.UNIT, Convention.STREAM).epsilon
    short = DPIMED(1.0, 30).transcript_cost(2, 61, Domain.BINARY, Convention.STREAM).epsilon
    assert short.kept == short.shown == pytest.approx(long.shown)
    assert long.kept == 1
    assert 0.98 < short.shown < 1
    early = DPIMED(1.0, 30).transcript_cost(2, 60, Domain.UNIT, Convention.STREAM).epsilon
    assert early.kept == early.shown == 0


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
def test_random_prefixes_of_all_binary_losses(noise):
    """Brute force over two arms and eight vectors: the lead of the rival after 5 to 8 of them, one vector changed."""
    chance = {lead: math.exp(log_chance(noise, 2.0, 2, lead)) for lead in range(-10, 11)}
    worst = 0.0
    for moves in itertools.product((-1, 0, 1), repeat=8):
        after = np.cumsum(moves)
        for place in {0, 4, 5, 7}:
            for change in (1, 2):
                if moves[place] - change < -1:
                    continue
                moved = after - change * (np.arange(8) >= place)
                laws = [sum(chance[int(lead)] for lead in leads[4:]) for leads in (moved, after)]
                worst = max(worst, math.log(laws[0] / laws[1]))
    found = prefix_cost(noise, 2.0, 2, 8)
    assert found.shown == pytest.approx(worst, rel=1e-9)
    assert found.kept == noisy_max_cost(noise, 2.0, 2, 8).kept
    assert found.shown <= found.kept + found.error  # rounding differs between machines
    assert prefix_cost(noise, 2.0, 5, 2).shown == pytest.approx(noisy_max_cost(noise, 2.0, 5, 2).kept, rel=1e-12)


def test_a_random_prefix_is_audited_by_its_own_release():
    found = RandomPrefix(1.0, "gumbel").transcript_cost(3, 1000, Domain.UNIT, Convention.STREAM).epsilon
    assert found.shown == pytest.approx(1, rel=1e-9)
    few = RandomPrefix(1.0, "gumbel").transcript_cost(2, 8, Domain.UNIT, Convention.STREAM).epsilon
    assert few.shown == pytest.approx(0.762349547, rel=1e-8)  # prefixes of 3 or 4 vectors
    assert few.shown == pytest.approx(prefix_cost("gumbel", 2.0, 2, 4).shown)


@pytest.mark.parametrize("noise", [DiscreteLaplace(2.0), Skellam(3.0)], ids=str)
def test_a_batch_of_residues_by_adding_up(noise):
    """Three rewards on a grid of 2, a margin of 4, modulo 15: all pairs of residues."""
    k = np.arange(-900, 901)
    mass = np.exp(-np.abs(k) / 2.0) if isinstance(noise, DiscreteLaplace) else stats.skellam(1.5, 1.5).pmf(k)
    wrapped = np.bincount(k % 15, weights=mass / mass.sum(), minlength=15)
    assert noise.wrapped(15) == pytest.approx(wrapped, rel=1e-9)
    expected = np.zeros(3)
    for one, other in itertools.product(range(15), repeat=2):
        first, second = (decoded((2 * total + of) % 15, 15, 10) for total, of in ((1, one), (3, other)))
        lead = (first - second) / 2 / 3
        expected[0 if lead > 0.8 else 1 if lead < -0.8 else 2] += wrapped[one] * wrapped[other]
    assert BatchLaws(2, 3, 2, 4, 0.8, noise.wrapped(15)).law((1, 3)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [DiscreteLaplace(2.0), Skellam(3.0)], ids=str)
def test_a_batch_of_three_arms_by_adding_up(noise):
    """As above, one arm with 3 rewards of 1 and two with 1: all triples of residues."""
    wrapped, expected = noise.wrapped(15), np.zeros(3)
    for seen in itertools.product(range(15), repeat=3):
        means = [decoded((2 * total + of) % 15, 15, 10) / 6 for total, of in zip((3, 1, 1), seen, strict=True)]
        alone = [all(mean - other > 0.8 for other in means[:i] + means[i + 1 :]) for i, mean in enumerate(means)]
        expected[0 if alone[0] else 1 if alone[1] else 2] += math.prod(wrapped[of] for of in seen)
    laws = BatchLaws(3, 3, 2, 4, 0.8, wrapped)
    assert laws.law((3, 1)) == pytest.approx(expected, rel=1e-9)
    near = BatchLaws(3, 3, 2, 4, 0.1, wrapped)
    gains = []
    for own in range(3):
        pair = [near.law((total, 0)) for total in (own, own + 1)]
        for one, other in (pair, pair[::-1]):
            for i in (0, 1):
                gains += [one[i] - math.exp(0.1) * other[i], 1 - one[i] - math.exp(0.1) * (1 - other[i])]
    assert near.delta(0.1)[0] == pytest.approx(max(gains), abs=1e-11)
    assert near.delta(0.1)[0] > 0.01


@pytest.mark.slow
def test_arms_without_a_server_show_all_that_residues_cost():
    found = DistDPSE(1.0).transcript_cost(2, 10_000, Domain.UNIT, Convention.STREAM)
    assert found.epsilon.shown == pytest.approx(1, rel=1e-9)
    assert found.verdict(DistDPSE(1.0).guarantee) is AuditVerdict.TIGHT
    three = DistDPSE(1.0).transcript_cost(3, 20_000, Domain.UNIT, Convention.STREAM)
    assert three.epsilon.shown == pytest.approx(1, rel=1e-6)
    assert "every other arm" in three.epsilon.witness
    early = DistDPSE(1.0).transcript_cost(2, 100, Domain.UNIT, Convention.STREAM).epsilon
    assert early.shown == 0  # no arm can fall in the first batches
    skellam = DistRDPSE(0.5, 0.01).transcript_cost(2, 1000, Domain.UNIT, Convention.STREAM)
    assert 0 < skellam.delta.shown < skellam.delta.kept
    assert skellam.verdict(DistRDPSE(0.5, 0.01).guarantee) is AuditVerdict.KEPT


def test_an_epoch_of_dprse():
    """Rewards within +-B and noise of 2 B / (R epsilon): far is threshold / scale + R epsilon, near epsilon less."""
    given = GivenMoments.of(DPRSE(1.0, "custom", confidence_scale=1e-3), S1(0.9))
    epoch = given.policy.epoch_of(given.moment, 2, 1, 10_000)
    scale = 2 * epoch.truncation / epoch.rounds
    far = epoch.threshold / scale + epoch.rounds
    expected = 1 + math.log((1 + (far - 1) / 2) / (1 + far / 2))
    found = given.transcript_cost(2, 10_000, Domain.SIGNED, Convention.STREAM).epsilon
    assert found.shown >= expected * (1 - 1e-12)
    first = given.transcript_cost(2, 2 * epoch.rounds + 1, Domain.SIGNED, Convention.STREAM).epsilon
    again = given.policy.epoch_of(given.moment, 2, 1, 2 * epoch.rounds + 1)
    assert again.rounds <= epoch.rounds
    assert 0 < first.shown <= first.kept == 1
    half = given.transcript_cost(2, 10_000, Domain.NONNEGATIVE, Convention.STREAM).epsilon
    assert half.shown == pytest.approx(found.shown / 2, rel=0.1)


def test_noise_is_that_of_the_release():
    for policy in POLICIES:
        (release, *_) = policy.ledger(2, 9)
        assert policy.batch_rule() == BatchRule(policy.rule, 1 / policy.epsilon)
        assert release.scale == policy.noise_scale == 1 / policy.epsilon
