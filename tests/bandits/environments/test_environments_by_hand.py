"""Laws of instances at values where errors do not cancel each other."""

import numpy as np
import pytest
from scipy import stats

from bandits import ParameterError
from bandits.environments.streams import SignedBernoulli
from bandits.environments.tabulated_sums import LawOfSum
from bandits.policies.base import require_sums
from bandits.policies.elimination import DPSE
from bandits.seeds import stream


def test_signed_streams_beyond_one():
    """Values 4 and -4 with mean 1: 4 p - 4 (1 - p) = 1 at p = 5/8."""
    assert SignedBernoulli(1.0, 4.0).chance == 0.625
    assert SignedBernoulli(-0.5).chance == 0.25


def test_a_cell_with_a_slope(failure, monkeypatch):
    """One cell in which the density rises from 0: the square root of a uniform number."""
    monkeypatch.setattr("bandits.environments.tabulated_sums._SPAN", 1.0)
    monkeypatch.setattr("bandits.environments.tabulated_sums._POINTS", 1)
    monkeypatch.setattr("bandits.environments.tabulated_sums._BELOW", 0.0)
    law = LawOfSum(3.0, 2.0, np.array([0.0, 1.0]), True)
    draws = law.draw(5000, stream("cell", 0))
    assert draws.min() >= 3
    assert stats.kstest((draws - 3) / 2, lambda x: x**2).pvalue > failure
    assert draws.mean() == pytest.approx(3 + 2 * 2 / 3, abs=0.05)


def test_sums_beyond_what_the_noise_is_made_for():
    """Ten rewards in [0, 1]: sums from 0 to 10, except for rounding."""
    fine = np.array([0.0, 10.0 + 1e-9])
    assert require_sums(DPSE(1.0), fine, 0, 10) is fine
    for sums in ([10.1], [-0.1], [np.nan]):
        with pytest.raises(ParameterError, match="instance"):
            require_sums(DPSE(1.0), np.array(sums), 0, 10)
