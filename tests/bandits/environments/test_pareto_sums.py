import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.stats import ks_2samp

from bandits.environments import pareto_sums, tabulated_sums
from bandits.environments.heavy_tails import S1, S3
from bandits.environments.pareto_sums import (
    TOTAL_VARIATION,
    _centred_log_transform,
    _edges,
    law_of_pareto_sum,
    truncated_moments,
    truncated_pareto_sum,
    walked_sum,
)
from bandits.policies.heavy_tailed import DPRSE, LDPRSE
from bandits.seeds import stream


def epochs():
    """Scale, shape, bound and number of terms of the sums in DPRSE and LDPRSE, from small epochs to huge ones."""
    for policy in (DPRSE(0.5, "scaled"), DPRSE(1.0), LDPRSE(5.0, "scaled"), LDPRSE(20.0)):
        for instance in (S1(0.5), S3(0.9)):
            for number in (1, 2, 4):
                epoch = policy.epoch(instance, 5, number, 10**8)
                for arm in (0, 4):
                    yield float(instance.scales[arm]), instance.tail_index, epoch.truncation, epoch.rounds


CASES = [case for case in epochs() if case[3] > 2_000]


def test_a_walked_sum_by_hand():
    """Rewards 1/2, 1 and 1.8 = 1/2 times 1, 2 and 3.6; the last is above the bound."""
    draws = iter([0.0, 1.5 * math.log(2), 1.5 * math.log(3.6)])
    rng = SimpleNamespace(standard_exponential=lambda: next(draws))
    assert walked_sum.py_func(0.5, 1.5, 1.01, 3, rng) == pytest.approx(1.5, rel=1e-15)


def test_truncated_moments():
    rng = stream("moments", 0)
    x = 0.3 * np.exp(rng.standard_exponential(10**6) / 1.55)
    x = np.where(x <= 20, x, 0)
    first, second = truncated_moments(0.3, 1.55, 20.0)
    assert math.isclose(first, x.mean(), rel_tol=0.01)
    assert math.isclose(second, (x**2).mean(), rel_tol=0.02)
    assert math.isclose(truncated_moments(0.3, 2.0, 20.0)[1], truncated_moments(0.3, 2 - 1e-6, 20.0)[1], rel_tol=1e-4)


@pytest.mark.parametrize(("scale", "shape", "bound"), [(0.5, 1.5, 20.0), (0.1, 2.7, 3.0), (0.02, 1.05, 500.0)])
def test_the_transform_of_a_reward_is_that_of_a_quadrature(scale, shape, bound):
    """log E exp(i f Y) - i f E Y from Simpson's rule in log x, for each of three frequencies."""
    log_x = np.linspace(math.log(scale), math.log(bound), 200_001)
    probability = shape * scale**shape * np.exp(-shape * log_x)
    for frequency in (0.01, 0.3, 2.0):
        kept = simpson(np.exp(1j * frequency * np.exp(log_x)) * probability, x=log_x)
        mean = simpson(np.exp(log_x) * probability, x=log_x)
        expected = np.log((scale / bound) ** shape + kept) - 1j * frequency * mean
        (transform,) = _centred_log_transform(scale, shape, bound, np.array([frequency]))
        assert abs(transform - expected) < 1e-12 * max(1, abs(expected))


def test_panels_end_at_the_ends_and_are_narrow():
    edges = _edges(np.array([1e-7, 3.0, 4.9, 77.7]))
    assert set(edges) >= {1e-7, 3.0, 4.9, 77.7}
    assert (edges[0], edges[-1]) == (1e-7, 77.7)
    widths, begins = np.diff(edges), edges[:-1]
    assert (widths > 0).all()
    assert (widths <= np.minimum(0.5, np.expm1(0.1) * np.maximum(begins, 0)) * (1 + 1e-9) + (begins > 4.5) * 0.03).all()


@pytest.mark.slow
def test_law_is_a_probability_with_the_right_moments():
    for case in CASES:
        law = law_of_pareto_sum(*case)
        assert law.trusted
        step = tabulated_sums._SPAN / tabulated_sums._POINTS
        points = step * np.arange(tabulated_sums._POINTS) - tabulated_sums._BELOW
        assert math.isclose(law.density.sum() * step, 1, rel_tol=1e-10)
        assert abs((points * law.density).sum() * step) < 1e-9
        assert math.isclose((points**2 * law.density).sum() * step, 1, rel_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: f"{case[3]:.0e} terms")
def test_total_variation_by_halving_every_step(case, monkeypatch):
    """Twice the frequencies, nodes and points, and linear interpolation, change less than the stated error."""
    coarse = law_of_pareto_sum.__wrapped__(*case).density
    for name in ("_FREQUENCIES", "_POINTS"):
        monkeypatch.setattr(tabulated_sums, name, 2 * getattr(tabulated_sums, name))
    for name in ("_RATIO", "_WIDTH"):
        monkeypatch.setattr(pareto_sums, name, getattr(pareto_sums, name) / 2)
    fine = law_of_pareto_sum.__wrapped__(*case).density
    step = tabulated_sums._SPAN / tabulated_sums._POINTS
    interpolated = np.interp(np.arange(len(fine)), np.arange(0, len(fine), 2), coarse)
    assert np.abs(interpolated - fine).sum() * step / 2 < TOTAL_VARIATION


@pytest.mark.slow
@pytest.mark.parametrize(("terms", "instance"), [(20_000, S1(0.5)), (100_000, S1(0.9))], ids=repr)
def test_tabulated_sums_have_the_law_of_the_plain_loop(terms, instance, failure, monkeypatch):
    monkeypatch.setattr(pareto_sums, "WALKED", 0)
    scale, shape = float(instance.scales[0]), instance.tail_index
    bound = (instance.moment * terms / 20) ** (1 / (1 + instance.v))
    rng = stream("pareto sums", terms)
    tabulated = [truncated_pareto_sum(scale, shape, bound, terms, rng) for _ in range(4000)]
    walked = [walked_sum(scale, shape, bound, terms, rng) for _ in range(1500)]
    assert ks_2samp(tabulated, walked).pvalue > failure


def test_few_terms_are_walked_and_nothing_is_kept_below_the_scale():
    one, other = (stream("walk", 0) for _ in range(2))
    assert truncated_pareto_sum(0.3, 1.5, 5.0, 50, one) == walked_sum(0.3, 1.5, 5.0, 50, other)
    assert truncated_pareto_sum(0.3, 1.5, 0.3, 10**9, one) == 0.0


def test_a_law_that_does_not_fit_the_table_is_not_trusted():
    # One reward in a thousand is nearly all of the sum: its law has an atom at 0.
    assert not law_of_pareto_sum(1e-9, 0.5, 1.0, 1_000).trusted
