import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from bandits import divergences
from bandits.divergences import (
    bernoulli_divergence,
    divergence_from,
    divergence_upper_end,
    private_divergence,
    private_divergence_from,
    private_upper_end,
    shift_of_lower_mean,
)
from bandits.seeds import stream
from tests.plain_loops.batches import bisected, searched_divergence


def test_the_private_divergence_by_hand():
    # epsilon = 1: logit(.75) - logit(.25) = 2 log 3 > 1, so -.25 - log(1 - .75 (1 - 1/e)) = -.25 - log(.5259096)
    assert math.isclose(private_divergence(0.25, 0.75, 1.0), 0.3926260, rel_tol=1e-6)
    assert math.isclose(private_divergence(0.25, 0.75, 3.0), 0.5 * math.log(3), rel_tol=1e-15)  # 3 > 2 log 3: kl
    assert private_divergence(0.75, 0.25, 1.0) == private_divergence(0.25, 0.75, 1.0)
    assert private_divergence(0.4, 1.0, 2.0) == pytest.approx(1.2)
    assert private_divergence(0.4, 0.0, 2.0) == pytest.approx(0.8)
    assert private_divergence(0.3, 0.3, 2.0) == 0
    assert math.isclose(private_divergence(0.0, 0.6, 1e6), -math.log(0.4), rel_tol=1e-14)


def least(x, y, epsilon):
    """min over z of epsilon |z - x| + kl(z, y), on a grid that is refined six times."""
    low, high = min(x, y), max(x, y)
    for _ in range(6):
        z = np.linspace(low, high, 1001)
        kl = z * np.log(np.where(z > 0, z, 1) / y) + (1 - z) * np.log(np.where(z < 1, 1 - z, 1) / (1 - y))
        place = int(np.argmin(epsilon * abs(z - x) + kl))
        low, high = z[max(place - 1, 0)], z[min(place + 1, 1000)]
    return float((epsilon * abs(z - x) + kl).min())


def cases(name, count):
    rng = stream(name, 0)
    for _ in range(count):
        yield float(rng.random()), float(rng.random()), float(10 ** rng.uniform(-3, 1.5))


def test_the_closed_form_is_the_least_of_all_z():
    for x, y, epsilon in cases("closed form", 500):
        value = private_divergence(x, y, epsilon)
        assert value == pytest.approx(least(x, y, epsilon), rel=1e-9, abs=1e-12)
        assert value <= min(bernoulli_divergence(x, y), epsilon * abs(x - y)) + 1e-12
        if x < y:
            assert value == pytest.approx(searched_divergence(x, y, epsilon), rel=1e-6, abs=1e-9)


def test_a_small_epsilon_leaves_a_distance_and_a_large_one_the_divergence():
    for x, y, _ in cases("limits", 100):
        assert private_divergence(x, y, 1e-8) == pytest.approx(1e-8 * abs(x - y), rel=1e-6)
        x, y = sorted((x, y))
        assert private_divergence(x, y, 1e3) == bernoulli_divergence(x, y)


def test_upper_ends_are_inverse():
    for x, level, epsilon in cases("inverse", 500):
        q = private_upper_end(x, level / 5, epsilon)
        assert x <= q <= 1
        if q < 1:
            assert private_divergence(x, q, epsilon) == pytest.approx(level / 5, rel=1e-9)
            assert q == pytest.approx(bisected(x, level / 5, epsilon), rel=1e-6)
        else:
            assert epsilon * (1 - x) <= level / 5 * (1 + 1e-12)
        q = divergence_upper_end(x, level)
        if q < 1 - 1e-6:  # closer to 1 the divergence itself has a rounding error
            assert bernoulli_divergence(x, q) == pytest.approx(level, rel=1e-9)


def test_upper_ends_at_the_borders():
    assert divergence_upper_end(0.0, 0.1) == pytest.approx(1 - math.exp(-0.1))
    assert divergence_upper_end(1.0, 0.1) == private_upper_end(1.0, 0.1, 1.0) == 1
    assert divergence_upper_end(0.3, 0.0) == 0.3
    assert 0.3 < divergence_upper_end(0.3, 1e-12) < 0.3 + 1e-6
    assert divergence_upper_end(0.5, 50.0) == pytest.approx(1)
    # x = 0: -log(1 - q (1 - e^-1)) = .1 at q = (1 - e^-.1) / (1 - e^-1) = .0951626 / .6321206
    assert private_upper_end(0.0, 0.1, 1.0) == pytest.approx(0.1505450, rel=1e-6)
    assert private_upper_end(0.5, 0.3, 0.5) == 1.0  # epsilon (1 - x) = .25 is less than .3


def test_no_root_needs_many_steps(monkeypatch):
    plain = divergences.divergence_upper_end.py_func
    wanted = [(x, level, divergence_upper_end(x, 10 * level)) for x, level, _ in cases("steps", 200)]
    monkeypatch.setattr(divergences, "NEWTON_STEPS", 12)
    for x, level, q in wanted:
        assert plain(x, 10 * level) == pytest.approx(q, rel=1e-12)


def kl_of_decimals(p, q):
    one = p * (p / q).ln() if p else Decimal(0)
    return one + (1 - p) * ((1 - p) / (1 - q)).ln() if p != 1 else one


def private_kl_of_decimals(x, y, epsilon):
    if x > y:
        x, y = 1 - x, 1 - y
    z = y * (-epsilon).exp() / (1 - y + y * (-epsilon).exp())
    return kl_of_decimals(x, y) if x >= z else epsilon * (z - x) + kl_of_decimals(z, y)


def test_close_means_keep_their_digits():
    """Beside arithmetic with 80 digits, down to relative distances and epsilons of 1e-12, and near 0 and 1."""
    rng = stream("close means", 0)
    with localcontext() as context:
        context.prec = 80
        for _ in range(2000):
            small = 10 ** rng.uniform(-12, -1)
            q = float(rng.choice([rng.random(), small, 1 - small]))
            shift = float(10 ** rng.uniform(-12, 0) * rng.choice([-q, 1 - q]))
            epsilon = float(10 ** rng.uniform(-12, 2.5))
            exact, shifted = Decimal(q), Decimal(q) + Decimal(shift)
            if not 0 <= shifted <= 1:
                continue
            assert divergence_from(q, shift) == pytest.approx(float(kl_of_decimals(shifted, exact)), rel=1e-12, abs=0)
            private = float(private_kl_of_decimals(shifted, exact, Decimal(epsilon)))
            assert private_divergence_from(q, shift, epsilon) == pytest.approx(private, rel=1e-12, abs=0)
            if shift < 0:
                level = float(kl_of_decimals(shifted, exact))
                assert shift_of_lower_mean(q, level) == pytest.approx(-shift, rel=1e-12, abs=0)


def test_shifts_at_the_borders():
    for y in stream("borders", 0).random(100).tolist():
        assert private_divergence_from(y, -y, 1e100) == pytest.approx(-math.log1p(-y))
    assert private_divergence_from(0.5, -0.5, math.inf) == pytest.approx(math.log(2))
    assert private_divergence_from(0.5, 0.5, 1e100) == pytest.approx(math.log(2))
    assert private_divergence_from(0.7, -0.1, 700.0) == pytest.approx(bernoulli_divergence(0.6, 0.7))
    assert divergence_from(0.3, 0.0) == private_divergence_from(0.3, 0.0, 1.0) == shift_of_lower_mean(0.3, 0.0) == 0
    assert shift_of_lower_mean(0.3, 1.0) == 0.3
