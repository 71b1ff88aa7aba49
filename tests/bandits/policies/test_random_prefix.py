"""RNM-FTNL on a random prefix of each epoch: privacy, exact regret and bounds (noisy_leaders.md, section 3)."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import softmax

from bandits.bounds import noisy_leaders
from bandits.environments.full_information import BernoulliLosses, DeterministicLosses
from bandits.environments.gap_profiles import Free, Geometric
from bandits.exact.prefixes import NODES, mean_over_prefixes, prefix_rule, random_prefix_regret_curve
from bandits.exact.regret import expected_regret, selection_probabilities
from bandits.policies.full_information import RNMFTNL
from bandits.policies.random_prefix import RandomPrefix
from bandits.seeds import stream
from tests.bandits.two_samples import assert_mean_of

NOISES = ["laplace", "gumbel", "exponential"]


def by_enumeration(means, counts, noise, epsilon, horizon, losses):
    """Expected regret by enumeration of all prefixes of all epochs, horizon 2^k - 1."""
    gaps = np.array(means) - min(means)
    regret, length = float(gaps @ counts / sum(counts)), 1
    while 2 * length <= horizon:
        prefixes = range(length // 2 + 1, length + 1)
        after = [
            gaps @ selection_probabilities(means, counts, noise, epsilon, prefix, losses, calibration="proved")
            for prefix in prefixes
        ]
        regret += 2 * length * float(np.mean(after))
        length *= 2
    return regret


def test_bounds_of_the_random_prefix_by_hand():
    expected = 16 * math.log(8) / 0.5 + 128 * (math.log(16) + 1) / 0.1 + 32
    assert math.isclose(noisy_leaders.random_prefix_regret(8, 0.1, 0.5), expected)


def test_exact_regret_is_the_mean_over_prefixes():
    for noise, losses in itertools.product(NOISES, ["deterministic", "bernoulli"]):
        means, counts, horizon = [0.3, 0.32, 0.6], [1, 2, 40], 2**6 - 1
        exact = random_prefix_regret_curve(means, counts, noise, 0.5, [horizon], losses, calibration="proved")[0]
        assert math.isclose(exact, by_enumeration(means, counts, noise, 0.5, horizon, losses), rel_tol=1e-9)


def test_long_epochs_by_a_softmax():
    """Gumbel noise and losses that never vary, epochs up to 2^13: the quadrature begins at 2^10."""
    gaps, counts, epsilon, horizon = np.array([0.0, 0.001, 0.02]), np.array([1, 3, 500]), 0.3, 2**14 - 1
    after = softmax(-np.arange(2**13 + 1)[:, None] * gaps * epsilon / 2 + np.log(counts), axis=1) @ gaps
    regret = after[0] + sum(2 * n * after[n // 2 + 1 : n + 1].mean() for n in 2 ** np.arange(13))
    exact = random_prefix_regret_curve(gaps, counts, "gumbel", epsilon, [horizon])[0]
    assert math.isclose(exact, regret, rel_tol=1e-10)


@pytest.mark.parametrize("rounds", [1024, 4096, 2**20, 2**59])
def test_the_rule_is_exact_for_polynomials(rounds):
    prefixes, weights = prefix_rule(rounds)
    assert len(set(prefixes.tolist())) == NODES
    assert rounds // 2 < prefixes.min()
    assert prefixes.max() <= rounds
    x = (prefixes - rounds // 2 - 0.5) / (rounds // 2)  # in (0, 1)
    size = rounds // 2
    assert math.isclose(weights.sum(), 1)
    assert math.isclose(weights @ x**2, 1 / 3 - 1 / (12 * size**2), rel_tol=1e-10)
    if rounds <= 4096:
        points = (np.arange(size) + 0.5) / size
        for degree in (1, 5, 16, NODES - 1):
            assert math.isclose(weights @ x**degree, (points**degree).mean(), rel_tol=1e-9)
    assert math.isclose(mean_over_prefixes(lambda m: m / rounds, rounds), 0.75 + 0.5 / rounds)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("kind", "resample"), [(DeterministicLosses, False), (BernoulliLosses, False)])
def test_simulated_regret_is_the_exact_one(noise, kind, resample, failure):
    instance, checkpoints = kind(Geometric(4, 0.3), best=0.1), np.array([127])
    policy = RandomPrefix(0.5, noise, resample, "proved")
    (exact,) = policy.expected_regret(instance, checkpoints)
    rng = stream("prefix", 0)
    assert_mean_of(lambda _: policy.simulate(instance, 127, checkpoints, rng) @ instance.gaps, exact, 2000, failure)
    whole = RNMFTNL(0.5, noise, resample, "proved").expected_regret(instance, checkpoints)[0]
    assert exact > 1.05 * whole  # another law, which costs more


def test_the_choice_is_private_for_random_and_extreme_losses():
    """The law of the choice, a mixture of softmaxes over prefixes: at most e^epsilon times that of a neighbour."""
    rng, epsilon, worst = stream("private", 0), 0.7, 0.0
    for steps, extreme in itertools.product((1, 2, 4, 8), (False, True)):
        for _ in range(40):
            losses = rng.random((steps, 3))
            losses = losses.round() if extreme else losses
            other = losses.copy()
            other[rng.integers(steps)] = rng.integers(0, 2, 3) if extreme else rng.random(3)
            first, second = (
                softmax(-np.cumsum(of, axis=0)[steps // 2 :] * epsilon / 2, axis=1).mean(axis=0)
                for of in (losses, other)
            )
            worst = max(worst, float(np.abs(np.log(first / second)).max()))
    assert 0.8 * epsilon < worst <= epsilon * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_never_varying_losses_stay_below_the_bound(noise):
    rng, nearest = stream("prefix bound", 0), 0.0
    for arms, place in itertools.product((2, 64, 2**20), np.linspace(0, 1, 3)):
        epsilon = float(10 ** rng.uniform(-2, 0.5))
        gaps, counts = np.array([0.0, epsilon * 1e-3 * 2**place]), np.array([1, arms - 1])
        regret = random_prefix_regret_curve(gaps, counts, noise, epsilon, [2**40], calibration="proved")[0]
        allowed = noisy_leaders.random_prefix_never_varying_regret(arms, epsilon, noise)
        assert regret <= allowed
        nearest = max(nearest, regret / allowed)
    assert nearest > 0.9  # the bound is nearly attained


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "epsilon"), [(0.04, 0.05), (0.6, 2.0)])
def test_bernoulli_losses_stay_below_the_bound(gap, epsilon):
    for groups in (Free((gap,), (1,)), Free((gap, min(1.0, 1.5 * gap)), (500, 2**20))):
        means = groups.gaps + (1 - groups.gaps.max()) / 2
        regret = random_prefix_regret_curve(means, groups.counts, "gumbel", epsilon, [2**18], "bernoulli")[0]
        arms = int(groups.counts.sum())
        assert regret <= noisy_leaders.random_prefix_regret(arms, gap, epsilon)
        assert regret > expected_regret(means, groups.counts, "gumbel", epsilon, 2**18, "bernoulli")
