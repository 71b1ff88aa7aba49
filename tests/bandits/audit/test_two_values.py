"""The larger of two values in closed form: against integrals of the laws, and in exact integer arithmetic."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from bandits.audit.decision_laws import BetaLaw, GaussLaw, TruncatedLaw, largest_of
from bandits.audit.two_values import larger_beta, larger_gauss, larger_truncated_laplace
from bandits.exponents import FLOOR
from bandits.mechanisms.truncated_laplace import TruncatedLaplace


def test_two_normal_values():
    means, deviations = np.array([[0.2, 0.5], [3.0, 0.0], [0.0, 0.0]]), np.array([[0.3, 0.4], [0.5, 0.5], [1.0, 9.0]])
    laws = [largest_of([GaussLaw(*x) for x in zip(*pair, strict=True)]) for pair in zip(means, deviations, strict=True)]
    assert larger_gauss(means, deviations) == pytest.approx(np.array(laws), rel=1e-11)


def test_two_beta_values():
    a, b = np.array([[3, 5], [40, 2], [1, 1], [2, 30]]), np.array([[7, 2], [9, 60], [1, 4], [50, 8]])
    laws = [largest_of([BetaLaw(*x) for x in zip(*pair, strict=True)]) for pair in zip(a, b, strict=True)]
    assert larger_beta(a, b) == pytest.approx(np.array(laws), rel=1e-10)


def beta(a, b):
    return Fraction(factorial(a - 1) * factorial(b - 1), factorial(a + b - 1))


@pytest.mark.parametrize(("a", "b", "c", "d"), [(129, 917, 667, 80), (667, 80, 129, 917), (5, 300, 90, 40)])
def test_two_beta_values_far_apart_keep_their_digits(a, b, c, d):
    """Pr[X > Y] = sum over i < a of B(c + i, b + d) / ((b + i) B(1 + i, b) B(c, d)), in fractions."""
    exact = [
        sum(beta(c + i, b + d) / ((b + i) * beta(1 + i, b) * beta(c, d)) for i in range(a))
        for a, b, c, d in ((a, b, c, d), (c, d, a, b))
    ]
    found = larger_beta(np.array([[a, c]]), np.array([[b, d]]))[0]
    assert [float(Fraction(of) / value) for of, value in zip(found, exact, strict=True)] == pytest.approx(
        [1, 1], rel=1e-11
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 0.01), (0.2, 1e-6), (0.0, 0.05), (5.0, 0.3)])
def test_two_truncated_laplace_values(epsilon, delta):
    counts = np.array([[1.0, 1.0], [3.0, 20.0], [20.0, 21.0], [7.0, 7.0], [40.0, 2.0]])
    centers = np.array([[0.0, 0.3], [1.0, 0.2], [0.6, 0.9], [0.5, 0.5], [1.5, 0.0]])
    laws = [
        largest_of([TruncatedLaw(TruncatedLaplace(epsilon, delta, *x)) for x in zip(*pair, strict=True)])
        for pair in zip(counts, centers, strict=True)
    ]
    found = larger_truncated_laplace(epsilon, delta, counts, centers)
    assert found == pytest.approx(np.array(laws), rel=1e-11, abs=1e-15)


def test_what_is_impossible_is_0_and_what_underflows_is_not():
    apart = np.array([[0.0, 5000.0]])
    reach = 2 * TruncatedLaplace(1.0, 0.01, 1.0, 0.0).half_width
    for centers, chance in (([0.0, 1.001 * reach], 0.0), ([0.0, reach * (1 - 1e-15)], pytest.approx(0, abs=1e-20))):
        found = larger_truncated_laplace(1.0, 0.01, np.ones((1, 2)), np.array([centers]))[0]
        assert found.tolist() == [chance, pytest.approx(1)]
        assert (found[0] > 0) == (centers[1] < reach)
    assert larger_truncated_laplace(1.0, 0.0, np.ones((1, 2)), apart).tolist() == [[FLOOR, 1.0]]
    assert larger_gauss(apart, np.ones((1, 2))).tolist() == [[FLOOR, 1.0]]
    assert larger_beta(np.array([[1, 3000]]), np.array([[3000, 1]])).min() == FLOOR
