import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from bandits import ParameterError
from bandits.mechanisms.truncated_laplace import TruncatedLaplace, offset, optimistic_center, tail_constant, upper_tail
from bandits.seeds import stream

LAWS = [
    TruncatedLaplace(epsilon, delta, count, center)
    for epsilon, delta, count, center in [
        (1.0, 0.01, 1, 0.0),
        (1.0, math.exp(-10), 40, 0.7),
        (0.1, 0.01, 7, -2.0),
        (0.1, 0.0, 7, 0.3),
        (0.0, 0.01, 3, 0.5),
        (1e-15, 1e-3, 20, 0.2),
        (1e-9, 1e-9, 1000, 0.2),
        (5.0, 0.9, 2, 0.1),
        (30.0, 1e-300, 11, 0.0),
        (900.0, 1e-300, 5, 1.0),
    ]
]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.epsilon},{law.delta}")


def textbook_cdf(x, epsilon, delta, count, center):
    """Lemma 15 as it is printed."""
    c = delta / (math.exp(epsilon) - 1)
    width = math.log((math.exp(epsilon) - 1) / (2 * delta) + 1) / (count * epsilon)
    if abs(x - center) > width:
        return float(x > center)
    tail = (0.5 + c) * math.exp(-count * epsilon * abs(x - center)) - c
    return tail if x < center else 1 - tail


def test_cdf_is_that_of_lemma_15():
    for law in LAWS[:3]:
        x = law.center + law.half_width * np.linspace(-1.2, 1.2, 101)
        expected = [textbook_cdf(value, law.epsilon, law.delta, law.count, law.center) for value in x]
        np.testing.assert_allclose(law.cdf(x), expected, rtol=1e-12, atol=1e-15)


@each_law
def test_density_is_the_derivative_of_cdf_and_integrates_to_one(law):
    width = min(law.half_width, 40 / (law.count * law.epsilon) if law.epsilon else math.inf)
    x = law.center + width * np.array([-0.9, -0.5, -0.1, 0.1, 0.5, 0.9])
    step = 1e-5 * width
    slope = (law.cdf(x + step) - law.cdf(x - step)) / (2 * step)
    np.testing.assert_allclose(law.pdf(x), slope, rtol=1e-5, atol=1e-6 / width)
    halves = [quad(lambda y, sign=sign: float(law.pdf(law.center + sign * y)), 0, width)[0] for sign in (-1, 1)]
    np.testing.assert_allclose(halves, 0.5, rtol=1e-8)


def test_support():
    for law in LAWS:
        if law.delta == 0:
            assert math.isinf(law.half_width)
            continue
        edges = law.center + law.half_width * np.array([-1 - 1e-9, 1 + 1e-9])
        np.testing.assert_array_equal(law.cdf(edges), [0, 1])
        np.testing.assert_array_equal(law.pdf(edges), 0)
        inside = law.center + law.half_width * np.array([-1 + 1e-6, 1 - 1e-6])
        if law.delta > 1e-200:
            assert law.cdf(inside)[0] > 0
            assert law.cdf(inside)[1] <= 1
        # Relative to the width of the support, the extreme quantiles are its edges.
        np.testing.assert_allclose(law.inverse([0, 1]) - law.center, law.half_width * np.array([-1, 1]), rtol=1e-9)


def test_inverse_undoes_cdf():
    for law in LAWS:
        level = np.array([[0.001, 0.1, 0.3], [0.5, 0.9, 0.999]])
        np.testing.assert_allclose(law.cdf(law.inverse(level)), level, rtol=1e-9)
        assert law.inverse(0.5) == law.center
        with pytest.raises(ValueError, match="level"):
            law.inverse([0.5, 1.1])


def test_deep_quantiles_keep_their_precision():
    law = TruncatedLaplace(1.0, 0.0, 1, 0.0)
    np.testing.assert_allclose(law.inverse([1e-3, 1e-100, 1e-300]), np.log([2e-3, 2e-100, 2e-300]), rtol=1e-14)
    np.testing.assert_allclose(law.cdf(-np.array([1.0, 100, 500])), np.exp([-1.0, -100, -500]) / 2, rtol=1e-12)
    assert law.inverse(0.0) == -math.inf


def test_no_epsilon_is_the_limit_of_small_epsilon():
    for delta in [0.3, 1e-3, 1e-12]:
        uniform = TruncatedLaplace(0.0, delta, 5, 0.25)
        assert uniform.half_width == pytest.approx(1 / (10 * delta), rel=1e-15)
        x = 0.25 + uniform.half_width * np.array([-0.99, -0.5, -1e-3, 0.0, 0.2, 0.99])
        np.testing.assert_allclose(uniform.pdf(x), 5 * delta, rtol=1e-15)
        np.testing.assert_allclose(uniform.cdf(x), 0.5 + 5 * delta * (x - 0.25), rtol=1e-12)
        for epsilon in (1e-15, 1e-30, 1e-110, 1e-130, 5e-324):  # also where e^epsilon - 1 and c leave double precision
            near = TruncatedLaplace(epsilon, delta, 5, 0.25)
            np.testing.assert_allclose(near.half_width, uniform.half_width, rtol=1e-3 if epsilon == 1e-15 else 1e-14)
            np.testing.assert_allclose(near.cdf(x), uniform.cdf(x), atol=1e-3 if epsilon == 1e-15 else 1e-14)
            np.testing.assert_allclose(near.pdf(x), uniform.pdf(x), rtol=1e-3 if epsilon == 1e-15 else 1e-14)
            level = np.array([0.01, 0.3, 0.5, 0.8])
            np.testing.assert_allclose(
                near.inverse(level), uniform.inverse(level), rtol=1e-3 if epsilon == 1e-15 else 1e-13
            )


def test_no_delta_is_the_limit_of_small_delta_and_laplace():
    for epsilon in [1e-12, 0.01, 1.0, 50.0, 1000.0]:
        x = 3.0 + np.array([-2.0, -0.3, 0.0, 0.3, 2.0]) / (4 * epsilon)
        plain = TruncatedLaplace(epsilon, 0.0, 4, 3.0)
        distance = 4 * epsilon * np.abs(x - 3)
        np.testing.assert_allclose(plain.pdf(x), 2 * epsilon * np.exp(-distance), rtol=1e-13)
        near = TruncatedLaplace(epsilon, 1e-300, 4, 3.0)
        np.testing.assert_allclose(near.pdf(x), plain.pdf(x), rtol=1e-13)
        np.testing.assert_allclose(near.cdf(x), plain.cdf(x), rtol=1e-13)


def test_stable_over_the_whole_range():
    for scaled, delta in itertools.product([1e-12, 1e-6, 1e-2, 1.0, 30.0, 1e3, 1e6], [0.0, 1e-300, 1e-10, 0.1]):
        for count in (1, 1000):
            law = TruncatedLaplace(scaled / count, delta, count, 0.0)
            level = np.linspace(0.001, 0.999, 41)
            x = law.inverse(level)
            assert np.all(np.isfinite(x))
            assert np.all(np.diff(x) > 0)
            np.testing.assert_allclose(x, -x[::-1], rtol=1e-9, atol=1e-9 * x[-1])
            np.testing.assert_allclose(law.cdf(x), level, rtol=1e-9)
            assert np.all(law.pdf(x) > 0)


def test_half_width_at_large_and_small_arguments():
    """log((e^epsilon - 1) / (2 delta) + 1) / epsilon, in logarithms where e^epsilon or its quotient overflow."""
    for epsilon, delta in [(0.5, 1e-3), (20.0, 1e-10), (38.0, 1e-2), (100.0, 0.4), (200.0, 1e-40)]:
        expected = math.log(math.expm1(epsilon) / (2 * delta) + 1) / epsilon / 9
        assert TruncatedLaplace(epsilon, delta, 9, 0.0).half_width == pytest.approx(expected, rel=1e-13)
    expected = (1000 + 300 * math.log(10) - math.log(2)) / 1000
    assert TruncatedLaplace(1000.0, 1e-300, 1, 0.0).half_width == pytest.approx(expected, rel=1e-13)


def test_lemma_8_is_met_with_equality():
    """One reward moves the center by 1 / N: where both laws have mass on one side, the condition is an equality."""
    for law in LAWS[:-1]:
        step = 1 / law.count
        other = TruncatedLaplace(law.epsilon, law.delta, law.count, law.center + step)
        width = min(law.half_width, 50 / (law.count * law.epsilon) if law.epsilon else math.inf)
        factor = math.exp(law.epsilon)
        if law.delta <= 0.5:  # otherwise the center of one law is outside the support of the other
            distance = np.linspace(0, width - step, 50)
            lower = law.center - distance
            np.testing.assert_allclose(law.cdf(lower), factor * other.cdf(lower) + law.delta, rtol=1e-9, atol=1e-15)
            # Above, 1 - F' = e^epsilon (1 - F) + delta; 1 - F(center + d) as F(center - d), which does not cancel.
            far, near = law.cdf(law.center - step - distance), law.cdf(law.center - distance)
            np.testing.assert_allclose(near, factor * far + law.delta, rtol=1e-9, atol=1e-15)
        everywhere = law.center + np.linspace(-1.2 * width, 1.2 * width + step, 400)
        one, another = law.cdf(everywhere), other.cdf(everywhere)
        assert np.all(one <= factor * another + law.delta + 1e-12)
        assert np.all(1 - another <= factor * (1 - one) + law.delta + 1e-12 * factor)


def test_no_set_of_draws_tells_neighbours_apart():
    """Lemma 15 speaks of intervals; the divergence over all sets, the integral of (f - e^epsilon f')+, is delta too."""
    for epsilon, delta in [(1.0, 0.01), (0.1, 0.01), (0.0, 0.1), (3.0, 0.6), (0.5, 1e-6)]:
        law, other = (TruncatedLaplace(epsilon, delta, 4, center) for center in (0.0, 0.25))
        ends = [-law.half_width, other.center - other.half_width, 0.0, 0.25, law.half_width]
        x = np.concatenate([np.linspace(a, b, 200_001)[:-1] + (b - a) / 400_000 for a, b in pairwise(ends)])
        widths = np.repeat(np.diff(ends) / 200_000, 200_000)
        # Where the densities are proportional their difference is 0 up to rounding.
        excess = law.pdf(x) * (1 - 1e-9) - math.exp(epsilon) * other.pdf(x)
        divergence = float((np.maximum(excess, 0) * widths).sum())
        if delta <= 0.5:
            assert divergence == pytest.approx(delta, rel=1e-5)
        else:  # the center of one law is outside the support of the other
            assert 0.9 * delta < divergence < delta


def test_draws_have_the_law(failure):
    for law in LAWS:
        rng = stream("truncated laplace", 0)
        draws = np.array([law.sample(rng) for _ in range(4000)])
        assert kstest(draws, law.cdf).pvalue > failure


def test_offset_is_the_compiled_quantile_of_one_reward():
    for law in LAWS:
        constant = tail_constant(law.epsilon, law.delta)
        for uniform in (0.01, 0.4, 0.5, 0.77):
            x = law.center + offset(uniform, law.epsilon, law.delta, constant) / law.count
            assert x == law.inverse(uniform)
            assert offset.py_func(uniform, law.epsilon, law.delta, constant) == pytest.approx(
                offset(uniform, law.epsilon, law.delta, constant), rel=1e-14
            )


def test_center_makes_shortfalls_as_rare_as_one_in_the_horizon():
    for epsilon, delta in [(1.0, 0.01), (0.1, math.exp(-10)), (0.3, 0.0), (0.0, 0.01), (800.0, 0.1)]:
        for count, horizon in [(1, 1e5), (50, 1e5), (50, 10)]:
            center = optimistic_center(0.4, count, horizon, epsilon, delta)
            law = TruncatedLaplace(epsilon, delta, count, center)
            assert law.cdf(0.4 + math.sqrt(math.log(horizon) / count)) == pytest.approx(1 / horizon, rel=1e-8)


def test_center_as_printed_and_its_limit():
    growth, horizon, delta = math.e - 1, 1e5, 0.01
    last = math.log((horizon * growth + 2 * horizon * delta) / (2 * growth + 2 * horizon * delta)) / 40
    expected = 0.25 + math.sqrt(math.log(horizon) / 40) + last
    assert optimistic_center(0.25, 40, horizon, 1.0, delta) == pytest.approx(expected, rel=1e-14)
    limit = 0.25 + math.sqrt(math.log(horizon) / 40) + (horizon - 2) / (2 * horizon * delta * 40)
    assert optimistic_center(0.25, 40, horizon, 0.0, delta) == pytest.approx(limit, rel=1e-14)
    for epsilon in (1e-13, 1e-30, 1e-110, 5e-324):
        assert optimistic_center(0.25, 40, horizon, epsilon, delta) == pytest.approx(limit, rel=1e-10)


def test_refuses():
    for field, value in [
        *[("epsilon", -0.1), ("epsilon", math.inf), ("epsilon", math.nan), ("delta", -0.1), ("delta", 1.0)],
        *[("delta", math.nan), ("count", 0), ("count", math.nan), ("center", math.inf)],
    ]:
        good = {"epsilon": 1.0, "delta": 0.1, "count": 3, "center": 0.5}
        with pytest.raises(ParameterError, match=field):
            TruncatedLaplace(**{**good, field: value})
        if field in ("epsilon", "delta"):
            with pytest.raises(ParameterError, match=field):
                optimistic_center(0.5, 3, 100, **{"epsilon": 1.0, "delta": 0.1, field: value})


def test_refuses_no_budget_at_all_and_bad_horizons():
    with pytest.raises(ParameterError, match="delta"):
        TruncatedLaplace(0.0, 0.0, 1, 0.0)
    with pytest.raises(ParameterError, match="horizon"):
        optimistic_center(0.5, 3, 0.5, 1.0, 0.1)
    with pytest.raises(ParameterError, match="count"):
        optimistic_center(0.5, 0, 10, 1.0, 0.1)


def test_compiled_tail_is_the_cdfs():
    for epsilon, delta in [(1.0, 0.01), (1.0, 0.0), (0.0, 0.1), (1e-12, 1e-3), (5.0, 1e-300)]:
        law = TruncatedLaplace(epsilon, delta, 1.0, 0.0)
        constant = tail_constant(epsilon, delta)
        for distance in (-2.0, -0.3, 0.0, 1e-9, 0.7, 3.0, 40.0):
            tail = upper_tail(distance, epsilon, delta, constant)
            assert math.isclose(tail, 1 - float(law.cdf(distance)), rel_tol=1e-9, abs_tol=1e-15)
