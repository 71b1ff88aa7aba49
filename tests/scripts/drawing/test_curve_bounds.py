"""Bounds in figures of curves: lines against time."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from bandits.bounds.azize2025 import lower_bound_line
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.store import stored_cells
from experiments.store.stored import Cells
from scripts.drawing.kinds import curves

FIGURE = {
    "title": "Mine",
    "panels": [{"title": "C2", "instance": "c2"}, {"title": "C3", "instance": "c3"}],
    "overlays": [
        {
            "label": "the line",
            "bound": "bandits.bounds.azize2025.lower_bound_line",
            "arguments": {"means": "means", "epsilon": "epsilon", "horizon": "t"},
            "filter": {"policy": "dp_klucb"},
        }
    ],
}
CELLS = ("horizon=1000", "replications=2", "recorded=10", "budget.epsilon=0.5", "runner.workers=1")


@pytest.fixture
def cells(call, tmp_path):
    found = []
    for instance, policy in itertools.product(("c2", "c3"), ("dp_klucb", "dp_se")):
        line = [f"instance={instance}", f"policy={policy}", *CELLS]
        call(*line, f"results_dir={tmp_path}")
        found += stored_cells(replace(plan([line], Composer())[0], results=tmp_path))
    return Cells(found)


@pytest.mark.slow
def test_a_bound_is_drawn_once_against_time_in_each_panel(cells):
    drawing = curves.describe(FIGURE, cells, {})
    assert drawing.legend[-1] == "the line"
    for column, name in enumerate(("c2", "c3")):
        (line,) = [mark for mark in drawing.rows[0][column].marks if getattr(mark, "label", "") == "the line"]
        means = next(stored.cell.instance.mean_rewards for stored in cells if stored.columns["instance"] == name)
        assert line.x[0] > 1  # at the first step log t is 0, and the function refuses it
        assert line.x[-1] == 1000
        for t, value in zip(line.x, line.y, strict=True):
            assert math.isclose(value, lower_bound_line(means, 0.5, t), rel_tol=1e-12)


@pytest.mark.slow
def test_the_line_does_not_move_curves(cells):
    with_line, without = (curves.describe({**FIGURE, "overlays": over}, cells, {}) for over in (FIGURE["overlays"], []))
    for one, other in zip(with_line.rows[0], without.rows[0], strict=True):
        series = [mark for mark in one.marks if getattr(mark, "label", "") != "the line"]
        assert [np.array_equal(a.x, b.x) for a, b in zip(series, other.marks, strict=True)] == [True] * len(series)


def test_an_unknown_word_is_refused(cells):
    wrong = [{**FIGURE["overlays"][0], "arguments": {"means": "means", "epsilon": "epsilon", "horizon": "tt"}}]
    with pytest.raises(UserError, match="the line: arguments: tt is not a column of these cells"):
        curves.describe({**FIGURE, "overlays": wrong}, cells, {})
