"""Intervals computed by hand from tables of Student's law; no formula of the code is used."""

import math

import numpy as np
import pytest

from experiments import intervals

FIVE = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
TEN, HALF = np.array([8.0, 10.0, 12.0]), np.array([4.0, 5.0, 6.0])  # means 10 and 5, variances 4 and 1


def test_profiles_and_who_has_less_by_hand():
    """Shares 1/2 and 1 at the value 2: mean 3/4, deviation sqrt(1/4 / 4) / 2 = 1/8."""
    share, low, high = intervals.share_at_most([np.array([1.0, 2, 3, 4]), np.array([0.0, 2])], np.array([2.0]), 0.05)
    assert share.tolist() == [0.75]
    assert np.allclose([low, high], [[0.75 - 1.959964 / 8], [0.75 + 1.959964 / 8]])
    # Of the pairs (1 or 3, 2 or 3 or 4): 3 of 3 less, and (3, 2) no, (3, 3) half, (3, 4) yes: 4.5 of 6.
    first, second = np.array([1.0, 3]), np.array([2.0, 3, 4])
    found = intervals.probability_of_less([first], [second], 0.05)
    assert math.isclose(found.estimate, 0.75)
    # Placements (1, 1/2) and (1/2, 3/4, 1): variances 1/8 and 1/16, over 2 and 3 runs.
    assert math.isclose(found.low, 0.75 - 1.959964 * math.sqrt(1 / 16 + 1 / 48), rel_tol=1e-6)
    assert found.high == 1.0
    both = intervals.probability_of_less([first, second], [second, second], 0.05)
    assert math.isclose(both.estimate, (0.75 + 0.5) / 2)


def test_the_mean_of_five():
    """Deviation sqrt(10 / 4) = 1.5811388, Student's 97.5 % point for 4 degrees 2.7764451."""
    half = 2.7764451 * 1.5811388 / 2.2360680
    assert intervals.mean(FIVE, 0.05) == pytest.approx((3.0, 3 - half, 3 + half), rel=1e-7)
    assert intervals.half_width(1.5811388, 5, 0.01) == pytest.approx(4.6040949 * 1.5811388 / 2.2360680, rel=1e-7)
    assert intervals.mean(FIVE[:1], 0.05) == (1.0, -math.inf, math.inf)


def test_the_share_of_seven_in_ten():
    """Table of Clopper and Pearson: 7 of 10 at 95 %; none and all of 10 have one-sided ends."""
    found = intervals.share(np.arange(10) < 7, 0.05)
    assert found == pytest.approx((0.7, 0.3475471, 0.9332605), rel=1e-6)
    assert intervals.share(np.arange(10) < 0, 0.05) == pytest.approx((0, 0, 1 - 0.025**0.1))
    assert intervals.share(np.arange(10) < 10, 0.05) == pytest.approx((1, 0.025**0.1, 1))


def test_the_median_of_ten():
    """At most 1 of 10 is below the median with 11 / 1024 < 0.025, at most 2 with 56 / 1024: ranks 2 and 9."""
    values = np.array([7.0, 3, 10, 1, 9, 2, 8, 4, 6, 5])
    assert intervals.quantile(values, 0.5, 0.05) == (5.5, 2.0, 9.0)
    assert intervals.quantile(values, 0.5, 2 * 11 / 1024) == (5.5, 2.0, 9.0)  # just within the limit
    assert intervals.quantile(values, 0.5, 2 * 10 / 1024) == (5.5, 1.0, 10.0)
    assert intervals.quantile(values, 0.5, 1e-3) == (5.5, -math.inf, math.inf)  # 2 x 1 / 1024 is more
    low = intervals.quantile(values, 0.95, 0.05)  # 0.95^10 = 0.6: no upper end; fewer than 8 with a chance of 0.0115
    assert low[1:] == (8.0, math.inf)


def test_fiellers_ratio_of_ten_and_five():
    """Student's 97.5 % point for 2 degrees is 4.3026527, its square 18.5128205.

    a = 25 - 18.5128205 / 3 = 18.8290598, b = 50, c = 100 - 4 x 18.5128205 / 3 = 75.3162393,
    root of b^2 - a c = 1081.8660238: 32.8917318.
    """
    found = intervals.ratio(TEN, HALF, 0.05)
    assert found == pytest.approx((2.0, (50 - 32.8917318) / 18.8290598, (50 + 32.8917318) / 18.8290598), rel=1e-6)
    # the smaller of samples of 3 and 30 gives the degrees of freedom
    many = np.tile(HALF, 10)  # variance 20 / 29, over 30
    a = 25 - 18.5128205 * 20 / 29 / 30
    root = math.sqrt(2500 - a * 75.3162393)
    assert intervals.ratio(TEN, many, 0.05) == pytest.approx((2, (50 - root) / a, (50 + root) / a), rel=1e-6)


def test_fiellers_ratio_of_pairs():
    """Covariance of (8, 10, 12) and (4, 6, 5): (2 + 0 + 0) / 2 = 1; b = 50 - 18.5128205 / 3 = 43.8290598."""
    root = math.sqrt(43.8290598**2 - 18.8290598 * 75.3162393)
    expected = (2.0, (43.8290598 - root) / 18.8290598, (43.8290598 + root) / 18.8290598)
    assert intervals.paired_ratio(TEN, np.array([4.0, 6.0, 5.0]), 0.05) == pytest.approx(expected, rel=1e-6)


def test_fiellers_ratio_of_differences():
    """10 - 2 over 5 - 1: variances 4/3 + 1/3 and 1/3 + 1/3, times 18.5128205: 30.8547009 and 12.3418803."""
    found = intervals.difference_ratio((TEN, FIVE[:3]), (HALF, FIVE[:3] - 1), 0.05)
    root = math.sqrt(32**2 - (16 - 12.3418803) * (64 - 30.8547009))
    assert found == pytest.approx((2.0, (32 - root) / 3.6581197, (32 + root) / 3.6581197), rel=1e-6)


def test_the_slope_of_three_points():
    """log x = 0, 1, 2 and log y = 0, 1, 1: slope 1/2, residuals -1/6, 1/3, -1/6, standard error sqrt(1/6 / 2)."""
    x, y = np.exp([0.0, 1.0, 2.0]), np.exp([0.0, 1.0, 1.0])
    half = 12.7062047 * math.sqrt(1 / 12)  # one degree of freedom
    assert intervals.slope(x, y, 0.05) == pytest.approx((0.5, 0.5 - half, 0.5 + half), rel=1e-7)
    # standard errors as large as y: sqrt(1 + 0 + 1) / 2, more than the points show
    half = 12.7062047 * math.sqrt(2) / 2
    assert intervals.slope(x, y, 0.05, y) == pytest.approx((0.5, 0.5 - half, 0.5 + half), rel=1e-7)
    assert intervals.slope(x, y, 0.05, 1e-9 * y).high == pytest.approx(0.5 + 12.7062047 * math.sqrt(1 / 12))


def test_the_growth_over_three_octaves():
    """1, 2, 8, 16 at 1, 2, 4, 8: powers 1, 2, 1, mean 4/3, standard error sqrt(1/3 / 3) = 1/3, 2 degrees."""
    x, y = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 2.0, 8.0, 16.0])
    half = 4.3026527 / 3
    assert intervals.growth_by_octave(x, y, 0.05) == pytest.approx((4 / 3, 4 / 3 - half, 4 / 3 + half), rel=1e-7)
    # errors as large as y: the first and the last have weight 1/3 each, sqrt(2 / 9) / log 2 = 0.6800930
    found = intervals.growth_by_octave(x, y, 0.05, y)
    assert found.high == pytest.approx(4 / 3 + 4.3026527 * 0.6800930, rel=1e-7)


def test_an_estimate_is_what_its_values_allow():
    assert intervals.estimate(np.arange(10) < 7, 0.05).low == pytest.approx(0.3475471)
    assert intervals.estimate(FIVE[2:3], 0.05) == (3.0, 3.0, 3.0)
    assert intervals.estimate(FIVE, 0.05).high == pytest.approx(4.9632432)
