"""Profiles over instances, from invented numbers with known shares."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.errors import UserError
from experiments.store.stored import Cells
from scripts.drawing.drawing import Band, Texts
from scripts.drawing.kinds.profiles import describe
from scripts.drawing.tables import table_of_drawing
from tests.scripts.drawing.test_winners import RUNS, made_up

CONFIG = {
    "title": "Profiles",
    "unit": {"label": "gap", "word": "least_gap"},  # of C1 it is 0.05
    "against": "dp_se",
    "panels": [{"title": "one", "epsilon": 1}],
}


def described(cells, **keys):
    return describe({**CONFIG, **keys}, Cells(cells), {"dp_se": "#111111", "dp_ucb": "#222222"})


@pytest.fixture(scope="module")
def cells():
    """On K = 2 DP-SE has 9 to 11 and DP-UCB 19 to 21; on K = 5 both have 9 to 11."""
    return [
        made_up(policy, 1, 1000, mean, f"instance.arms={arms}")
        for policy, arms, mean in [("dp_se", 2, 10), ("dp_se", 5, 10), ("dp_ucb", 2, 20), ("dp_ucb", 5, 10)]
    ]


def test_the_share_of_runs_in_units(cells):
    """Over the gap of 0.05 regret is 180 to 220, or 380 to 420: DP-UCB has half of its runs below 300.

    It never has less on K = 2, and in half of the pairs on K = 5, where placements are uniform: the mean over both
    has the standard deviation sqrt(2 (1/12) / 200) / 2 = 0.0144.
    """
    (profile,), (comparison,) = described(cells).rows
    lines = {mark.label: mark for mark in profile.marks if not isinstance(mark, Band)}
    assert list(lines) == ["DP-SE", "DP-UCB"]
    share = {label: float(np.interp(300, mark.x, mark.y)) for label, mark in lines.items()}
    assert share == {"DP-SE": 1.0, "DP-UCB": 0.5}
    assert lines["DP-SE"].x[0] == pytest.approx(180, rel=0.01)
    assert comparison.words == ["DP-UCB has less with probability 0.25 (0.22 to 0.28)"]
    (name,) = [mark for mark in comparison.marks if isinstance(mark, Texts)]
    assert (name.texts, name.side, name.x.tolist()) == (["DP-UCB"], "left", [pytest.approx(0.25, abs=0.03)])
    assert profile.words[0] == "half of the runs of DP-SE have at most 200"
    assert described(cells).caption == [f"{RUNS} runs on each of 2 instances; 95 % intervals"]


def test_names_stand_where_there_is_room(cells):
    """A policy that has less in more than half of the pairs is near the right end."""
    (comparison,) = described(cells, against="dp_ucb").rows[1]
    (name,) = [mark for mark in comparison.marks if isinstance(mark, Texts)]
    assert (name.texts, name.side) == (["DP-SE"], "right")


def test_every_instance_counts_the_same(cells):
    """Also with a tenth of the runs on one of them."""
    few = {name: values[::10] for name, values in cells[2].rows.items()}
    (profile,), _ = described([*cells[:2], replace(cells[2], rows=few), cells[3]]).rows
    ucb = next(mark for mark in profile.marks if getattr(mark, "label", "") == "DP-UCB" and not isinstance(mark, Band))
    assert float(np.interp(300, ucb.x, ucb.y)) == 0.5


def test_the_baseline_has_all_of_it(cells):
    assert {"DP-SE", "DP-UCB", "Profiles", "share of runs with at most this much"} <= {
        line for text in table_of_drawing(described(cells)).text for line in text.split("\n")
    }


def test_what_cannot_be_compared_is_one_line(cells):
    for keys, message in [
        ({"panels": [{"title": "none", "epsilon": 2}]}, r"figure\.panels: no repeated cell meets"),
        ({"against": "dp_sse"}, r"figure\.against: dp_sse is in no panel; did you mean dp_se"),
        ({"value": "speed"}, r"figure\.value: speed is unknown"),
        ({"unit": {"label": "none", "word": "delta"}}, r"figure\.unit: none is 0\.0 for dp_se; give panels without it"),
        (
            {"panels": [{"title": "all", "promise": {"scope": "all"}}]},
            r"figure\.panels: promise: must be {scope: SCOPE",
        ),
    ]:
        with pytest.raises(UserError, match=message) as error:
            described(cells, **keys)
        assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"figure\.panels: DP-UCB and DP-SE were not run on the same instances"):
        described(cells[:3])
