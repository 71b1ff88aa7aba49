"""Probabilities of intersections of half-spaces of Laplace draws: by hand, by quadrature, and by sampling."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bandits.audit.half_spaces import Draws, chances
from bandits.audit.index_rules import sum_tail


def chance(forms, constants, scales, counts=None):
    counts = np.ones(len(scales), dtype=np.int64) if counts is None else np.array(counts)
    found, errors = chances(forms, np.array([constants], dtype=float), Draws(np.array(scales, dtype=float), counts))
    assert errors[0] < 1e-5
    return found[0]


def test_one_draw():
    assert chance([(1,)], [-3], [2]) == pytest.approx(math.exp(-1.5) / 2, rel=1e-14)
    assert chance([(-1,)], [3], [2]) == pytest.approx(1 - math.exp(-1.5) / 2, rel=1e-14)
    assert chance([(1,), (-1,)], [-1, 3], [2]) == pytest.approx((math.exp(-0.5) - math.exp(-1.5)) / 2, rel=1e-14)
    assert chance([(1,), (-1,)], [-3, 1], [2]) == 0  # nothing is both above 3 and below 1


def test_the_difference_of_two_draws():
    """Equal scales: exp(-x) (1 + x / 2) / 2; scales a and b: (a^2 exp(-x/a) - b^2 exp(-x/b)) / (2 (a^2 - b^2))."""
    assert chance([(1, -1)], [-1], [1, 1]) == pytest.approx(0.75 * math.exp(-1), rel=1e-14)
    by_hand = (4 * math.exp(-0.5) - math.exp(-1)) / 6
    assert chance([(1, -1)], [-1], [1, 2]) == pytest.approx(by_hand, rel=1e-14)
    assert chance([(2, -2)], [-2], [1, 2]) == pytest.approx(by_hand, rel=1e-14)
    assert chance([(3, -1)], [-3], [2, 6]) == pytest.approx(0.75 * math.exp(-0.5) / 0.75 * (1 + 0.25) / 2, rel=1e-14)


def test_draws_that_come_together_are_one_variable():
    for count in (1, 2, 3, 4):
        assert chance([(1,)], [-1.5], [1], [count]) == pytest.approx(sum_tail(count, 1.5), rel=1e-12)
    assert chance([(1, -1)], [-1], [3, 3], [2, 2]) == pytest.approx(chance([(1, 1, -1, -1)], [-1], [3] * 4), rel=1e-12)


def test_orders_of_equal_draws_are_equally_likely():
    for draws, order in ((3, 6), (4, 24), (5, 120)):
        forms = [tuple((i == j) - (i == j + 1) for i in range(draws)) for j in range(draws - 1)]
        assert chance(forms, [0] * (draws - 1), [0.7] * draws) == pytest.approx(1 / order, rel=1e-12)


def test_three_draws_by_quadrature():
    """z1 >= z2 + 1 and z3 <= 2 z2 + 3, given z2."""

    def inside(z):
        return (
            stats.laplace.pdf(z, scale=2) * stats.laplace.sf(z + 1, scale=1) * stats.laplace.cdf(2 * z + 3, scale=0.5)
        )

    expected = sum(
        integrate.quad(inside, low, high, epsabs=1e-14)[0] for low, high in ((-80, -1.5), (-1.5, -1), (-1, 0), (0, 80))
    )
    assert chance([(1, -1, 0), (0, 2, -1)], [-1, 3], [1, 2, 0.5]) == pytest.approx(expected, rel=1e-11)


def test_many_cases_at_once_are_the_cases_one_by_one():
    forms, draws = [(1, -1, 0), (0, -2, 1)], Draws(np.array([1.0, 2.0, 3.0]), np.ones(3, dtype=np.int64))
    constants = np.array([[0.0, -8.0], [1.0, -7.0], [-2.0, 5.0]])
    together, _ = chances(forms, constants, draws)
    assert together == pytest.approx([chances(forms, row[None], draws)[0][0] for row in constants], rel=1e-14)


def test_the_unit_of_the_draws_plays_no_part():
    forms = [(1, -1, 0), (0, -2, 1)]
    assert chance(forms, [1e6, -7e6], [1e6, 1e6, 3e6]) == pytest.approx(chance(forms, [1, -7], [1, 1, 3]), rel=1e-12)
    assert chance(forms, [1e-6, -7e-6], [1e-6, 1e-6, 3e-6]) == pytest.approx(
        chance(forms, [1, -7], [1, 1, 3]), rel=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_chances_are_the_frequencies_of_draws(seed, failure):
    """Random half-spaces of five draws, equal and other scales, against 400 000 draws."""
    rng = np.random.default_rng(seed)
    forms = [tuple(map(int, row)) for row in rng.integers(-2, 3, size=(4, 5))]
    constants, scales = rng.normal(2, 2, size=4), rng.choice([1.0, 2.0, 1.7], size=5)
    hits = (rng.laplace(size=(400_000, 5)) * scales @ np.array(forms).T + constants >= 0).all(axis=1).sum()
    expected = chance(forms, constants, scales)
    assert 0.005 < expected < 0.995
    assert stats.binomtest(int(hits), 400_000, expected).pvalue > failure


def test_nothing_is_above_and_below():
    """1 >= z >= 3, and a difference that is at least 1 and at most 1/2."""
    assert chance([(1,), (-1,)], [-3, 1], [2]) == 0
    assert chance([(1, -1), (-2, 2)], [-1, 1], [1, 2]) == 0


@pytest.mark.slow
def test_the_error_grows_with_what_cancels():
    """A tail is a single term; for half-spaces of many draws large terms of both signs are added."""
    forms = [(0, 0, 1, 2, -2), (-2, 2, 2, -1, -1), (2, 0, -1, 2, -1), (0, 1, 0, -2, -2)]
    draws = Draws(np.array([1.0, 1.0, 1.0, 2.0, 1.7]), np.ones(5, dtype=np.int64))
    _, many = chances(forms, np.array([[2.0, 3.0, 0.5, 1.7]]), draws)
    _, one = chances([(1,)], np.array([[-3.0]]), Draws(np.ones(1), np.ones(1, dtype=np.int64)))
    assert one[0] == pytest.approx(1000 * 2.0**-52)
    assert 1e-8 < many[0] < 1e-5
