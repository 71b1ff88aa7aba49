"""The map of winners, from made-up numbers whose winners are known."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.stored import Stored
from scripts.drawing.kinds.winners import PALE, describe, wins

PANELS = [{"title": "C1", "instance": "c1"}]


def made_up(policy, epsilon, horizon, mean, *more):
    """20 runs with regret 1 below and above `mean` by turns."""
    words = [f"policy={policy}", f"budget.epsilon={epsilon}", f"horizon={horizon}", "recorded=1", *more]
    cell = plan(words, Composer()).requests[0].cell
    regret = (mean + np.tile([-1.0, 1.0], 10))[:, None]
    return Stored({"t": np.full((20, 1), horizon), "regret": regret, "pulls": np.full((20, 5), horizon // 5)}, {}, cell)


@pytest.fixture(scope="module")
def cells():
    """Half of Student's interval is 2.093 x 1.026 / sqrt(20) = 0.4802, so that means 0.9 apart are not told apart."""
    return [
        made_up("dp_se", 0.1, 1000, 10.0),
        made_up("dp_ucb", 0.1, 1000, 11.0),
        made_up("dp_se", 1, 1000, 7.0),
        made_up("dp_ucb", 1, 1000, 6.1),
        made_up("dp_se", 1, 100, 5.0),
        made_up("ucb1", 1, 1000, 1.0),
    ]


def test_the_least_mean_wins_where_two_private_policies_are(cells):
    found = [(win.horizon, win.epsilon, win.best.cell.policy.name, win.clear) for win in wins(cells, "regret")]
    assert found == [(1000, 0.1, "dp_se", True), (1000, 1.0, "dp_ucb", False)]


def test_a_third_policy_makes_a_win_unclear(cells):
    third = made_up("dp_ucb_tossou", 0.1, 1000, 10.95)
    assert [win.clear for win in wins([*cells, third], "regret")] == [False, False]


def test_marks_stand_at_horizon_and_epsilon(cells):
    drawing = describe({"title": "Winners", "panels": PANELS}, cells, {"dp_se": "#111111", "dp_ucb": "#222222"})
    (panel,) = drawing.panels
    marks = {
        mark.label: (mark.x.tolist(), mark.y.tolist(), mark.look.colour, mark.look.opacity) for mark in panel.marks
    }
    assert marks == {
        "DP-SE": ([1000], [0.1], "#111111", None),
        "DP-UCB": ([1000], [1.0], "#222222", PALE),
    }
    assert drawing.legend == ["DP-SE", "DP-UCB"]
    assert panel.words == ["DP-SE at T = 1000, ε = 0.1", "DP-UCB at T = 1000, ε = 1, not clearly"]


def test_what_cannot_be_compared_is_one_line(cells):
    with pytest.raises(UserError, match=r"figure\.panels: no two private policies of the panel .* share"):
        describe({"title": "Winners", "panels": PANELS}, cells[:1], {})
    with pytest.raises(UserError, match=r"figure\.value: speed is unknown"):
        describe({"title": "Winners", "panels": PANELS, "value": "speed"}, cells, {})


def test_variants_of_a_policy_have_a_label_and_a_marker_each(cells):
    """Each wins at one place."""
    variant = made_up("dp_se", 1, 1000, 2.0)
    variant = replace(variant, cell=replace(variant.cell, policy=replace(variant.cell.policy, beta=0.5)))
    drawing = describe({"title": "Winners", "panels": PANELS}, [*cells, variant], {})
    looks = {mark.label: (mark.look.colour, mark.look.marker) for mark in drawing.panels[0].marks}
    (first, second) = looks.values()
    assert set(looks) == {"DP-SE, β = default", "DP-SE, β = 0.5"}
    assert first[0] == second[0]
    assert first[1] != second[1]
