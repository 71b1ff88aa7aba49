"""Policies on given rewards play the law that is simulated, and sampled lower bounds agree with exact ones."""

import math

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.audit.audits import transcript
from bandits.audit.ledger import Domain
from bandits.audit.sampled import at_least, at_most, sampled_epsilon, sampled_transcript
from bandits.audit.transcripts import Convention, transcripts
from bandits.environments.bernoulli import Bernoulli
from bandits.policies.elimination import DPSE
from bandits.policies.heavy_tailed import DPRSE
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.perturbed_leader import DPFTPLNew, GDPElimNew, ThompsonBeta, ThompsonGauss
from bandits.policies.private_ucb import DPUCB

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
]
CLOSE = {"dp_se": (0.9, 0.775, 0.775), "gdp_elim_new": (0.9, 0.4)}  # near their thresholds, so that runs differ


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "horizon"), PLAYED, ids=str)
def test_what_is_played_is_what_is_simulated(policy, horizon, failure):
    """Pulls of the best arm, once on tables of fresh rewards and once simulated."""
    rewards, noise = np.random.default_rng(1), np.random.default_rng(2)
    means = CLOSE.get(policy.name, MEANS)
    runs = 100 if horizon > 1000 else 1500
    instance = Bernoulli(means)
    played = np.empty(runs)
    for run in range(runs):
        table = (rewards.random((len(means), horizon)) < np.array(means)[:, None]).astype(float)
        played[run] = np.bincount(policy.play(table, horizon, noise))[0]
    rng = np.random.default_rng(3)
    simulated = [policy.simulate(instance, horizon, np.array([horizon]), rng)[0, 0] for _ in range(runs)]
    assert np.unique(played).size > 1
    assert stats.ks_2samp(played, simulated).pvalue > failure


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
        DPRSE(1.0).play(np.zeros((2, 5)), 5, np.random.default_rng(1))


def test_clopper_pearson_by_hand():
    assert at_least(0, 10, 0.01) == 0
    assert at_most(10, 10, 0.01) == 1
    assert at_least(10, 10, 0.01) == pytest.approx(0.01**0.1)
    assert at_most(0, 10, 0.01) == pytest.approx(1 - 0.01**0.1)


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


@pytest.mark.slow
def test_a_sampled_bound_lies_below_the_exact_one():
    policy = ThompsonBeta()
    exact = transcript(policy, 2, 5, Domain.BINARY, Convention.STREAM)
    nothing_shown = transcript(DPUCB(1.0), 3, 5, Domain.BINARY, Convention.STREAM)
    found = sampled_transcript(policy, nothing_shown, 2, 5, Convention.STREAM, 20_000, 1e-6).epsilon
    assert 2.0 < found.shown < exact.epsilon.kept
    assert found.runs == 40_000
    assert found.failure == 1e-6


def test_too_few_runs_are_refused():
    nothing_shown = transcript(DPUCB(1.0), 2, 5, Domain.BINARY, Convention.STREAM)
    with pytest.raises(ParameterError, match="runs: failure=1e-06 needs at least 60, got 10"):
        sampled_transcript(DPUCB(1.0), nothing_shown, 2, 5, Convention.STREAM, 10, 1e-6)


EDGES = np.linspace(-3, 4, 40)  # 41 outcomes of a released number


def sound(reward, rng, runs):
    """One reward in [0, 1] plus Lap(1 / epsilon), epsilon = 1: tight."""
    return np.digitize(reward + rng.laplace(size=runs), EDGES)


def half_the_noise(reward, rng, runs):
    """Costs 2 epsilon."""
    return np.digitize(reward + rng.laplace(scale=0.5, size=runs), EDGES)


def one_noise_for_both_arms(reward, rng, runs):
    """The difference of the arms has no noise left: infinite."""
    shared = rng.laplace(size=runs)
    return np.digitize((reward + shared) - (0.0 + shared), EDGES)


def raw_first_reward(reward, rng, runs):
    """What is released before the first sum is the reward: infinite."""
    return np.digitize(np.full(runs, reward), EDGES)


def fresh_at_each_step(reward, rng, runs):
    """The same node of a tree with a new draw at each of five steps costs 5 epsilon; their mean shows it."""
    return np.digitize(reward + rng.laplace(size=(5, runs)).mean(axis=0), EDGES)


def clipped_after_noise(reward, rng, runs):
    """A reward of 3 is clipped with its noise instead of before it: the sum moves by 3."""
    return np.digitize(np.clip(3 * reward + rng.laplace(size=runs), -2, 4), EDGES)


VIOLATIONS = [half_the_noise, one_noise_for_both_arms, raw_first_reward, fresh_at_each_step, clipped_after_noise]


@pytest.mark.parametrize("release", VIOLATIONS)
def test_violations_are_caught(release):
    """In at least 95 of 100 seeds. That each is one follows from the Laplace law, as its docstring says."""
    assert _flagged(release) >= 95


def test_a_sound_release_is_never_flagged():
    assert _flagged(sound) == 0


def _flagged(release):
    caught = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        caught += sampled_epsilon(release(0.0, rng, 4000), release(1.0, rng, 4000), failure=1e-6)[0] > 1
    return caught


def test_delta_is_taken_off():
    rng = np.random.default_rng(1)
    outcomes = [(rng.random(50_000) < chance).astype(int) for chance in (0.3, 0.1)]
    pure = sampled_epsilon(*outcomes, failure=1e-6)[0]
    assert 0.9 < pure < math.log(3)
    assert 0.5 < sampled_epsilon(*outcomes, failure=1e-6, delta=0.1)[0] < math.log(2)
