"""Sweeps show means with intervals, exact lines, bounds, and horizontal lines of counterparts without privacy."""

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bandits.bounds import wu2025
from experiments import intervals, load_outcomes
from experiments.cells.stopping import off_by_more
from experiments.config.compose import Composer, resolved
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.simulate import look_up, run_jobs
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells
from scripts.drawing.drawing import labels, without_mathtext
from scripts.drawing.kinds import sweep
from scripts.drawing.render import render
from scripts.drawing.words import power_of_ten

STOPPING = [
    "instance=signed_bernoulli",
    "instance.mean=0.5",
    "horizon=1e6",
    "replications=6",
    "runner.workers=1",
]
ALL_SEEN = ["instance=dtol_deterministic", "policy=rnm_ftnl", "budget.epsilon=1", "horizon=1e4", "runner.workers=1"]


@pytest.fixture
def cells(call, tmp_path):
    """Cells of several command lines, stored and read."""

    def cells(*lines):
        composer, found = Composer(), []
        for line in lines:
            call(*line, f"results_dir={tmp_path}")
            found += stored_cells(replace(plan([line], composer)[0], results=tmp_path))
        return Cells(found)

    return cells


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """One exact cell, stored and read."""
    planned = replace(plan([[*ALL_SEEN, "exact=true"]], Composer())[0], results=tmp_path_factory.mktemp("exact"))
    store = Store(planned.results)
    run_jobs(look_up(planned.requests, store), store, workers=1)
    return stored_cells(planned)


@pytest.mark.slow
def test_a_counterpart_without_privacy_is_a_level_line(cells):
    lines = [[*STOPPING, "policy=dp_nas", f"budget.epsilon={epsilon}"] for epsilon in (0.1, 1, 10)]
    found = cells(*lines, [*STOPPING, "policy=nas"])
    spec = {"title": "t", "x": "epsilon", "value": "samples", "panels": [{"title": "a", "epsilon": [0.1, 1, 10]}]}
    points = {curve.entry.label: of for curve, of in sweep.points_of(sweep.Spec(**spec), found, {})[0].items()}
    level = points["NAS"]
    assert level.x.tolist() == [0.1, 10]
    assert level.mean[0] == level.mean[1]
    private = points["DP-NAS"]
    assert private.x.tolist() == [0.1, 1, 10]
    assert (np.diff(private.mean) < 0).all()
    drawing = sweep.describe(spec, found, {})
    assert "at most $10^{6}$ samples, 6 runs" in drawing.heading
    assert drawing.panels[0].y.label == "mean samples"


def test_shares_have_exact_intervals(cells):
    (stored,) = cells([*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1"])
    assert stored.measure("off_by_more").dtype == bool
    assert intervals.estimate(np.zeros(6, dtype=bool), 0.05) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 6)))
    half = 12.7062047  # Student's 97.5 % quantile with one degree of freedom
    assert intervals.estimate(np.array([1.0, 3.0]), 0.05) == (2, pytest.approx(2 - half), pytest.approx(2 + half))


def test_off_by_more_counts_what_it_says(call, tmp_path):
    call(*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1", f"results_dir={tmp_path}")
    table = load_outcomes(results_dir=tmp_path)
    asked = plan([[*STOPPING, "policy=dp_exponential_nas", "budget.epsilon=1"]], Composer())[0]
    (stored,) = stored_cells(replace(asked, results=tmp_path))
    expected = (table.estimate - 0.5).abs() > 0.25
    assert stored.measure("off_by_more").tolist() == expected.tolist()
    close = {"estimate": np.array([0.76, 0.74, 0.24, math.nan])}
    assert off_by_more(stored.cell, close).tolist() == [True, False, True, True]


@pytest.mark.slow
def test_exact_lines_with_simulated_markers_and_bounds(cells):
    arms = [[*ALL_SEEN, f"profile.arms={arms}", "replications=5"] for arms in (4, 16)]
    found = cells(*arms, *([*line, "exact=true"] for line in arms))
    bounds = resolved(Composer().compose(["+experiment=wu2025/sweep_arms"]).keys, "bounds")
    spec = {
        "title": "t",
        "x": "arms",
        "panels": [{"title": "a", "resample": False}],
        "overlays": list(bounds.values()),
    }
    drawing = sweep.describe(spec, found, {})
    (panel,) = drawing.panels
    exact, simulated, lower, upper = panel.marks  # the order is for losses that vary
    assert (exact.label, exact.look.marker, exact.low) == ("RNM-FTNL(0, laplace)", "none", None)
    assert (simulated.label, simulated.look.marker, simulated.look.dashes) == ("", "o", "none")
    assert (simulated.low < simulated.high).all()
    assert lower.label == "some instance forces, Theorem 3"
    assert lower.x.tolist() == [4, 16]
    assert lower.y[1] == wu2025.deterministic_lower_bound(16, 1.0, 10_000)
    assert upper.label == "upper bound (Gumbel, exponential), Theorem 4"
    assert "lines are exact, markers simulated" in drawing.heading.replace("\n", " ")
    figure = render(drawing)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels([panel]) == list(drawing.legend)
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == exact.y.tolist()
    plt.close(figure)


@pytest.mark.slow
def test_close_curves_are_divided_by_the_first(cells):
    """By the exact one; its own ratio is 1, and intervals are divided too."""
    arms = [[*ALL_SEEN, f"profile.arms={arms}", "replications=5"] for arms in (4, 16)]
    exact = [[*line, "exact=true", f"policy.noise={noise}"] for line in arms for noise in ("laplace", "gumbel")]
    spec = {"title": "t", "x": "arms", "panels": [{"title": "a"}], "ratios": True}
    (above,), (below,) = sweep.describe(spec, cells(*arms, *exact), {}).rows
    assert (below.title, below.y.scale) == ("divided by RNM-FTNL(0, laplace)", "linear")
    base, simulated, gumbel = above.marks
    ratios = {mark.label or "simulated": mark for mark in below.marks}
    assert ratios["RNM-FTNL(0, laplace)"].y.tolist() == [1, 1]
    assert ratios["RNM-FTNL(0, gumbel)"].y.tolist() == (gumbel.y / base.y).tolist()
    assert ratios["simulated"].high.tolist() == (simulated.high / base.y).tolist()
    with pytest.raises(UserError, match=r"figure\.ratios: no curve of the panel a is exact"):
        sweep.describe(spec, cells(*arms), {})
    with pytest.raises(UserError, match=r"RNM-FTNL\(0, laplace\) has fewer points than others in the panel a"):
        sweep.describe(spec, cells(*arms, exact[0]), {})


@pytest.mark.slow
def test_two_cells_at_one_point_have_different_labels(cells):
    found = cells(*([*ALL_SEEN, "exact=true", f"profile.gap={gap}"] for gap in (0.1, 0.2)))
    spec = {"title": "t", "x": "arms", "panels": [{"title": "a"}]}
    drawing = sweep.describe(spec, found, {})
    assert labels(drawing.panels) == ["RNM-FTNL(0, laplace), Δ = 0.1", "RNM-FTNL(0, laplace), Δ = 0.2"]
    drawing = sweep.describe({**spec, "curves": ["gap"]}, found, {})
    assert labels(drawing.panels) == ["Δ = 0.1", "Δ = 0.2"]


ORDER = "bandits.bounds.wu2025.resampled_worst_case_regret_order"


def test_a_wrong_spec_is_one_line(exact):
    for change, message in [
        ({"value": "regrets"}, "figure.value: regrets is unknown; did you mean regret"),
        ({"overlays": ["beta"]}, "figure.overlays: must be a list of {label, bound, arguments, filter}"),
        ({"overlays": [{"label": "b"}]}, "figure.overlays: b: needs either a bound or a word"),
        ({"overlays": [{"label": "b", "word": "bet"}]}, "figure.overlays: b: arguments: bet is not a column"),
        ({"overlays": [{"label": "b", "bound": "bandits.bounds.nope.f"}]}, "figure.overlays: b: bound: cannot import"),
        (
            {"overlays": [{"label": "b", "bound": ORDER, "arguments": {"arms": "arms", "epsilon": -1, "horizon": 9}}]},
            "figure.overlays: b: arguments.epsilon: must be a finite number > 0",
        ),
        ({"overlays": [{"label": "b", "bound": ORDER}]}, "figure.overlays: b: arguments: "),
        ({"overlays": [{"label": "b", "word": "gap", "filter": {"polcy": 1}}]}, "b: filter: polcy is not a column"),
        ({"overlays": [{"lable": "b"}]}, "figure.overlays: lable: unknown; did you mean label"),
        ({"scales": ["log"]}, "figure.scales: must be those of x and y"),
        ({"x": "arm"}, "figure.x: arm is not a column; did you mean arms"),
        ({"panels": [{"title": "a", "gap": 0.3}]}, "figure.panels: no cell meets"),
        ({"panels": [{"title": "a", "gpa": 0.3}]}, "figure.panels: no column gpa; did you mean gap"),
        ({"panels": []}, "figure.panels: must be a list"),
        ({"panels": [{"gap": 0.1}]}, "figure.panels: must be a list"),
        ({"curves": ["arm"]}, "figure.curves: no column arm; did you mean arms"),
        ({"value": ["regret"]}, "figure.value: must be a text, got"),
        ({"value": "samples"}, "figure.value: samples is not recorded of rnm_ftnl on dtol_deterministic"),
        ({"x": "instance"}, "figure.x: instance is dtol_deterministic, not a number"),
        ({"slopes": [{"panel": 0, "between": [1, 2]}]}, "figure.slopes: must be a list of {panel, policy, between}"),
        ({"slopes": [{"panel": 5, "policy": "rnm_ftnl", "between": [1, 2]}]}, "figure.slopes: panel must be in 0..0"),
        ({"slopes": [{"panel": 0, "policy": "nope", "between": [1, 2]}]}, "figure.slopes: nope is not in the panel"),
    ]:
        spec = {"title": "t", "x": "arms", "panels": [{"title": "a"}]} | change
        with pytest.raises(UserError, match=message):
            sweep.describe(spec, exact, {})


def test_words_have_no_mathtext():
    assert without_mathtext(f"T = {power_of_ten(50_000_000)} and {power_of_ten(2**20)}") == "T = 5·10⁷ and 2²⁰"


def test_numbers_as_powers():
    assert power_of_ten(50_000_000) == r"$5\cdot10^{7}$"
    assert power_of_ten(10**10) == "$10^{10}$"
    assert power_of_ten(2**20) == "$2^{20}$"


def test_a_legend_with_a_value_that_follows_from_the_budget_does_not_split_a_curve():
    found = stored_cells(plan([["+experiment=wang2024/fig06"]], Composer())[0])
    spec = sweep.Spec(title="t", x="delta", panels=[{"title": "a", "epsilon": 0}])
    points = sweep.points_of(spec, found, {})[0]
    assert {curve.entry.label: len(of_curve.x) for curve, of_curve in points.items()} == {
        "DP-FTPL-Gauss": 18,
        "DP-FTPL-New": 18,
    }


def test_a_start_phase_that_never_ends_is_drawn_as_pulling_in_turn(cells):
    """DP-TS-UCB then plays its first arm alone: the best one, or the worst; in turn, three arms cost 0.8 / 3 a step."""
    words = ["policy=dp_ts_ucb", "budget.delta=1e-6", "horizon=1000", "replications=2", "runner.workers=1"]
    for means in ("[0.9,0.5,0.5]", "[0.5,0.5,0.9]"):
        line = ["instance=bernoulli", f"instance.means={means}", *words]
        stored = cells([*line, "budget.epsilon=0.01"], [*line, "budget.epsilon=30"])
        spec = {"title": "t", "x": "epsilon", "in_turn": True, "panels": [{"title": "a", "epsilon": [0.01, 30]}]}
        (points,) = sweep.points_of(sweep.Spec(**spec), stored, {})[0].values()
        assert stored[0].regret[:, -1].tolist() == [0 if means.startswith("[0.9") else 400] * 2
        assert points.mean[0] == points.low[0] == pytest.approx(800 / 3)
        assert points.mean[1] == stored[1].regret[:, -1].mean(), "a start phase that ended is drawn as it was"
        (line,) = [line for line in sweep.describe(spec, stored, {}).caption if "start phase" in line]
        assert line == "start phase never left: 1 point of DP-TS-UCB, drawn as pulling all arms in turn"
    as_run = next(iter(sweep.points_of(sweep.Spec(**spec | {"in_turn": False}), stored, {})[0].values()))
    assert as_run.mean[0] == 400
    other = sweep.Spec(**spec, value="best_arm_behind")
    assert next(iter(sweep.points_of(other, stored, {})[0].values())).mean[0] != pytest.approx(800 / 3)


def test_points_are_counted_in_one_line():
    assert sweep._counted({"DP-KLUCB": 8, "DP-IMED": 1}) == "8 points of DP-KLUCB and 1 of DP-IMED"
    assert sweep._counted({"UCB1": 1}) == "1 point of UCB1"


def test_a_caveat_that_is_no_start_phase_is_printed_as_it_is(cells):
    words = ["instance=s1", "instance.v=0.5", "policy=dprse", "policy.u=1", "horizon=100", "replications=2"]
    stored = cells(*([*words, f"budget.epsilon={epsilon}", "runner.workers=1"] for epsilon in (1, 2)))
    caption = sweep.describe({"title": "t", "x": "epsilon", "panels": [{"title": "a"}]}, stored, {}).caption
    assert "DPRSE: u = 1 is below the moment of the instance, 5.59464: the theorems do not apply (2 points)" in caption
    assert not [line for line in caption if "start phase" in line]
