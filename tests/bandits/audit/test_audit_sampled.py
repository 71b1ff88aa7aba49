"""Plays on given rewards have the law of simulations, and sampled lower bounds agree with exact ones."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bandits import Guarantee, ParameterError
from bandits.audit.betting import BATCH, Bets, betting_delta, betting_epsilon
from bandits.audit.costs import AuditVerdict, PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.sampled import (
    at_least,
    at_most,
    neighbouring_tables,
    require_runs,
    sampled_delta,
    sampled_epsilon,
    with_plays,
)
from bandits.audit.transcripts import Convention, transcripts
from bandits.environments.bernoulli import Bernoulli
from bandits.environments.full_information import BernoulliLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.heavy_tails import Pareto
from bandits.policies.batched_index import DPIMED, DPKLUCB, AdaPKLUCB, AdaPUCB
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.epochs import OffsetFTNL
from bandits.policies.full_information import RNMFTNL, DecreasingHedge, FollowTheLeader
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, LDPRSE, BoxedLDPRSE, Moment, RobustUCB
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.lazy import AnytimeLazyUCB, LazyDPTS
from bandits.policies.perturbed_leader import DPFTPLNew, GDPElimNew, ThompsonBeta, ThompsonGauss
from bandits.policies.private_ucb import DPUCB
from bandits.policies.random_prefix import RandomPrefix
from bandits.policies.stopping_rules import DPNAS
from bandits.policies.ucb import UCB1
from experiments.audit.game import AuditGame
from experiments.audit.plays import plays
from tests.bandits.two_samples import assert_same_law_of

MEANS = (0.9, 0.2, 0.5)
PLAYED = [
    (DPUCB(30.0), 30),
    (DPUCBTossou(3.0), 30),
    (DPUCBBound(40.0), 30),
    (DPUCBInt(6.0, 0.3), 60),
    (DPUCBInt(0.4, 0.3, calibrate=False), 30),
    (ThompsonGauss(), 30),
    (ThompsonBeta(), 30),
    (DPFTPLNew(1.0, 0.05), 30),
    (DPSE(100.0, beta=0.9), 2000),
    (GDPElimNew(1.0, 0.1), 8500),
    (UCB1(), 40),
    (SuccessiveElimination(beta=0.9), 300),
    (AdaPUCB(2.0), 40),
    (AdaPKLUCB(2.0), 40),
    (DPKLUCB(0.5), 40),
    (DPIMED(0.5, 3, 1.2), 40),
    (AnytimeLazyUCB(2.0), 60),
    (LazyDPTS(2.0), 60),
]
CLOSE = {  # near their thresholds, so that runs vary
    "dp_se": (0.9, 0.775, 0.775),
    "gdp_elim_new": (0.9, 0.4),
    "successive_elimination": (0.9, 0.1, 0.5),
    "adap_ucb": (0.6, 0.5, 0.4),
    "adap_klucb": (0.6, 0.5, 0.4),
    "anytime_lazy_ucb": (0.6, 0.5, 0.4),
}


def test_clopper_pearson_by_hand():
    assert at_least(0, 10, 0.01) == 0
    assert at_most(10, 10, 0.01) == 1
    assert at_least(10, 10, 0.01) == pytest.approx(0.01**0.1)
    assert at_most(0, 10, 0.01) == pytest.approx(1 - 0.01**0.1)


def test_a_bet_by_hand():
    """A batch shows that outcome 1 comes under the first input alone; then the bet against e^0 = 1 is the largest."""
    bets = Bets(np.array([0.0]), np.array([0.0]), 2)
    bets.play(np.ones(BATCH, dtype=int), np.zeros(BATCH, dtype=int))
    assert bets.best[0] == 0  # before the first batch nothing is known, and nothing is staked
    bets.play(np.ones(BATCH, dtype=int), np.zeros(BATCH, dtype=int))
    assert bets.best[0] == 0  # the event is known, its gain is not
    bets.play(np.ones(BATCH, dtype=int), np.zeros(BATCH, dtype=int))
    each = 0.9  # mean gain of the second batch 1; over both batches 1/2, and so is the mean square
    assert bets.best[0] == pytest.approx(np.log(((1 + each) ** BATCH + (1 + each) ** BATCH) / 2))


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "horizon"), PLAYED, ids=str)
def test_what_is_played_is_what_is_simulated(policy, horizon, failure):
    """Pulls of the best arm, once on tables of fresh rewards and once simulated."""
    rewards, noise = np.random.default_rng(1), np.random.default_rng(2)
    means = CLOSE.get(policy.name, MEANS)
    runs = 100 if horizon > 1000 else 1500
    instance = Bernoulli(means)
    rng = np.random.default_rng(3)

    def draw(run):
        table = (rewards.random((len(means), horizon)) < np.array(means)[:, None]).astype(float)
        played = np.bincount(policy.play(table, horizon, noise))[0]
        return played, policy.simulate(instance, horizon, np.array([horizon]), rng)[0, 0]

    assert_same_law_of(draw, runs, failure)


LEARNERS = [
    RNMFTNL(1.0),
    RNMFTNL(1.0, "gumbel", resample=True),
    RandomPrefix(1.0, "exponential"),
    OffsetFTNL(1.0, "gumbel", ratio=2.5),
    FollowTheLeader(),
    DecreasingHedge(),
]


@pytest.mark.slow
@pytest.mark.parametrize("policy", LEARNERS, ids=str)
def test_what_is_played_under_full_information_is_what_is_simulated(policy, failure):
    """Plays of the best of three arms, on fresh tables of losses and simulated."""
    instance, horizon, runs = BernoulliLosses(OneGap(3, 0.3), best=0.3), 25, 1500
    losses, noise, rng = (np.random.default_rng(seed) for seed in (1, 2, 3))
    means = np.array([0.3, 0.6, 0.6])[:, None]

    def draw(run):
        played = (policy.play((losses.random((3, horizon)) < means) * 1.0, horizon, noise) == 0).sum()
        return played, policy.simulate(instance, horizon, np.array([horizon]), rng)[0, 0]

    played, _ = assert_same_law_of(draw, runs, failure)
    assert np.unique(played).size > 5


@pytest.mark.slow
def test_plays_of_report_noisy_max_show_what_it_costs():
    """Two arms, one vector of losses: the cost is known exactly, and this input is the worst."""
    policy = RNMFTNL(1.0, "exponential")
    exact = policy.transcript_cost(2, 2, policy.domain, Convention.TABLE).epsilon
    found = with_plays(exact_less(exact), policy.guarantee, both(policy, 2, 20_000), 1e-6).epsilon
    assert exact.kept - 0.2 < found.shown <= exact.kept


def exact_less(bounds):
    return PrivacyCost("", "", replace(bounds, shown=0.0))


def test_losses_outside_the_unit_interval_are_refused():
    with pytest.raises(ParameterError, match="table: rnm_ftnl needs losses"):
        RNMFTNL(1.0).play(np.full((2, 3), 1.5), 3, np.random.default_rng(1))


def test_conventions_name_the_reward_that_is_seen():
    table = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

    class Alternates(DPUCB):
        def choices(self, arms, horizon, rng):
            seen.clear()
            for t in range(99):
                seen.append((yield t % 2))

    seen = []
    Alternates(1.0).play(table, 4, np.random.default_rng(1), Convention.STREAM)
    assert seen == [1, 0, 0]  # of arm 1, arm 2, arm 1
    Alternates(1.0).play(table, 4, np.random.default_rng(1), Convention.TABLE)
    assert seen == [1, 0, 0]


def test_rewards_outside_the_domain_are_refused():
    with pytest.raises(ParameterError, match="table"):
        DPSE(1.0).play(np.full((2, 5), 2.0), 5, np.random.default_rng(1))


def test_a_policy_that_is_only_simulated_says_so():
    with pytest.raises(ParameterError, match="cannot be played"):
        RobustUCB().play(np.zeros((2, 5)), 5, np.random.default_rng(1))


@pytest.mark.parametrize("policy", [DPRSE(1.0), LDPRSE(1.0), DPRUCB(1.0)], ids=str)
def test_a_policy_for_heavy_tails_asks_for_a_moment(policy):
    with pytest.raises(ParameterError, match=f"instance: {policy.name} needs u and v"):
        policy.play(np.zeros((2, 5)), 5, np.random.default_rng(1))


HEAVY = [
    (DPRUCB(20.0, "custom", 0.02), 30),
    (DPRUCB(20.0, "custom", 0.02, tree_budget="natural"), 30),
    (DPRSE(2.0, "custom", 0.02, u=2.0), 150),
    (LDPRSE(20.0, "custom", 0.02, u=4.0), 150),
    (BoxedLDPRSE(20.0, "custom", 0.02, u=4.0), 150),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "horizon"), HEAVY, ids=str)
def test_what_is_played_on_heavy_tails_is_what_is_simulated(policy, horizon, failure):
    """Pulls of the best of three Pareto arms, with the moment of the instance."""
    instance, runs = Pareto((2.0, 1.0, 1.5), 0.9), 1500
    given = GivenMoments.of(policy, instance)
    rewards, noise, rng = (np.random.default_rng(seed) for seed in (1, 2, 3))

    def draw(run):
        table = instance.scales[:, None] * np.exp(rewards.standard_exponential((3, horizon)) / instance.tail_index)
        played = np.bincount(given.play(table, horizon, noise))[0]
        return played, policy.simulate(instance, horizon, np.array([horizon]), rng)[0, 0]

    assert_same_law_of(draw, runs, failure)


def test_rewards_beyond_the_bound_count_as_none():
    """Epochs of DPRSE: rewards beyond the truncation count as 0, negative ones too; all others are summed."""
    seen = []

    class Sums(DPRSE):
        def released(self, sums, epoch, rng):
            seen.append(sums)
            return sums

    given = GivenMoments(Sums(1.0, "custom", 0.02), Moment(1.5, 0.5))
    epoch = given.policy.epoch_of(given.moment, 2, 1, 40)
    table = np.zeros((2, 40))
    table[0, :3] = 0.5 * epoch.truncation, 1.01 * epoch.truncation, -epoch.truncation
    table[1, :2] = -1.01 * epoch.truncation, 0.25 * epoch.truncation
    assert 3 <= epoch.rounds <= 19
    given.play(table, 40, np.random.default_rng(1))
    assert seen[0] == pytest.approx([-0.5 * epoch.truncation, 0.25 * epoch.truncation])


@pytest.mark.slow
def test_plays_of_heavy_tails_change_a_reward_between_its_bounds():
    """With three steps the law of the single choice is known, and the two tables are the costliest pair."""
    given = GivenMoments(DPRUCB(6.0), Moment(2.0, 0.9))
    exact = given.transcript_cost(2, 3, Domain.SIGNED, Convention.STREAM).epsilon
    low, high = given.reward_limits(2, 3, Domain.SIGNED)
    assert -low == high == pytest.approx((6 * 2 / math.log(3) ** 1.5) ** (1 / 1.9))
    assert given.reward_limits(2, 3, Domain.NONNEGATIVE) == (0.0, high)
    tables = neighbouring_tables(2, 3, given.guarantee.neighbours, (low, high))
    assert [table[0, 0] for table in tables] == [low, high]
    assert not tables[0][1:].any()
    found = with_plays(exact_less(exact), given.guarantee, both(given, 3, 20_000), 1e-6).epsilon
    # arm 2 has reward 0, the middle: both tables are 3/2 scales from the threshold, which costs less than the worst
    assert 0.3 < found.shown < exact.kept


@pytest.mark.slow
def test_played_transcripts_have_the_exact_law(failure):
    policy, horizon = ThompsonBeta(), 4
    exact = transcripts(lambda n, s: policy.decision(n, s, horizon), 2, horizon, Convention.STREAM)
    table = np.array([[1.0, 0, 0, 0], [0.0, 1, 0, 0]])
    rng = np.random.default_rng(4)
    codes = [int("".join(map(str, policy.play(table, horizon, rng))), 2) for _ in range(4000)]
    expected = exact.chances[0b010_001] * 4000
    observed = np.bincount(codes, minlength=16)
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > failure


def both(policy, horizon, runs):
    return plays(AuditGame(policy, 2, horizon, policy.domain, Convention.STREAM), runs, workers=1).arms


@pytest.mark.slow
def test_sampled_bounds_lie_below_exact_ones():
    """And near them; the worst sequence of five arms is rare."""
    policy = ThompsonBeta()
    exact = policy.transcript_cost(2, 5, Domain.BINARY, Convention.STREAM).epsilon.kept
    claimed = Guarantee(1.0)
    finding = with_plays(PrivacyCost("", "", None), claimed, both(policy, 5, 4000), 1e-6)
    assert 1.5 < finding.epsilon.shown < exact
    assert finding.verdict(claimed) is AuditVerdict.VIOLATED
    assert finding.epsilon.runs == 8000
    assert finding.epsilon.failure == 1e-6


@pytest.mark.slow
def test_sampled_deltas_lie_below_exact_ones():
    policy = ThompsonBeta()
    laws = transcripts(lambda n, s: policy.decision(n, s, 5), 2, 5, Convention.STREAM).chances[:2]
    exact = max(np.maximum(p - math.e * q, 0).sum() for p, q in (laws, laws[::-1]))
    played = both(policy, 5, 4000)
    codes = np.unique(np.concatenate(played), axis=0, return_inverse=True)[1]
    for bound in (betting_delta, sampled_delta):
        assert 0.35 * exact < bound(codes[:4000], codes[4000:], 1e-6, 1.0) < exact
    claimed = Guarantee(1.0, 0.01)
    finding = with_plays(PrivacyCost("", "", None), claimed, played, 1e-6)
    assert finding.verdict(claimed) is AuditVerdict.VIOLATED
    assert 0.01 < finding.delta.shown < exact


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_number_of_workers():
    game = AuditGame(DPUCB(1.0), 2, 6, Domain.UNIT, Convention.STREAM)
    one, two = (plays(game, 1200, workers).arms for workers in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0][:500], one[0][500:1000])  # each block has its own stream


def test_too_few_runs_are_refused():
    with pytest.raises(ParameterError, match="runs: failure=1e-06 needs at least 64, got 10"):
        require_runs(10, 1e-6)
    require_runs(64, 1e-6)


def test_what_cannot_be_played_is_refused():
    with pytest.raises(ParameterError, match="dp_nas cannot be played"):
        plays(AuditGame(DPNAS(1.0, 0.5, 0.1), 2, 6, Domain.UNIT, Convention.STREAM), 100, 1)


@pytest.mark.slow
def test_bets_against_private_mechanisms_lose(failure):
    """100 audits of randomised response that tells the truth with e / (1 + e): none may show more than 1."""
    truth = math.e / (1 + math.e)
    shown = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first, second = ((rng.random(3000) < chance).astype(int) for chance in (truth, 1 - truth))
        shown.append(betting_epsilon(first, second, 0.01))
    assert stats.binom.sf(sum(value > 1 for value in shown) - 1, 100, 0.01) > failure
    assert min(shown) > 0.6


def test_delta_is_taken_off():
    rng = np.random.default_rng(1)
    outcomes = [(rng.random(50_000) < chance).astype(int) for chance in (0.3, 0.1)]
    pure = sampled_epsilon(*outcomes, failure=1e-6)[0]
    assert 0.9 < pure < math.log(3)
    assert 0.5 < sampled_epsilon(*outcomes, failure=1e-6, delta=0.1)[0] < math.log(2)
