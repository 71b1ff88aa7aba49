"""The probability that each of several Beta variables is the largest."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import betainc, betaln, expit, gammaln

from bandits.loops.largest_beta import NEGLIGIBLE, betas, densities, fall, grid, peak, stirling_rest, winning_chances


def chances(first, second):
    of = betas(np.array(first, dtype=float), np.array(second, dtype=float))
    on = grid(of)
    return winning_chances(densities(of, on), on)


def test_whole_parameters_by_hand():
    # Beta(2, 2) beyond Beta(3, 1): the integral of 6 x (1 - x) x^3 is 6 (1/5 - 1/6) = 1/5
    assert chances([2, 3], [2, 1]) == pytest.approx([0.2, 0.8], abs=1e-14)


def test_densities_by_hand():
    # Beta(3, 2) on the logit scale: x^3 (1 - x)^2 / B(3, 2) with B = 1/12, at its mode x = 3/5
    assert peak(3.0, 2.0) == pytest.approx(12 * 0.6**3 * 0.4**2, rel=1e-14)
    drop = fall(5.0, 0.6, math.log(1 / 3) - math.log(3 / 2))  # at x = 1/4
    assert peak(3.0, 2.0) * math.exp(-drop) == pytest.approx(12 * 0.25**3 * 0.75**2, rel=1e-14)
    for z in (1.0, 3.7, 15.9, 16.1, 400.0):
        assert stirling_rest(z) == pytest.approx(
            gammaln(z) - (z - 0.5) * math.log(z) + z - 0.5 * math.log(2 * math.pi), abs=1e-13
        )


def test_powers_of_uniform_variables():
    """Beta(a, 1) is exp(-E / a), E exponential: the largest has the least E / a, with probability proportional to a."""
    assert chances([1, 2, 5], [1, 1, 1]) == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-14)
    assert chances([4000, 1000, 20], [1, 1, 1]) == pytest.approx(np.array([4000, 1000, 20]) / 5020, abs=1e-13)
    # Beta(1, b) is 1 - exp(-E / b): the larger of two has the larger E / b
    assert chances([1, 1], [3, 7]) == pytest.approx([0.7, 0.3], abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [([20, 5, 1.5], [4, 1, 1]), ([2000.3, 65, 9], [1000.2, 33, 7.5]), ([100.5, 50, 30, 400], [100, 49, 34, 380])],
    ids=repr,
)
def test_against_another_quadrature(first, second):
    first, second = np.array(first), np.array(second)
    edges = np.linspace(-25, 40, 200)
    for i, found in enumerate(chances(first, second)):
        others = np.arange(len(first)) != i

        def density(y, i=i, others=others):
            own = -first[i] * np.log1p(np.exp(-y)) - second[i] * np.log1p(np.exp(y)) - betaln(first[i], second[i])
            return np.exp(own) * np.prod(betainc(first[others], second[others], expit(y)))

        pieces = [integrate.quad(density, a, b, epsabs=1e-14, epsrel=1e-12)[0] for a, b in itertools.pairwise(edges)]
        assert found == pytest.approx(sum(pieces), abs=1e-11)


def test_large_parameters_are_like_normal_ones():
    """On the logit scale, with n = 4e12 the third moment is below 1e-6 spreads."""
    n = 4e12
    found = chances([n / 2, n / 2 + 1e6], [n / 2, n / 2 - 1e6])
    expected = stats.norm.sf(4 * 1e6 / n / math.sqrt(2 * 4 / n))
    assert found[0] == pytest.approx(expected, abs=1e-8)
    assert found.sum() == pytest.approx(1, abs=1e-9)


def test_chances_add_up_to_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        size = 2 ** rng.integers(1, 20, 8)
        share = np.clip(rng.normal(0.5, 1 / np.sqrt(size)), 0, 1)
        found = chances(share * size + 1, (1 - share) * size + 1)
        assert abs(found.sum() - 1) < 2e-12
        assert found.min() >= 0


def test_an_arm_that_never_wins_has_no_panels():
    of = betas(np.array([9000.0, 100.0]), np.array([1000.0, 900.0]))
    assert grid(of).panels[1] == 0
    assert chances([9000, 100], [1000, 900]).tolist() == pytest.approx([1.0, 0.0], abs=1e-13)


def test_densities_are_negligible_beyond_their_ends():
    first, second = np.array([1.0, 300.0, 5.0]), np.array([1.0, 1.0, 1e6])
    of = betas(first, second)
    for i in range(3):
        for end in (of.low[i], of.high[i]):
            assert NEGLIGIBLE <= fall(of.sizes[i], of.shares[i], end - of.centers[i]) < 2.5 * NEGLIGIBLE
