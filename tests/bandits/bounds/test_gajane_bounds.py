"""The bound on KLUCB-CF (theorem 5.3 of docs/theorems.md)."""

import math

import numpy as np
import pytest

from bandits.bounds.gajane2018 import klucb_cf_misses, klucb_cf_regret
from bandits.bounds.local_privacy import local_bernoulli_asymptote
from bandits.environments.bernoulli import Bernoulli
from bandits.policies.local_bits import KLUCBCF
from bandits.seeds import stream


def test_misses_by_hand():
    """At t = 1 none, at 2 to 9 at most 1 each: e ceil(L log t) / (t log^3 t) is 1.36, 2.06, 1.53, ... there.

    At t = 100, log t = 4.60517, L = 4.60517 + 3 x 1.52718 = 9.18671, L log t = 42.3, so that it is
    e x 43 x exp(-9.18671) = 116.886 x 1.02394e-4 = 0.011968.
    """
    assert klucb_cf_misses(2, 3.0) == pytest.approx(1.0)
    assert klucb_cf_misses(100, 3.0) - klucb_cf_misses(99, 3.0) == pytest.approx(0.011968, rel=1e-4)


def test_misses_of_many_steps():
    """The integral beyond 4,096 steps is above the sum that it replaces, and by less than a tenth."""
    log_t = np.log(np.arange(4097, 300_001))
    level = log_t + 3 * np.log(log_t)
    summed = (math.e * np.ceil(level * log_t) * np.exp(-level)).sum()
    integral = klucb_cf_misses(300_000, 3.0) - klucb_cf_misses(4096, 3.0)
    assert summed < integral < 1.1 * summed


def test_the_bound_on_two_arms():
    """epsilon = log 3, means 1/2 and 0: bits 1/2 and 1/4; by a search over y in place of eta."""
    level = 20 * math.log(10) + 3 * math.log(20 * math.log(10))

    def kl(p, q):
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    found = math.inf
    for y in np.linspace(0.2501, 0.45, 4000):
        pulls = math.ceil(level / kl(y, 0.5))  # (1 + eta) / d = 1 / kl(y, r*)
        found = min(found, pulls + math.exp(-pulls * kl(y, 0.25)) / (1 - math.exp(-kl(y, 0.25))))
    expected = 0.5 * (found + klucb_cf_misses(1e20, 3.0))
    assert klucb_cf_regret([0.5, 0.0], math.log(3), 1e20, 3.0) == pytest.approx(expected, rel=0.01)


def test_the_leading_constant_is_that_of_the_lower_bound():
    means, ratios = [0.75, 0.5, 0.25], []
    for horizon in (1e6, 1e30, 1e300):
        ratios.append(klucb_cf_regret(means, 1.0, horizon, 3.0) / local_bernoulli_asymptote(means, 1.0, horizon))
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] < 1.35


@pytest.mark.slow
def test_regret_is_below_the_bound():
    instance, horizon = Bernoulli((0.9, 0.5, 0.1)), 20_000
    found = [KLUCBCF(2.0, c=3.0).simulate(instance, horizon, np.array([horizon]), stream("b", i)) for i in range(50)]
    regret = np.mean([pulls[0] @ instance.gaps for pulls in found])
    assert 5 < regret < klucb_cf_regret([0.9, 0.5, 0.1], 2.0, horizon, 3.0) < horizon * 0.8
