import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from bandits.environments import beta_sums as module
from bandits.environments import tabulated_sums
from bandits.environments.beta_sums import beta_sums, law_of_beta_sum
from bandits.seeds import stream

CASES = [(0.5, 4.0, 100), (0.25, 4.0, 65), (0.9, 2.0, 1_000), (0.3, 50.0, 10**7)]


def test_law_has_the_moments_of_the_sum():
    for case in CASES:
        mean, concentration, terms = case
        law = law_of_beta_sum(*case)
        assert law.trusted
        step = tabulated_sums._SPAN / tabulated_sums._POINTS
        points = step * np.arange(tabulated_sums._POINTS) - tabulated_sums._BELOW
        skewness = 2 * (1 - 2 * mean) * math.sqrt((concentration + 1) / (mean * (1 - mean))) / (concentration + 2)
        assert law.mean == terms * mean
        assert math.isclose(law.deviation**2, terms * mean * (1 - mean) / (concentration + 1), rel_tol=1e-12)
        for power, moment in ((0, 1), (1, 0), (2, 1), (3, skewness / math.sqrt(terms))):
            assert math.isclose((points**power * law.density).sum() * step, moment, rel_tol=1e-8, abs_tol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_total_variation_by_halving_every_step(case, monkeypatch):
    coarse = law_of_beta_sum.__wrapped__(*case).density
    for place, name in ((tabulated_sums, "_FREQUENCIES"), (tabulated_sums, "_POINTS"), (module, "_NODES")):
        monkeypatch.setattr(place, name, 2 * getattr(place, name))
    fine = law_of_beta_sum.__wrapped__(*case).density
    step = tabulated_sums._SPAN / tabulated_sums._POINTS
    interpolated = np.interp(np.arange(len(fine)), np.arange(0, len(fine), 2), coarse)
    assert np.abs(interpolated - fine).sum() * step / 2 < 1e-6


def test_tabulated_sums_have_the_law_of_walked_ones(failure, monkeypatch):
    rng = stream("beta sums", 0)
    tabulated = beta_sums(0.8, 3.0, 100, 5_000, rng)
    monkeypatch.setattr(module, "WALKED", 100)
    assert ks_2samp(tabulated, beta_sums(0.8, 3.0, 100, 5_000, rng)).pvalue > failure


def test_losses_near_zero_and_one_are_walked():
    assert not law_of_beta_sum(0.5, 0.01, 100).trusted  # nearly Bernoulli: the sum has no smooth density
    sums = beta_sums(0.5, 0.01, 100, 200, stream("beta sums", 1))
    assert (np.abs(sums - np.rint(sums)) < 0.5).all()
    assert 0 <= sums.min() <= sums.max() <= 100
