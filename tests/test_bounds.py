import math

import numpy as np
import pytest

from bandits import ParameterError, bounds
from bandits.instances import C1, Linear9
from experiments import load, load_pulls

GAPS = bounds.suboptimal_gaps(Linear9().gaps)


def test_dp_se_by_hand():
    log = math.log(5 * math.log2(2 / 0.05) * 5e7)
    assert math.isclose(bounds.dp_se_pulls(0.05, 5, 0.1, 50_000_000), log * (1024 / 0.0025 + 96 / 0.005))
    gaps = np.array([0.05, 0.5])
    by_arm = [gap * bounds.dp_se_pulls(gap, 3, 1.0, 1000) for gap in gaps]
    assert math.isclose(bounds.dp_se_regret(gaps, 1.0, 1000), 1 + sum(by_arm))


def test_perturbed_leaders_by_hand():
    gaps, log = np.array([0.5, 0.25]), math.log(1e5)
    gauss = max(2 * 0.5 * log / 0.3**2, 8 * 0.5) + max(2 * 0.25 * log / 0.05**2, 8 * 0.25)
    assert math.isclose(bounds.dp_ftpl_gauss_regret(gaps, 1.0, 0.01, 100_000, 0.1), gauss)
    beta = max(5 * 0.5 * log / (2 * 0.3**2), 592 * 0.5) + max(5 * 0.25 * log / (2 * 0.05**2), 592 * 0.25)
    assert math.isclose(bounds.dp_ftpl_beta_regret(gaps, 1.0, 0.01, 100_000, 0.1), beta)
    growth = math.e - 1
    privacy = 4 * math.log((1e5 * growth + 2e3) / (2 * growth + 2e3))
    new = max(16 * log / 0.5, privacy) + max(16 * log / 0.25, privacy) + 12
    assert math.isclose(bounds.dp_ftpl_new_regret(gaps, 1.0, 0.01, 100_000), new)
    privacy = 32 / 0.25 * math.log((1e10 * growth + 1e8) / (2 * growth + 1e8))
    elimination = 1024 * 0.75 * log / 0.25**2 + 0.75 * privacy + 12
    assert math.isclose(bounds.gdp_elim_new_regret(gaps, 1.0, 0.01, 100_000), elimination)


def test_lower_bound():
    growth, room = math.e - 1, 1e5**0.5
    expected = math.log((growth + 0.05) * room / (40 * growth + 0.05 * room)) / 16
    assert math.isclose(bounds.transcript_lower_bound(1.0, 0.01, 100_000, 1.0, 0.5), expected)
    assert bounds.transcript_lower_bound(1.0, 0.01, 100, 1.0, 0.5) == 0.0
    assert bounds.transcript_lower_bound(0.1, 0.0, 10**9, 1.0, 0.5) > bounds.transcript_lower_bound(
        1.0, 0.0, 10**9, 1.0, 0.5
    )


@pytest.mark.parametrize("slack", [0.0, 0.025, -1.0])
def test_slack_is_below_half_of_the_least_gap(slack):
    with pytest.raises(ParameterError, match="slack"):
        bounds.dp_ftpl_gauss_regret(GAPS, 1.0, 0.01, 1000, slack)


def test_dp_se_keeps_lemma_4_2_at_paper_scale():
    pulls = load_pulls("sajed2019/fig06", policy="dp_se", arms=5)
    gaps = C1(5).gaps
    for (epsilon, arm), group in pulls.groupby(["epsilon", "arm"]):
        if gaps[arm] > 0:
            assert group.pulls.max() <= bounds.dp_se_pulls(float(gaps[arm]), 5, epsilon, 50_000_000)


def test_dp_ftpl_new_keeps_theorem_16():
    for experiment in ("wang2024/fig04", "wang2024/fig05"):
        final = load(experiment, policy="dp_ftpl_new", instance="linear9", t=100_000)
        for (epsilon, delta), group in final.groupby(["epsilon", "delta"]):
            assert group.regret.mean() <= bounds.dp_ftpl_new_regret(GAPS, epsilon, delta, 100_000)
