"""Gaussian differential privacy: its curve delta(epsilon), its level, and guarantees that have one."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from bandits import Guarantee, ParameterError, Scope
from bandits.mechanisms.gaussian import gaussian_delta, gaussian_level
from bandits.mechanisms.start_phases import gauss_condition


def test_delta_by_hand():
    # level 1, epsilon 1: Phi(-1/2) - e Phi(-3/2) = 0.3085375387 - 2.7182818285 x 0.0668072013
    assert math.isclose(gaussian_delta(1.0, 1.0), 0.3085375387 - 2.7182818285 * 0.0668072013, abs_tol=1e-9)
    # level 2, epsilon 1/2: Phi(3/4) - e^(1/2) Phi(-5/4) = 0.7733726476 - 1.6487212707 x 0.1056497737
    assert math.isclose(gaussian_delta(2.0, 0.5), 0.7733726476 - 1.6487212707 * 0.1056497737, abs_tol=1e-9)
    assert math.isclose(gaussian_delta(0.5, 0.0), 2 * norm.cdf(0.25) - 1, rel_tol=1e-12)  # total variation


@pytest.mark.parametrize(("level", "epsilon"), [(0.3, 1.0), (3.0, 0.2), (3.0, 4.5), (8.0, 1.0), (0.05, 0.4)])
def test_delta_is_the_hockey_stick_of_two_normal_laws(level, epsilon):
    def excess(x):
        return max(norm.pdf(x - level) - math.exp(epsilon) * norm.pdf(x), 0.0)

    begin = epsilon / level + level / 2  # where the densities have the ratio e^epsilon
    found, _ = integrate.quad(excess, begin, begin + 40, points=[begin + 1], epsabs=0, limit=400)
    assert math.isclose(gaussian_delta(level, epsilon), found, rel_tol=1e-8)


def test_levels_are_the_largest_that_keep_a_budget():
    for epsilon, delta in [(1.0, 1e-6), (0.1, 0.01), (0.0, 0.3), (40.0, 1e-9), (0.01, 1e-90)]:
        level = gaussian_level(epsilon, delta)
        assert gaussian_delta(level, epsilon) <= delta * (1 + 1e-12)
        assert gaussian_delta(level * (1 + 1e-9), epsilon) > delta


def test_extreme_levels_are_numbers():
    for level in 10.0 ** np.arange(-100, 101, 20):
        for epsilon in (0.0, 1e-3, 1.0, 700.0):
            assert 0 <= gaussian_delta(level, epsilon) <= 1
    assert gaussian_delta(1e4, 1.0) == 1
    assert gaussian_delta(1e-4, 1.0) == 0


def test_the_start_phase_of_dp_ftpl_gauss_is_a_level():
    assert gauss_condition(8, 0.5) == gaussian_delta(0.25, 0.5)  # Normal(R / 8, 2 / 8): 1 / sqrt(16)


def test_a_gaussian_guarantee_has_a_curve():
    promised = Guarantee.gaussian(0.25, 1.0, Scope.DECISION)
    assert (promised.epsilon, promised.level, promised.scope) == (1.0, 0.25, Scope.DECISION)
    assert math.isclose(promised.delta, norm.cdf(-3.875) - math.e * norm.cdf(-4.125), rel_tol=1e-9)
    assert math.isclose(promised.delta_at(0.5), norm.cdf(-1.875) - math.exp(0.5) * norm.cdf(-2.125), rel_tol=1e-9)
    assert Guarantee.gaussian(1e-3, 1.0).delta > 0  # delta underflows to 0, but the promise does not become pure
    assert Guarantee(1.0, 0.1).delta_at(2.0) == 0.1
    lower = 0.1 + 0.9 * (math.e - math.exp(0.9)) / (1 + math.e)
    assert math.isclose(Guarantee(1.0, 0.1).delta_at(0.9), lower)


def test_what_is_not_promised_is_refused():
    assert Guarantee(0.5).pure == 0.5
    with pytest.raises(ParameterError, match=r"delta: must be > 0: 0.25-GDP is purely epsilon-private for no epsilon"):
        _ = Guarantee.gaussian(0.25, 1.0).pure
    with pytest.raises(ParameterError, match="nothing is promised for a smaller one"):
        _ = Guarantee(1.0, 0.1).pure
    with pytest.raises(ParameterError, match="delta: must be above 0 and at least"):
        Guarantee(1.0, 0.0, level=0.25)
    with pytest.raises(ParameterError, match="delta: must be above 0 and at least"):
        Guarantee(1.0, 1e-6, level=0.25)
    for level in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="level: must be a finite number > 0"):
            Guarantee.gaussian(level, 1.0)
    with pytest.raises(ParameterError, match="delta: must be a number in"):
        gaussian_level(1.0, 0.0)
