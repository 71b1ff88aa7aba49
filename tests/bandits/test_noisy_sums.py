"""Costs of noisy sums (noisy_sums.md, 8.1): against searches, closed forms and exact probabilities."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom

from bandits.divergences import private_divergence
from bandits.noisy_sums import cost_above, cost_below, cost_of_order, highest_mean, level_of_two, slopes_above
from bandits.seeds import stream
from tests.plain_loops.batches import exact_end
from tests.plain_loops.top_two import searched_cost, searched_order

SUMS = [  # total, count, batches, mean, epsilon
    (7.0, 10.0, 1.0, 0.3, 1.0),
    (7.0, 10.0, 4.0, 0.3, 0.2),
    (14.5, 10.0, 2.0, 0.9, 0.7),  # above all rewards
    (-1.0, 10.0, 1.0, 0.0, 2.0),
    (3.0, 10.0, 1.0, 0.0, 2.0),
    (12.0, 10.0, 1.0, 1.0, 2.0),
    (60_300.0, 100_000.0, 12.0, 0.6, 0.05),
    (55.0, 100.0, 3.0, 0.5, 40.0),
    (0.5, 1.0, 1.0, 2.0**-30, 50.0),  # 1 minus it has no rounding
    (3.5, 3.0, 1.0, 2.0**-30, 50.0),
]


@pytest.mark.parametrize("given", SUMS, ids=str)
def test_costs_are_suprema(given):
    total, count, batches, mean, epsilon = given
    assert cost_above(*given) == pytest.approx(searched_cost(*given), rel=1e-8, abs=1e-12)
    assert cost_below(count - total, count, batches, 1 - mean, epsilon) == pytest.approx(cost_above(*given), rel=1e-9)


def test_costs_by_hand():
    # Only noise counts at u = 0 with one batch: sup of 3 x + log(1 - x^2), at x^2 + 2 x / 3 = 1: x = (sqrt(10) - 1) / 3
    x = (math.sqrt(10) - 1) / 3
    assert cost_above(3.0, 5.0, 1.0, 0.0, 1.0) == pytest.approx(3 * x + math.log(1 - x * x), rel=1e-12)
    # two batches: sup of 3 x + 2 log(1 - x^2), at x^2 + 4 x / 3 = 1: x = (sqrt(13) - 2) / 3
    x = (math.sqrt(13) - 2) / 3
    assert cost_above(3.0, 5.0, 2.0, 0.0, 1.0) == pytest.approx(3 * x + 2 * math.log(1 - x * x), rel=1e-12)
    assert cost_above(2.0, 10.0, 1.0, 0.2, 1.0) == 0
    assert cost_above(2.0, 10.0, 1.0, 0.3, 1.0) == 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 50.0])
def test_without_noise_a_cost_is_the_private_divergence(epsilon):
    for x, y in [(0.7, 0.2), (0.3, 0.29), (1.0, 0.5), (0.6, 0.5), (0.999, 1e-3), (0.2, 0.0)]:
        assert cost_above(x, 1.0, 0.0, y, epsilon) == pytest.approx(private_divergence(x, y, epsilon), rel=1e-9)
        assert cost_below(1 - x, 1.0, 0.0, 1 - y, epsilon) == pytest.approx(private_divergence(x, y, epsilon), rel=1e-9)


def laplace_tail(x, batches):
    """P(the sum of 1 or 2 standard Laplace variables > x): e^-x / 2, or (2 + x) e^-x / 4, for x >= 0."""
    at = abs(x)
    tail = math.exp(-at) / 2 if batches == 1 else (2 + at) * math.exp(-at) / 4
    return tail if x >= 0 else 1 - tail


@pytest.mark.parametrize(("count", "mean", "epsilon"), [(1, 0.5, 1.0), (4, 0.2, 0.3), (9, 0.7, 2.0), (3, 0.01, 5.0)])
def test_a_cost_of_c_has_probability_at_most_exp_minus_c(count, mean, epsilon):
    """By convolution; for a slightly larger cost this fails, so the exponent is exact."""
    for batches, c in itertools.product((1, 2), (0.5, 2.0, 6.0, 40.0)):
        least = brentq(
            lambda s, m=batches, c=c: cost_above(s, count, m, mean, epsilon) - c, count * mean, 1e4 / epsilon
        )
        reward = binom.pmf(np.arange(count + 1), count, mean)
        chance = sum(p * laplace_tail(epsilon * (least - s), batches) for s, p in enumerate(reward))
        assert chance <= math.exp(-c)
        assert chance >= math.exp(-1.25 * c - 3)


@pytest.mark.parametrize("given", SUMS, ids=str)
def test_slopes_are_those_of_costs(given):
    total, count, batches, mean, epsilon = given
    mean = min(max(mean, 0.01), 0.99)
    first, second = slopes_above(total, count, batches, mean, epsilon)
    step = 1e-6
    ends = [mean - step, mean + step]
    below, above = (cost_above(total, count, batches, u, epsilon) for u in ends)
    assert first == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)
    below, above = (slopes_above(total, count, batches, u, epsilon)[0] for u in ends)
    assert second == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)


def test_an_order_costs_the_least_of_both():
    for first, second, epsilon in [
        ((70.0, 100.0, 2.0), (40.0, 80.0, 1.0), 0.5),
        ((110.0, 100.0, 2.0), (-5.0, 80.0, 1.0), 0.1),  # means beyond [0, 1]
        ((11.0, 10.0, 1.0), (15.0, 14.0, 3.0), 0.2),  # both above 1
        ((-3.0, 10.0, 1.0), (-7.0, 14.0, 3.0), 0.2),
        ((5_100.0, 10_000.0, 6.0), (4_800.0, 10_000.0, 6.0), 3.0),
    ]:
        found = cost_of_order(first, second, epsilon)
        assert found == pytest.approx(searched_order(first, second, epsilon), rel=1e-5)
        assert found > 0
        assert cost_of_order(second, first, epsilon) == 0


def test_the_least_of_both_is_found_to_many_digits():
    """Against a search between both means of plain costs, which has the digits of a minimum."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        epsilon = float(rng.choice([0.03, 0.3, 3.0, 30.0]))
        counts = np.ceil(4 / epsilon) * 2.0 ** rng.integers(0, 12, 2)
        batches = rng.integers(1, 12, 2).astype(float)
        sums = rng.binomial(counts.astype(int), rng.random(2)) + rng.laplace(scale=2 / epsilon, size=2)
        one, other = ((float(s), float(n), float(m)) for s, n, m in zip(sums, counts, batches, strict=True))
        first, second = (one, other) if one[0] / one[1] > other[0] / other[1] else (other, one)

        def both(mean, first=first, second=second, epsilon=epsilon):
            return cost_above(*first, mean, epsilon) + cost_below(*second, mean, epsilon)

        ends = np.clip([second[0] / second[1], first[0] / first[1]], 0, 1)
        least = minimize_scalar(both, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun
        found = cost_of_order(first, second, epsilon)
        assert found <= min(least, both(ends[0]), both(ends[1])) * (1 + 1e-10) + 1e-10
        assert found == pytest.approx(min(least, both(ends[0]), both(ends[1])), rel=1e-6, abs=1e-10)


def test_highest_means_are_inverse():
    for (total, count, batches, _, epsilon), level in itertools.product(SUMS, (0.3, 2.0, 20.0)):
        highest = highest_mean(total, count, batches, level, epsilon)
        if highest < 1:
            if highest > 0:
                assert cost_below(total, count, batches, highest, epsilon) == pytest.approx(level, rel=1e-6)
            assert cost_below(total, count, batches, min(1.0, highest + 1e-9), epsilon) > level * (1 - 1e-6)
        else:
            assert cost_below(total, count, batches, 1 - 1e-12, epsilon) <= level
    assert highest_mean(-40.0, 10.0, 1.0, 2.0, 1.0) == 0  # even a mean of 0 costs more: about 40 - log(40)
    assert highest_mean(9.0, 10.0, 1.0, 2.0, 1.0) == 1
    # a sum of -3 costs 3 x + log(1 - x^2) = 1.429362 at a mean of 0, x = (sqrt(10) - 1) / 3
    assert highest_mean(-3.0, 10.0, 1.0, 1.4293, 1.0) == 0
    assert 0 < highest_mean(-3.0, 10.0, 1.0, 1.4294, 1.0) < 1e-4


def test_highest_means_by_bisection():
    """Every number within 1e-12; only a mean below what is needed may be replaced, by an upper bound below that."""
    rng = stream("highest means", 0)
    for _ in range(300):
        count, batches = math.ceil(10 ** rng.uniform(0, 9)), int(rng.integers(1, 50))
        epsilon, level = 10 ** rng.uniform(-2, 1.5), math.log(10 ** rng.uniform(0.3, 9))
        total = rng.binomial(count, rng.random()) + rng.laplace(scale=2 / epsilon, size=batches).sum()
        wanted = exact_end(total, count, batches, level, epsilon)
        found = highest_mean(total, count, batches, level, epsilon)
        assert found == pytest.approx(wanted, rel=0, abs=1e-8)
        assert highest_mean(total, count, batches, level, epsilon, found) == found
        if 0 < found < 0.99:
            assert found <= highest_mean(total, count, batches, level, epsilon, found + 0.01) < found + 0.01
    # of so many rewards the mean is known, and the best x is as close to 0 as it can be
    assert highest_mean(1e18, 4e18, 1.0, 20.0, 700.0) == pytest.approx(0.25, abs=1e-8)


def test_the_level_of_two_costs():
    for c in (1e-3, 0.5, 2.0, 30.0, 700.0):
        assert level_of_two(math.log1p(c) - c) == pytest.approx(c, rel=1e-9)
