"""Correction for multiple comparisons: 5 % shared among claims, forms and comparisons, as the intervals show."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bandits.environments.bernoulli import C1, C2
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments import intervals
from experiments.claims.differences import ExtraGrowth
from experiments.claims.forms import Growth, Monotone, Ratio, Slope
from experiments.claims.promises import Bound, Frequency
from experiments.claims.results import Results
from experiments.claims.settings import FAMILY
from tests.experiments.claims.made_up import HORIZON, measured, outcome, stopped

EIGHT = [0.1 * 1.2**step for step in range(8)]
SPREAD = np.linspace(-1, 1, 40)  # of the runs that `measured` invents
DEVIATION = 0.5995107  # of a sample of these: the variance of all is 41 / (3 x 39), times 40 / 39


def settings(form, cells):
    return form.settings(Results(SimpleNamespace(), read={"made_up": cells}), FAMILY)


def student(error, freedom):
    """The point that Student's law exceeds in absolute value with this probability, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * stats.t.sf(middle, freedom) > error else (low, middle)
    return low


def test_the_spread_of_made_up_runs():
    assert np.std(SPREAD, ddof=1) == pytest.approx(DEVIATION)


def test_bounds_share_the_error():
    """Three cells: 5 % / 3 for each, at the horizon alone."""
    path = "bandits.bounds.sajed2019.dp_se_regret"
    form = Bound(("made_up",), {}, path, {"gaps": "gaps", "epsilon": "epsilon", "horizon": "horizon"})
    half = student(0.05 / 3, 39) * 10 * DEVIATION / math.sqrt(40)
    for setting in settings(form, [measured(DPSE(epsilon), 100, 10) for epsilon in (0.5, 1.0, 2.0)]):
        assert setting.interval == pytest.approx((100, 100 - half, 100 + half), rel=1e-6)


def test_lower_bounds_share_the_error_among_checkpoints_too():
    """Regret is above a lower bound of 1 at every checkpoint; it is smallest at the first."""
    path = "bandits.bounds.wang2024.two_armed_transcript_lower_bound"
    constants = {"epsilon": 1.0, "delta": 0.01, "horizon": 10**9, "scale": 1.0, "power": 0.5}
    (setting,) = settings(
        Bound(("made_up",), {}, path, constants, side="lower"), [cell := measured(DPSE(1.0), 100, 10)]
    )
    half = student(0.05 / len(cell.t), 39) * DEVIATION / math.sqrt(40) / 10  # relative to the mean
    estimate, low, high = setting.interval
    assert (low / estimate, high / estimate) == pytest.approx((1 - half, 1 + half))


def test_ratios_and_steps_share_the_error():
    above, below = measured(UCB1(), 60, 5), [measured(DPSE(epsilon), 10, 1) for epsilon in (0.5, 1.0)]
    form = Ratio(
        ("made_up",), {"policy": "ucb1"}, {"policy": "dp_se", "epsilon": [0.5, 1.0]}, ("instance",), at_least=5
    )
    expected = intervals.ratio(60 + 5 * SPREAD, 10 + SPREAD, 0.05 / 2)
    assert [of.interval for of in settings(form, [above, *below])] == [pytest.approx(expected)] * 2
    steps = Monotone(("made_up",), "epsilon", "decreasing", ("instance",), {})
    cells = [measured(DPSE(epsilon), 10, 1) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    expected = intervals.ratio(10 + SPREAD, 10 + SPREAD, 0.05 / 3)
    assert [of.interval for of in settings(steps, cells)] == [pytest.approx(expected)] * 3


def test_growth_shares_the_error():
    """Curves proportional to time, so that growth over the second half is 1; their ends vary a little."""
    cells = [measured(DPSE(epsilon), 50, 10) for epsilon in (0.5, 1.0, 2.0)]
    cells = [with_noise(cell) for cell in cells]
    begin = int(np.searchsorted(cells[0].t, HORIZON / 2, side="right")) - 1
    expected = intervals.paired_ratio(cells[0].regret[:, -1], cells[0].regret[:, begin], 0.05 / 3)
    for setting in settings(Growth(("made_up",), {}, (0.5, 1.0), at_most=2), cells):
        assert setting.interval == pytest.approx([value - 1 for value in expected])


def with_noise(cell):
    """The same runs with noise at their ends."""
    curves = cell.regret.copy()
    curves[:, -1] += SPREAD[::-1] ** 3
    return replace(cell, rows=cell.rows | {"regret": curves})


def test_slopes_share_the_error():
    """Two groups; errors of the points dominate: the sum of position x error / y, over that of squared positions."""
    cells = [measured(DPSE(epsilon), 10 / epsilon, 4 / epsilon, kind(3)) for epsilon in EIGHT for kind in (C1, C2)]
    found = settings(Slope(("made_up",), {}, "epsilon", -1.0, 0.2, by=("instance",)), cells)
    place = math.log(1.2) * (np.arange(8) - 3.5)
    noise = 0.4 * DEVIATION / math.sqrt(40) / math.sqrt((place**2).sum())
    half = student(0.05 / 2, 6) * noise
    assert [of.interval for of in found] == [pytest.approx((-1, -1 - half, -1 + half))] * 2


def test_frequencies_share_the_error():
    """Clopper and Pearson's lower end p for 100 of 1000: Pr[at least 100] is half of 5 % / 2."""
    found = [replace(stopped(100), cell=replace(stopped(100).cell, horizon=horizon)) for horizon in (10**5, 10**6)]
    once, twice = (
        settings(Frequency(("made_up",), {}, "off_by_more", at_most=0.05), cells)[0].interval
        for cells in (found[:1], found)
    )
    assert stats.binom.sf(99, 1000, once.low) == pytest.approx(0.025)
    assert stats.binom.sf(99, 1000, twice.low) == pytest.approx(0.0125)


def test_growth_of_differences_shares_the_error():
    form = ExtraGrowth(("made_up",), {"policy": "dp_se"}, {"policy": "ucb1"}, ("instance",), at_most=2, along="arms")
    cells = [
        measured(policy, mean, 1, C1(arms), pulls=[HORIZON - arms, *[1] * arms][:arms])
        for arms in (3, 5, 9)
        for policy, mean in ((DPSE(1.0), 30), (UCB1(), 10))
    ]
    pair = (30 + SPREAD, 10 + SPREAD)
    expected = intervals.difference_ratio(pair, pair, 0.05 / 2)
    assert [of.interval for of in settings(form, cells)] == [pytest.approx(expected)] * 2


@pytest.mark.slow
def test_two_runs_are_enough_and_one_is_not(tmp_path):
    keys = {"test": "growth", "filter": {"policy": "dp_se"}, "stretch": [0.5, 1], "at_most": 10**9}
    assert outcome(tmp_path, [measured(DPSE(1.0), 50, 1).first(2)], **keys) == "holds"
    assert outcome(tmp_path, [measured(DPSE(1.0), 50, 1).first(1)], **keys) == "cannot be judged"


def test_one_run_breaks_a_promise_of_every_run(tmp_path):
    """2e7 pulls in one run of 40, above the bound of about 1.5e7 and far above it as a mean."""
    arguments = {"gap": "gap", "arms": "arms", "epsilon": "epsilon", "horizon": "horizon"}
    keys = {"filter": {"policy": "dp_se"}, "bound": "bandits.bounds.sajed2019.dp_se_pulls", "arguments": arguments}
    many = measured(DPSE(1.0), 50)
    many.pulls[7, 2] = 2 * 10**7
    assert outcome(tmp_path, [many], test="pulls_bound", **keys) == "fails"
