"""Sweeps show means with intervals, exact lines, bounds, and level lines of counterparts."""

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits.bounds import wu2025
from experiments import load_outcomes
from experiments.config.compose import Composer
from experiments.errors import UserError
from experiments.frames import RESULTS, stored_cells
from experiments.store import Store
from scripts.drawing import sweep as sweeps
from scripts.drawing.curves import power_of_ten
from scripts.drawing.sweep import estimate

STOPPING = [
    "instance=signed_bernoulli",
    "instance.mean=0.5",
    "horizon=1e6",
    "replications=6",
    "runner.workers=1",
]
EXPERTS = ["instance=dtol_deterministic", "policy=rnm_ftnl", "budget.epsilon=1", "horizon=1e4", "runner.workers=1"]


@pytest.fixture
def cells(call, tmp_path):
    """Cells of several command lines, stored and read."""

    def cells(*lines):
        composer, store, found = Composer(), Store(tmp_path), []
        for line in lines:
            call(*line, f"results_dir={tmp_path}")
            found += stored_cells(line, store, composer)
        return found

    yield cells
    plt.close("all")


def test_a_counterpart_without_privacy_is_a_level_line(cells):
    lines = [[*STOPPING, "policy=dp_nas", f"budget.epsilon={epsilon}"] for epsilon in (0.1, 1, 10)]
    found = cells(*lines, [*STOPPING, "policy=nas"])
    spec = {"title": "t", "x": "epsilon", "value": "samples", "panels": [{"title": "a", "epsilon": [0.1, 1, 10]}]}
    points = sweeps.points_of(sweeps.Spec(**spec), 0, found)
    level = points[sweeps.Curve("NAS", False)]
    assert level.x.tolist() == [0.1, 10]
    assert level.mean[0] == level.mean[1]
    private = points[sweeps.Curve("DP-NAS", False)]
    assert private.x.tolist() == [0.1, 1, 10]
    assert (np.diff(private.mean) < 0).all()
    figure = sweeps.draw(spec, found)
    assert "at most $10^{6}$ samples, 6 runs" in figure.get_suptitle()
    assert figure.axes[0].get_ylabel() == "mean samples"


def test_shares_have_exact_intervals(cells):
    (pair,) = cells([*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1"])
    from experiments.quantities import QUANTITIES

    wrong = QUANTITIES["off_by_more"][1](*pair)
    assert wrong.dtype == bool
    assert estimate(np.zeros(6, dtype=bool)) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 6)))
    assert estimate(np.array([1.0, 3.0])) == (2, pytest.approx(2 - 1.96), pytest.approx(2 + 1.96))


def test_off_by_more_counts_what_it_says(call, tmp_path):
    call(*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1", f"results_dir={tmp_path}")
    table = load_outcomes(results_dir=tmp_path)
    (pair,) = stored_cells([*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1"], Store(tmp_path), Composer())
    from experiments.quantities import off_by_more

    expected = (table.estimate - 0.5).abs() > 0.25
    assert off_by_more(*pair).tolist() == expected.tolist()
    cell, result = pair
    close = replace(result, rows={"estimate": np.array([0.76, 0.74, 0.24, math.nan])})
    assert off_by_more(cell, close).tolist() == [True, False, True, True]


def test_exact_lines_with_simulated_markers_and_bounds(cells):
    arms = [[*EXPERTS, f"profile.arms={arms}", "replications=5"] for arms in (4, 16)]
    found = cells(*arms, *([*line, "exact=true"] for line in arms))
    spec = {
        "title": "t",
        "x": "arms",
        "panels": [{"title": "a", "resample": False}],
        "overlays": ["deterministic_lower_bound", "deterministic_regret", "stochastic_order"],
    }
    figure = sweeps.draw(spec, found)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert lines["RNM-FTNL(0, laplace)"].get_marker() == "None"
    bound = lines["some instance forces, Theorem 3"]
    assert bound.get_xdata().tolist() == [4, 16]
    assert bound.get_ydata()[1] == wu2025.deterministic_lower_bound(16, 1.0, 10_000)
    assert "upper bound (Gumbel, exponential), Theorem 4" in lines
    assert not any("order" in label for label in lines)  # it is about losses that vary
    assert "lines are exact, markers simulated" in figure.get_suptitle()


def test_two_cells_at_one_place_must_be_told_apart(cells):
    found = cells(*([*EXPERTS, "exact=true", f"profile.gap={gap}"] for gap in (0.1, 0.2)))
    spec = {"title": "t", "x": "arms", "panels": [{"title": "a"}]}
    with pytest.raises(UserError, match=r"figure\.curves: .* has several cells at arms = 64"):
        sweeps.draw(spec, found)
    figure = sweeps.draw({**spec, "curves": ["gap"]}, found)
    assert {line.get_label() for line in figure.axes[0].get_lines()} == {"Δ = 0.1", "Δ = 0.2"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": "regrets"}, "figure.value: regrets is unknown; did you mean regret"),
        ({"overlays": ["bet"]}, "figure.overlays: bet is unknown; did you mean beta"),
        ({"scales": ["log"]}, "figure.scales: must be those of x and y"),
        ({"x": "arm"}, "figure.x: arm is no column; did you mean arms"),
        ({"panels": [{"title": "a", "gap": 0.3}]}, "figure.panels: no cell meets"),
        ({"panels": [{"title": "a", "gpa": 0.3}]}, "figure.panels: no column gpa; did you mean gap"),
        ({"panels": []}, "figure.panels: must be a list"),
        ({"panels": [{"gap": 0.1}]}, "figure.panels: must be a list"),
        ({"curves": ["arm"]}, "figure.curves: no column arm; did you mean arms"),
        ({"value": ["regret"]}, "figure.value: .* is unknown"),
        ({"value": "samples"}, "figure.value: samples is not recorded of rnm_ftnl on dtol_deterministic"),
        ({"x": "instance"}, "figure.x: instance is dtol_deterministic, no number"),
        ({"slopes": [{"panel": 0, "between": [1, 2]}]}, "figure.slopes: must be a list of {panel, policy, between}"),
        ({"slopes": [{"panel": 5, "policy": "rnm_ftnl", "between": [1, 2]}]}, "figure.slopes: panel must be in 0..0"),
        ({"slopes": [{"panel": 0, "policy": "nope", "between": [1, 2]}]}, "figure.slopes: nope is not in the panel"),
    ],
)
def test_a_wrong_spec_is_one_line(cells, change, message):
    spec = {"title": "t", "x": "arms", "panels": [{"title": "a"}]} | change
    with pytest.raises(UserError, match=message):
        sweeps.draw(spec, cells([*EXPERTS, "exact=true"]))


def test_numbers_as_powers():
    assert power_of_ten(50_000_000) == r"$5\cdot10^{7}$"
    assert power_of_ten(10**10) == "$10^{10}$"
    assert power_of_ten(2**20) == "$2^{20}$"


def test_a_legend_that_tells_what_follows_from_the_budget_does_not_split_a_curve():
    asked = ["+experiment=wang2024/fig06"]
    found = stored_cells(asked, Store(RESULTS), Composer())
    spec = sweeps.Spec(title="t", x="delta", panels=[{"title": "a", "epsilon": 0}])
    points = sweeps.points_of(spec, 0, found)
    assert {curve.label: len(of_curve.x) for curve, of_curve in points.items()} == {
        "DP-FTPL-Gauss": 18,
        "DP-FTPL-New": 18,
    }
