import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betainc, ndtr

from bandits import ParameterError
from bandits.mechanisms import start_phases
from bandits.mechanisms.start_phases import (
    beta_condition,
    beta_divergence,
    beta_exact,
    beta_paper,
    gauss_condition,
    gauss_exact,
    gauss_paper,
)
from bandits.policies.perturbed_leader import DPFTPLBeta

TENTH = math.exp(-10)
PAIRS = [(epsilon, delta) for epsilon in (1.0, 0.1) for delta in (0.01, 1e-3, TENTH, 1e-10)]
FUNCTIONS = [gauss_paper, gauss_exact, beta_paper, beta_exact]


def gauss_by_hand(count, epsilon):
    """sup of F - e^epsilon F' and of the same for 1 - F on a grid, from the definition."""
    scale = math.sqrt(2 / count)
    one, other = np.linspace(-12, 12, 20_001), np.linspace(-12, 12, 20_001) - 1 / (count * scale)
    pairs = [(ndtr(one), ndtr(other)), (ndtr(-one), ndtr(-other))]
    pairs += [pair[::-1] for pair in pairs]
    return max(float(np.max(one - math.exp(epsilon) * other)) for one, other in pairs)


def beta_by_hand(count, epsilon):
    """The same for all neighbouring sums R, R + 1."""
    k = count // 8 + 1
    x = (1 - np.cos(np.linspace(0, math.pi, 2001))) / 2
    total = np.arange(count + 1)[:, None]
    below = betainc(total + 1 + k, count - total + 1 + k, x)
    above = below[::-1, ::-1]  # Beta(a, b) is 1 - Beta(b, a), and 1 - x is in the grid too
    pairs = [(table[:-1], table[1:]) for table in (below, above)]
    pairs += [(other, one) for one, other in pairs]
    return max(float(np.max(one - math.exp(epsilon) * other)) for one, other in pairs)


def rational_divergence(a, b, epsilon):
    """F(x) - e^epsilon F'(x) at the rational number nearest to the maximum, in rational arithmetic."""
    x = Fraction(a / (a + b * math.exp(epsilon)))

    def distribution(a, b):  # Pr[Beta(a, b) <= x] = Pr[Binomial(a + b - 1, x) >= a]
        trials = a + b - 1
        return sum(math.comb(trials, i) * x**i * (1 - x) ** (trials - i) for i in range(a, trials + 1))

    return float(distribution(a, b + 1) - Fraction(math.exp(epsilon)) * distribution(a + 1, b))


def test_gauss_condition_is_the_definition():
    for count, epsilon in itertools.product([1, 2, 5, 46], [0.0, 0.1, 1.0]):
        assert gauss_condition(count, epsilon) == pytest.approx(gauss_by_hand(count, epsilon), rel=1e-6, abs=1e-12)


def test_beta_condition_is_the_definition():
    for count, epsilon in itertools.product([1, 2, 3, 7, 8, 15, 16, 33], [0.0, 0.3, 1.0]):
        assert beta_condition(count, epsilon) == pytest.approx(beta_by_hand(count, epsilon), rel=1e-4, abs=1e-12)


def test_gauss_condition_is_the_closed_form():
    for count in [1, 30, 10**4, 10**8]:
        m = 1 / math.sqrt(2 * count)
        for scaled in (0.0, 0.01, 1.0, 4.0):
            epsilon = scaled * m
            expected = ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m)
            assert gauss_condition(count, epsilon) == pytest.approx(expected, rel=1e-15 / (m * expected) + 1e-12)
        assert gauss_condition(count, 0.0) == pytest.approx(math.erf(m / math.sqrt(8)), rel=1e-13)


def test_beta_condition_searches_every_sum():
    """Against all R at once and scipy's incomplete beta function."""
    for epsilon, count in itertools.product([0.0, 1e-8, 0.01, 0.1, 1.0, 4.0], [1, 9, 97, 592, 3000]):
        k = count // 8 + 1
        a, b = np.arange(count) + 1.0 + k, count - np.arange(count) + 0.0 + k
        x = a / (a + b * math.exp(epsilon))
        divergence = betainc(a, b + 1, x) - math.exp(epsilon) * betainc(a + 1, b, x)
        assert beta_condition(count, epsilon) == pytest.approx(float(divergence.max()), rel=1e-8)
        np.testing.assert_allclose(beta_divergence(a, b, epsilon), divergence, rtol=1e-8, atol=1e-14)


def test_beta_divergence_against_rational_numbers():
    for epsilon, (a, b) in itertools.product(
        [0.0, 0.01, 0.1, 1.0, 10.0, 40.0], [(2, 2), (2, 9), (14, 109), (109, 14), (60, 90)]
    ):
        computed = float(beta_divergence(np.array([float(a)]), np.array([float(b)]), epsilon)[0])
        assert computed == pytest.approx(rational_divergence(a, b, epsilon), rel=1e-11)


def test_beta_divergence_of_many_pulls_is_that_of_a_normal_privacy_loss():
    """For large a, b the loss is Normal(m^2 / 2, m^2), m^2 = 1/a + 1/b, up to 1 / sqrt(a)."""
    for a in [1e9, 1e12, 1e16]:
        b = 9 * a
        m = math.sqrt(1 / a + 1 / b)
        for scaled in (0.0, 0.5, 3.0):
            computed = float(beta_divergence(np.array([a]), np.array([b]), scaled * m)[0])
            assert computed == pytest.approx(
                gauss_condition(1 / (2 * m * m), scaled * m), rel=20 / math.sqrt(a) + 1e-11
            )


def test_beta_divergence_falls_with_both_parameters():
    """The monotone search and its bound rest on this."""
    for epsilon in [0.0, 0.05, 1.0, 6.0]:
        a, b = (axis.ravel() for axis in np.meshgrid(np.arange(2.0, 60), np.arange(2.0, 60), indexing="ij"))
        table = beta_divergence(a, b, epsilon).reshape(58, 58)
        assert np.all(np.diff(table, axis=0) < 0)
        assert np.all(np.diff(table, axis=1) < 0)


@pytest.mark.slow
def test_conditions_never_rise_with_the_count():
    for epsilon in [0.0, 0.1, 1.0]:
        for condition in (gauss_condition, beta_condition):
            profile = [condition(count, epsilon) for count in range(1, 130)]
            assert np.all(np.diff(profile) < 0)


@pytest.mark.parametrize(("exact", "condition"), [(gauss_exact, gauss_condition), (beta_exact, beta_condition)])
def test_exact_is_the_first_count_that_satisfies_lemma_8(exact, condition):
    for epsilon, delta in [*PAIRS, (0.0, 0.01), (0.0, 1e-3), (3.0, 1e-8), (0.01, 0.02)]:
        count = exact(epsilon, delta)
        assert condition(count, epsilon) <= delta
        assert count == 1 or condition(count - 1, epsilon) > delta


def test_exact_by_the_definition():
    """From the definition, for every count from 1 to well above the answer."""
    for epsilon, delta in [(1.0, 0.01), (0.5, 0.1), (0.0, 0.2)]:
        for exact, by_hand in ((gauss_exact, gauss_by_hand), (beta_exact, beta_by_hand)):
            count = exact(epsilon, delta)
            satisfied = [by_hand(n, epsilon) <= delta for n in range(1, count + 10)]
            assert satisfied == [False] * (count - 1) + [True] * 10


def test_values():
    table = [tuple(function(epsilon, delta) for function in FUNCTIONS) for epsilon, delta in PAIRS]
    assert table == [
        (8, 2, 592, 32),
        (13, 4, 1047, 64),
        (19, 6, 1658, 120),
        (45, 18, 4231, 384),
        (768, 46, 38456, 816),
        (1229, 152, 104659, 2752),
        (1847, 358, 165740, 6512),
        (4453, 1470, 423041, 26811),
    ]


def test_every_branch_of_the_papers_formulas():
    def gauss(epsilon, delta):
        first = 1 / (4 * math.pi * delta**2)
        return first, math.log(math.e * first) / epsilon**2

    def betas(epsilon, delta):
        first, second = 40 * math.e / (9 * math.pi * delta**2), 8000 * math.log(1 / (25 * delta**2)) / (81 * epsilon**2)
        return first, second, 1000 * math.e / (9 * math.pi)

    first, second = gauss(1, 0.01)
    assert second == pytest.approx(7.68, abs=0.005)
    assert second < first
    assert gauss_paper(1, 0.01) == 8
    assert gauss(1, TENTH)[1] == pytest.approx(18.47, abs=0.005)
    first, second = gauss(0.1, 0.01)
    assert 767 < second < 768 < first
    first, second = gauss(0.05, 0.01)
    assert first < second
    assert gauss_paper(0.05, 0.01) == gauss_paper(0, 0.01) == math.ceil(first) == 796
    assert gauss_paper(1, 0.6) == 1  # a negative logarithm

    first, second, least = betas(1, 0.01)
    assert least < second < first
    assert beta_paper(1, 0.01) == math.ceil(second) == 592
    first, second, least = betas(0.1, 0.01)
    assert least < first < second
    assert beta_paper(0.1, 0.01) == beta_paper(0, 0.01) == math.ceil(first) == 38456
    assert beta_paper(1, TENTH) == math.ceil(betas(1, TENTH)[1]) == 1658
    first, second, least = betas(3, 0.05)
    assert second < least
    assert beta_paper(3, 0.05) == beta_paper(1, 0.5) == math.ceil(least) == 97
    assert gauss_paper(1, 1e-300) == math.ceil(1 - math.log(4 * math.pi) + 600 * math.log(10))


@pytest.mark.slow
def test_the_papers_start_phases_are_enough_and_far_too_long():
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 1.8):
        for delta in (0.5, 0.1, 0.01, 1e-4, 1e-10, 1e-60):
            if epsilon or delta > 1e-9:
                assert gauss_exact(epsilon, delta) <= gauss_paper(epsilon, delta)
                assert beta_exact(epsilon, delta) <= beta_paper(epsilon, delta)


@pytest.mark.slow
def test_the_papers_bound_for_beta_fails_for_large_epsilon():
    """Rational arithmetic: after N_B = 97 pulls, at most one of them a success, (40, 1e-300) does not hold."""
    assert beta_paper(40.0, 1e-300) == 97
    k = 97 // 8 + 1
    assert rational_divergence(1 + k, 97 + k, 40.0) > 1e-239
    assert beta_exact(40.0, 1e-300) == 128
    k = 128 // 8 + 1
    assert rational_divergence(1 + k, 128 + k, 40.0) <= 1e-300
    k = 127 // 8 + 1
    assert rational_divergence(1 + k, 127 + k, 40.0) > 1e-300


def test_the_search_finds_sums_inside(monkeypatch):
    """Branch and bound needs only that the divergence falls in both arguments, not the position of the worst sum."""

    def fake(a, b, epsilon):  # the k of 1000 pulls is 126; largest where a - b is about 300
        return np.exp(-np.maximum(a - 800, 0) / 100 - np.maximum(b - 500, 0) / 100 - (a + b) / 1e4)

    k = 126
    total = np.arange(1000.0)
    expected = float(fake(total + 1 + k, 1000 - total + k, 1.0).max())
    monkeypatch.setattr(start_phases, "beta_divergence", fake)
    assert beta_condition(1000, 1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_start_phases_are_kept():
    for function in FUNCTIONS:
        function.cache_clear()
    for epsilon, delta in [*PAIRS, (0.0, 1e-10), (1e-6, 1e-10), (1e-15, 1e-30)]:
        beta_exact(epsilon, delta)
        gauss_exact(epsilon, delta)
    assert beta_exact(1.0, 0.01) == 32
    assert beta_exact.cache_info().hits == gauss_exact.cache_info().hits + 1 == 1


def test_refuses():
    for function in FUNCTIONS:
        with pytest.raises(ParameterError, match="DP-FTPL-New"):
            function(1.0, 0.0)
        for epsilon, delta, field in [
            (1, 1, "delta"),
            (1, -0.1, "delta"),
            (1, math.nan, "delta"),
            (-1, 0.1, "epsilon"),
        ]:
            with pytest.raises(ParameterError, match=field):
                function(epsilon, delta)
        with pytest.raises(ParameterError, match="epsilon"):
            function(math.inf, 0.1)
        with pytest.raises(ParameterError, match="so small"):
            function(0.0, 1e-200)


def test_conditions_refuse():
    for condition in [gauss_condition, beta_condition]:
        with pytest.raises(ParameterError, match="count"):
            condition(0, 1.0)
        with pytest.raises(ParameterError, match="epsilon"):
            condition(1, -1.0)


def test_a_printed_start_phase_that_is_too_short_is_not_used():
    """For (40, 1e-300) the paper's 97 pulls leave a delta of more than 1e-300; the policy takes 128."""
    assert beta_condition(beta_paper(40, 1e-300), 40) > 1e-300
    policy = DPFTPLBeta(40, 1e-300)
    assert policy.start == beta_exact(40, 1e-300) == 128
    assert beta_condition(policy.start, 40) <= 1e-300
    assert DPFTPLBeta(1, 0.01).start == beta_paper(1, 0.01)
