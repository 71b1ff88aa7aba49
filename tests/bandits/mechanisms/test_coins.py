"""Fair coins as noise: their exact delta, against a sum in integers, and how many are needed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from bandits import ParameterError
from bandits.mechanisms.coins import coins_delta, coins_needed, excess, first_term, last_above
from bandits.mechanisms.gaussian import gaussian_delta


def chances(coins):
    """P(Y = -1), P(Y = 0), ..., P(Y = coins), P(Y = coins + 1) as fractions."""
    return [Fraction(math.comb(coins, k) if 0 <= k <= coins else 0, 2**coins) for k in range(-1, coins + 2)]


@pytest.mark.parametrize("coins", [0, 1, 2, 5, 19, 20, 79, 80, 151])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 20.0])
def test_the_exact_delta_by_adding_up(coins, epsilon):
    law, ratio = chances(coins), Fraction(math.exp(epsilon))
    up = sum(max(law[k] - ratio * law[k - 1], 0) for k in range(1, coins + 2))
    down = sum(max(law[k - 1] - ratio * law[k], 0) for k in range(1, coins + 3))
    assert coins_delta(coins, epsilon) == pytest.approx(float(up), rel=1e-11, abs=0)
    assert coins_delta(coins, epsilon) == pytest.approx(float(down), rel=1e-11, abs=0)
    largest = max(k for k in range(coins + 1) if law[k + 1] > ratio * law[k])
    assert last_above(coins, epsilon) == largest


@pytest.mark.parametrize("heads", [-1, 0, 3, 8, 12, 13])
def test_the_excess_of_any_set_of_few_heads(heads):
    law, ratio = chances(12), Fraction(math.exp(0.4))
    expected = sum(law[k + 1] - ratio * law[k] for k in range(min(heads, 12) + 1))
    expected = expected if heads <= 12 else 1 - ratio
    assert excess(12, 0.4, heads) == pytest.approx(float(expected), rel=1e-11)


@pytest.mark.parametrize(("coins", "heads"), [(174_589, 81_000), (174_589, 87_000), (3001, 1500), (3001, 2900)])
def test_terms_that_are_left_out_do_not_count(coins, heads):
    k = np.arange(heads + 1)
    terms = binom.pmf(k, coins, 0.5) * (1 - math.exp(0.1) * (k / (coins - k + 1)))
    assert excess(coins, 0.1, heads) == pytest.approx(float(terms.sum()), rel=1e-12, abs=1e-300)


def test_few_terms_are_added_for_small_budgets():
    """For 1e-4 and 1e-100, 169 billion coins: with terms over 80 standard deviations this took minutes."""
    coins = 168_843_469_850
    heads = last_above(coins, 1e-4)
    assert heads - first_term(coins, heads) < 500_000
    assert coins_needed(1e-4, 1e-100) == coins


def test_80_coins_for_one_in_a_million():
    assert coins_needed(1.0, 1e-6) == 80
    assert coins_delta(80, 1.0) == pytest.approx(9.8336e-7, rel=1e-4)
    assert coins_delta(79, 1.0) > 1e-6
    assert coins_needed(20.0, 0.25) == 2  # 2^-N is delta at most


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6, 1e-12])
def test_the_least_number_of_coins(epsilon, delta):
    needed = coins_needed(epsilon, delta)
    assert coins_delta(needed, epsilon) <= delta < coins_delta(needed - 1, epsilon)
    assert needed <= 8 * math.log(1 / delta) / epsilon**2 + math.log2(1 / delta) + 1
    deltas = [coins_delta(coins, epsilon) for coins in range(1, 60)]
    assert all(one >= other * (1 - 1e-12) for one, other in itertools.pairwise(deltas))


def test_many_coins_are_normal_noise():
    """N coins have variance N / 4: 10^8 of them give Gaussian privacy of level 2 / sqrt(N)."""
    assert coins_delta(10**8, 1e-3) == pytest.approx(gaussian_delta(2e-4, 1e-3), rel=0.01)


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"), [(0.0, 0.1, "epsilon"), (1.0, 0.0, "delta"), (1.0, None, "delta")]
)
def test_what_is_refused(epsilon, delta, said):
    with pytest.raises(ParameterError, match=f"{said}: must be a number"):
        coins_needed(epsilon, delta)
