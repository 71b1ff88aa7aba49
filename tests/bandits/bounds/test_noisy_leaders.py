"""Theorems on RNM-FTNL where losses never vary (never_varying.md, section 2), on inputs that could refute them."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from bandits import ParameterError
from bandits.bounds import noisy_leaders
from bandits.exact.one_gap import largest_one_gap_ratio, one_gap_ratios
from bandits.exact.regret import expected_regret
from bandits.mechanisms.report_noisy_max import Noise
from bandits.seeds import stream

NOISES = ["laplace", "gumbel", "exponential"]


def test_spreads_by_hand():
    """Two Laplace variables: E |X - Y| / 2 = 3/4. Three exponential ones: 1/2 + 1/3. Gumbel: log K."""
    assert math.isclose(noisy_leaders.noise_spread(2, "laplace"), 0.75)
    assert math.isclose(noisy_leaders.noise_spread(3, "exponential"), 5 / 6)
    assert math.isclose(noisy_leaders.noise_spread(10, "gumbel"), math.log(10))
    assert math.isclose(noisy_leaders.never_varying_regret(2, 0.5, "laplace"), 1 + 16 * 0.75)
    assert math.isclose(noisy_leaders.random_prefix_never_varying_regret(3, 0.5, "exponential"), 3 + 16 * 5 / 6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("arms", [2, 7, 999, 1000, 2**20])
def test_spreads_by_quadrature(noise, arms):
    """E max = the integral of 1 - F^K above 0 less that of F^K below, F the law of one variable."""
    law = {
        "laplace": lambda x: math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2,
        "gumbel": lambda x: math.exp(-math.exp(min(-x, 600.0))),
        "exponential": lambda x: max(0.0, -math.expm1(-x)),
    }[noise]
    mean = {"laplace": 0.0, "gumbel": 0.5772156649015329, "exponential": 1.0}[noise]
    middle = math.log(arms)
    above = [quad(lambda x: 1 - law(x) ** arms, *ends, epsabs=1e-12)[0] for ends in ((0, middle), (middle, 60))]
    below = quad(lambda x: law(x) ** arms, -30, 0, epsabs=1e-12)[0]
    assert math.isclose(sum(above) - below - mean, noisy_leaders.noise_spread(arms, noise), rel_tol=1e-7)


@pytest.mark.parametrize("noise", NOISES)
def test_spread_is_that_of_the_mechanism(noise):
    draws = Noise(noise, 1.0).largest(np.full(40_000, 50), stream("spread", 0))
    mean = {"laplace": 0.0, "gumbel": 0.5772156649015329, "exponential": 1.0}[noise]
    assert abs(draws.mean() - mean - noisy_leaders.noise_spread(50, noise)) < 6.5 * draws.std() / 200


def profiles(rng):
    """Gaps and counts chosen to break the bound: random ones, then all other arms at one gap of the worst size."""
    for _ in range(12):
        groups = int(rng.integers(1, 5))
        gaps = 10 ** -rng.uniform(0, 4, groups)
        yield np.array([0.0, *gaps]), np.array([1, *np.ceil(2 ** rng.uniform(0, 20, groups))]).astype(int)
    for arms in (2, 16, 2**10, 2**20):
        for place in np.linspace(0, 1, 5):
            yield np.array([0.0, 1e-3 * 2**place]), np.array([1, arms - 1])
    yield np.array([0.0, 1.0]), np.array([1, 2**20])


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_regret_where_losses_never_vary_stays_below_the_envelope(noise):
    rng, nearest = stream("envelope", 0), 0.0
    for gaps, counts in profiles(rng):
        epsilon = float(10 ** rng.uniform(-2, 1))
        regret = expected_regret(gaps, counts, noise, epsilon, 2**50, calibration="proved")
        allowed = noisy_leaders.never_varying_regret(int(counts.sum()), epsilon, noise)
        assert regret <= allowed
        nearest = max(nearest, regret / allowed)
    assert nearest > 0.6  # a bound of two thirds would have been refuted


def test_the_constant_8_is_needed():
    """Regret x epsilon / log K of one tiny gap rises to 8, slowly, as 8 (1 - log log K / log K)."""
    ratios = [largest_one_gap_ratio(power * math.log(2)) for power in (4, 10, 20, 50, 100, 500, 5000)]
    assert ratios == sorted(ratios)
    assert ratios[1] < 6
    assert 7.85 < ratios[-2] < ratios[-1] < 8
    assert ratios[-1] > 7.98
    for power in (100, 500, 5000):
        log = power * math.log(2)
        assert abs(largest_one_gap_ratio(log) - 8 * (1 - math.log(log) / log)) < 0.03


@pytest.mark.parametrize(("arms", "gap", "epsilon"), [(2, 1e-7, 1.0), (1024, 3.3e-7, 0.5), (2**20, 2e-6, 0.1)])
def test_one_gap_is_the_limit_of_exact_regret(arms, gap, epsilon):
    place = gap * epsilon / 2
    place /= 2.0 ** math.floor(math.log2(place))
    exact = expected_regret([0, gap], [1, arms - 1], "gumbel", epsilon, 2**60) * epsilon / math.log(arms)
    assert math.isclose(float(one_gap_ratios(math.log(arms), np.array([place]))[0]), exact, rel_tol=1e-5)


@pytest.mark.parametrize(("gap", "ratio"), [(0.1, 12.8), (0.01, 103), (0.001, 1022)])
def test_resampled_losses_are_not_covered(gap, ratio):
    """B = 1 and gaps below epsilon = 1: regret x epsilon / log K grows as 1 / gap, K = 1024, best loss 0.3."""
    regret = expected_regret([0.3, 0.3 + gap], [1, 1023], "gumbel", 1.0, 2**50, resample=True)
    assert math.isclose(regret / math.log(1024), ratio, rel_tol=5e-3)
    assert regret > noisy_leaders.never_varying_regret(1024, 1.0, "gumbel")


def test_conditions_of_the_theorems():
    for name, given, blamed in [
        ("noise_spread", (1, "laplace"), "arms"),
        ("never_varying_regret", (5, 1.0, "normal"), "noise"),
        ("never_varying_regret", (5, 0.0, "laplace"), "epsilon"),
        ("random_prefix_regret", (5, 0.1, 2.5), "epsilon"),
        ("random_prefix_regret", (5, 0.0, 1.0), "gap"),
    ]:
        with pytest.raises(ParameterError) as error:
            getattr(noisy_leaders, name)(*given)
        assert error.value.parameter == blamed
