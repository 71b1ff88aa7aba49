"""Leaders with Gaussian values: exact pulls, gaussian_leaders.md, section 7, and Theorem 11 of wang2024."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandits import ParameterError
from bandits.bounds.gaussian_leaders import gaussian_leader_regret, gaussian_leader_slope
from bandits.bounds.wang2024 import dp_ftpl_gauss_regret
from bandits.environments.bernoulli import Bernoulli
from bandits.exact.gaussian_leaders import fixed_rewards_pulls
from bandits.mechanisms.start_phases import gauss_paper
from bandits.policies.perturbed_leader import DPFTPLGauss
from bandits.seeds import stream
from experiments.claims.checks import wang2024 as checks


def worse_wins(gap, worse, better, variance):
    """The probability that the worse arm has the larger value, by definition."""
    return stats.norm.sf(gap, scale=math.sqrt(variance / worse + variance / better))


def step_by_step(gap, start, horizon, variance):
    """Expected pulls of the worse arm, from its law in a dictionary, without a window and without a cap."""
    law = {start: 1.0}
    for t in range(2 * start, horizon):
        after = {}
        for pulls, mass in law.items():
            if mass > 1e-30:
                chance = 0.5 * math.erfc(gap / math.sqrt(2 * variance * (1 / pulls + 1 / (t - pulls))))
                after[pulls] = after.get(pulls, 0.0) + mass * (1 - chance)
                after[pulls + 1] = after.get(pulls + 1, 0.0) + mass * chance
        law = after
    return sum(pulls * mass for pulls, mass in law.items())


def test_four_steps_by_hand():
    first = worse_wins(0.7, 1, 1, 2.0)
    second = first * worse_wins(0.7, 2, 1, 2.0) + (1 - first) * worse_wins(0.7, 1, 2, 2.0)
    low, high = fixed_rewards_pulls(0.7, 1, [2, 3, 4])
    for bound in (low, high):
        np.testing.assert_allclose(bound, [1, 1 + first, 1 + first + second], rtol=1e-11)


@pytest.mark.slow
def test_the_claims_about_theorem_11_by_hand():
    """The printed theorem allows growth 2; ours is between 4 - 4 / log T and 4. Both checks read the same numbers."""
    printed, ours = checks.gauss_growth_as_printed(), checks.gauss_growth()
    assert len(printed) == len(ours) == 6
    for first, second, power in zip(printed, ours, [5, 6, 7] * 2, strict=True):
        assert first.at_most == pytest.approx(2)
        assert (second.at_least, second.at_most) == (pytest.approx(4 - 4 / math.log(10**power)), 4)
        assert first.interval == second.interval
    low, high = fixed_rewards_pulls(1.0, 8, [10**5, 10**6])
    ends = [(low[1] - high[0]) / math.log(10), (high[1] - low[0]) / math.log(10)]
    np.testing.assert_allclose(printed[0].interval, [sum(ends) / 2, *ends], rtol=1e-9)


def test_the_bound_by_hand():
    """Gap 1/2, slack 0.1: 2 variance log T / 0.09; a = 0.015."""
    learning = max(8, 4 * math.log(1000) / 0.3**2)
    behind = 18 / 0.01 + 4 * math.sqrt(2 * math.pi) / 3 * (1 / 0.015 + 0.015**-1.5)
    expected = 0.5 * (learning + 1.5 + 50 + behind)
    assert math.isclose(gaussian_leader_regret(np.array([0.5]), 8, 2.0, 1000, 0.1), expected)
    assert gaussian_leader_regret(np.array([0.5]), 10**6, 2.0, 1000, 0.1) > 5e5  # the start phase


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "start", "variance"), [(1.0, 8, 2.0), (0.5, 3, 1.0), (1.0, 19, 2.0)])
def test_exact_pulls_against_single_steps(gap, start, variance):
    low, high = fixed_rewards_pulls(gap, start, [100, 3000, 9000], variance)
    expected = [step_by_step(gap, start, horizon, variance) for horizon in (100, 3000, 9000)]
    np.testing.assert_allclose(low[:2], expected[:2], rtol=1e-10)  # before the first window
    assert low[2] - 1e-9 <= expected[2] <= high[2] + 1e-9
    assert high[2] - low[2] < 0.1


def test_windows_enclose_single_steps_from_both_sides():
    low, high = fixed_rewards_pulls(1.0, 8, [10**5])
    assert low[0] < 31.6474 < high[0]  # single steps, compiled
    assert high[0] - low[0] < 0.02


@pytest.mark.slow
def test_exact_pulls_at_a_million_steps():
    """40.3 was also computed independently, with single steps."""
    ((low,), (high,)) = fixed_rewards_pulls(1.0, gauss_paper(1.0, 0.01), [10**6])
    assert gauss_paper(1.0, 0.01) == 8
    assert 40.32 < low <= high < 40.33
    assert 2 * math.log(10**6) < 27.7


@pytest.mark.slow
def test_exact_pulls_are_those_of_the_policy(failure):
    policy, instance, horizon, runs = DPFTPLGauss(1.0, 0.01), Bernoulli((1.0, 0.0)), 2000, 4000
    pulls = [
        policy.simulate(instance, horizon, np.array([horizon]), stream("gaussian leaders", run))[-1, 1]
        for run in range(runs)
    ]
    (low,), (high,) = fixed_rewards_pulls(1.0, 8, [horizon])
    error = stats.norm.isf(failure / 2) * np.std(pulls) / math.sqrt(runs)  # at most 60 pulls or so: nearly normal
    assert error < 0.5
    assert low - error < np.mean(pulls) < high + error


@pytest.mark.slow
def test_the_leading_constant_is_four():
    """Growth of pulls over that of log T: above the printed 2, below 4, and within 2 / log T of 4."""
    horizons = [10**4, 10**6, 10**8, 10**10]
    low, high = fixed_rewards_pulls(1.0, 8, horizons)
    growth = np.diff(low + high) / 2 / math.log(100)
    assert gaussian_leader_slope(np.array([1.0]), 2.0) == 4
    for slope, middle in zip(growth, (10**5, 10**7, 10**9), strict=True):
        assert abs(slope - (4 - 2 / math.log(middle))) < 0.15
    ones = fixed_rewards_pulls(1.0, 8, horizons, 1.0).low  # variance 1 / N, for which Fact 6 is true
    assert np.diff(ones)[-1] / math.log(100) < 2 == gaussian_leader_slope(np.array([1.0]), 1.0)


@pytest.mark.slow
def test_the_limit_does_not_depend_on_the_start_phase():
    for gap, start in ((0.7, 1), (1.0, 30)):
        low, high = fixed_rewards_pulls(gap, start, [10**6, 10**8])
        growth = gap * float(np.diff(low + high)[0]) / 2 / math.log(100)
        limit = gaussian_leader_slope(np.array([gap]), 2.0)
        assert limit == pytest.approx(4 / gap)
        assert (4 - 2 / math.log(10**7) - 0.15) / gap < growth < limit


def test_fact_6_holds_for_variance_one_over_n():
    """Pr[value > mean + sqrt(2 log(T) / N)] at T = 10^5: 3.5e-4 with variance 2 / N, below 1 / T with 1 / N."""
    far = math.sqrt(2 * math.log(1e5))
    assert math.isclose(stats.norm.sf(far / math.sqrt(2)), 3.46e-4, rel_tol=1e-2)
    assert stats.norm.sf(far) < 1e-5


def test_the_printed_term_loses_for_every_remainder():
    """2 / (1 - 2 slack)^2 is above 4 for a slack >= 0.146; below it 4 log T exceeds the printed bound in the end."""
    for slack, enough in ((0.14, False), (0.147, True)):
        ends = [dp_ftpl_gauss_regret(np.array([1.0]), 1.0, 0.01, 10**power, slack) for power in (100, 200)]
        assert ((ends[1] - ends[0]) / math.log(10**100) > 4) == enough


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.6, 1.0])
def test_the_bound_is_above_exact_pulls(gap):
    for horizon, pulls in zip((10**3, 10**6), fixed_rewards_pulls(gap, 8, [10**3, 10**6]).high, strict=True):
        for slack in (0.1 * gap, 0.3 * gap, 0.49 * gap):
            assert gap * pulls < gaussian_leader_regret(np.array([gap]), 8, 2.0, horizon, slack)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.5), st.sampled_from([1.0, 2.0, 5.0]), st.integers(1, 300))
def test_waiting_for_the_best_arm_in_the_proof_of_the_bound(mean, slack, variance, pulls):
    """E[1/p - 1] after n pulls of a Bernoulli arm, exactly, against the three terms of the proof of 7.1."""
    sums = np.arange(pulls + 1)
    log_chance = stats.norm.logcdf(math.sqrt(pulls / variance) * (slack - mean + sums / pulls))
    chances = stats.binom.pmf(sums, pulls, mean)
    waiting = float(np.exp(np.log(np.maximum(chances, 1e-300)) - log_chance) @ (chances > 0)) - float(chances.sum())
    decay = math.exp(-1.5 * pulls * slack**2)
    allowed = (
        math.exp(-pulls * slack**2 / (8 * variance))
        + math.exp(-pulls * slack**2 / 2)
        + math.sqrt(2 * math.pi) * 4 / 3 * (1 + math.sqrt(pulls)) * decay
    )
    assert waiting <= allowed * (1 + 1e-9)


def test_bad_arguments_are_named():
    for changed, blamed in [
        ({"gap": 0.0}, "gap"),
        ({"gap": 0.01}, "gap"),
        ({"start": 0}, "start"),
        ({"value_variance": 0.0}, "value_variance"),
        ({"horizons": []}, "horizons"),
        ({"horizons": [15]}, "horizons"),
        ({"horizons": [20, 20]}, "horizons"),
    ]:
        with pytest.raises(ParameterError) as error:
            fixed_rewards_pulls(**({"gap": 1.0, "start": 8, "horizons": [100]} | changed))
        assert error.value.parameter == blamed
