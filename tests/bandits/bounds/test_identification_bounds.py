"""Characteristic times: closed forms for two arms, maximisation over shares, and the limit of little privacy."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar

from bandits import ParameterError
from bandits.bounds.jourdan2025 import characteristic_time, local_samples_lower_bound, samples_lower_bound
from bandits.divergences import bernoulli_divergence, private_divergence

MEANS = [[0.75, 0.625, 0.5, 0.375, 0.25], [0.9, 0.85, 0.1], [0.3, 0.2, 0.2, 0.05]]


def entropy(p):
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


@pytest.mark.parametrize(("best", "other"), [(0.75, 0.7), (0.9, 0.1), (0.5, 0.2)])
def test_two_arms_by_hand(best, other):
    """With two arms T* is 1 / d(best, z) where d(best, z) = d(other, z); for kl z has a closed form."""
    z = 1 / (1 + math.exp(-(entropy(other) - entropy(best)) / (best - other)))
    assert characteristic_time([best, other], math.inf) == pytest.approx(1 / bernoulli_divergence(best, z), rel=1e-7)
    for epsilon in (0.05, 0.5, 2.0):
        z = brentq(lambda u, e=epsilon: private_divergence(best, u, e) - private_divergence(other, u, e), other, best)
        found = characteristic_time([other, best], epsilon)
        assert found == pytest.approx(1 / private_divergence(best, z, epsilon), rel=1e-7)


def least_cost(shares, means, epsilon):
    """min over arms and u of w_* d(mean_*, u) + w_a d(mean_a, u), by a search over u."""
    best, *others = means

    def cost(u, mean, share):
        return shares[0] * private_divergence(best, u, epsilon) + share * private_divergence(mean, u, epsilon)

    options = {"xatol": 1e-12}
    return min(
        minimize_scalar(cost, bounds=(mean, best), args=(mean, share), method="bounded", options=options).fun
        for mean, share in zip(others, shares[1:], strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("means", MEANS, ids=str)
def test_the_best_shares_are_found(means, epsilon):
    """A search over all shares reaches 1 / T*, and no share exceeds it."""
    inverse = 1 / characteristic_time(means, epsilon)

    def loss(free):
        shares = np.exp(free - free.max())
        return -least_cost(shares / shares.sum(), means, epsilon) / inverse

    found = minimize(loss, np.zeros(len(means)), method="Nelder-Mead", options={"maxfev": 4000, "fatol": 1e-10})
    assert -found.fun == pytest.approx(1, abs=0.01)
    rng = np.random.default_rng(1)
    for _ in range(200):
        assert -loss(rng.normal(size=len(means))) <= 1 + 1e-6


@pytest.mark.parametrize("means", MEANS, ids=str)
def test_the_limit_of_small_epsilon(means):
    gaps = means[0] - np.array(means[1:])
    for epsilon in (1e-5, 1e-9, 1e-100):
        found = epsilon * characteristic_time(means, epsilon)
        assert found == pytest.approx(sum(1 / gaps) + 1 / gaps.min(), rel=1e-3)


def test_the_limits_of_noisy_bits_and_of_small_gaps():
    """Two arms near together: T* = 8 v / gap^2, v the variance of a reward; of bits 1/4 and gap x epsilon / 2."""
    wrong = 0.98 * math.log(99)
    for epsilon in (1e-3, 3e-5, 1e-8, 1e-12):
        found = epsilon**2 * local_samples_lower_bound((0.75, 0.7), epsilon, 0.01)
        assert found == pytest.approx(8 / 0.05**2 * wrong, rel=1e-5)
    gap = 2.0**-30
    assert characteristic_time((0.5 + gap, 0.5), math.inf) == pytest.approx(2 / gap**2, rel=1e-6)
    assert characteristic_time((0.5 + gap, 0.5), 1.0) == pytest.approx(2 / gap**2, rel=1e-6)


def test_lower_bounds():
    means = MEANS[0]
    # kl(0.01, 0.99) = 0.98 log 99 = 4.503218
    assert samples_lower_bound(means, 0.1, 0.01) == pytest.approx(4.503218 * characteristic_time(means, 0.1), rel=1e-6)
    means = [0.95, 0.5, 0.05]  # of whose bits T* at epsilon = 0.5 is larger than that without privacy
    bits = [0.5 + (mean - 0.5) * math.tanh(0.25) for mean in means]
    assert local_samples_lower_bound(means, 0.5, 0.01) == pytest.approx(samples_lower_bound(bits, math.inf, 0.01))
    assert characteristic_time(means, 50.0) == pytest.approx(characteristic_time(means, math.inf), rel=1e-9)
    for make, message in [
        (lambda: characteristic_time([0.5, 0.5, 0.1], 1.0), "means"),
        (lambda: characteristic_time([1.0, 0.5], 1.0), "means"),
        (lambda: characteristic_time([0.6, 0.5], 0.0), "epsilon"),
        (lambda: samples_lower_bound([0.6, 0.5], 1.0, 0.5), "beta"),
    ]:
        with pytest.raises(ParameterError, match=message):
            make()
