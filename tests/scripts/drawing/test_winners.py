"""The map of winners, from invented numbers with known winners."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing.kinds.winners import CLEAR, PALE, Spec, describe, wins
from scripts.drawing.words import not_run, runs

PANELS = [{"title": "C1", "instance": "c1"}]
ALL = Spec("Winners", PANELS)


RUNS = 200


def made_up(policy, epsilon, horizon, mean, *more):
    """Runs whose regret is spread evenly from 1 below to 1 above `mean`."""
    words = [f"policy={policy}", f"budget.epsilon={epsilon}", f"horizon={horizon}", "recorded=1", *more]
    cell = plan([words], Composer())[0].requests[0].cell
    regret = (mean + np.linspace(-1, 1, RUNS))[:, None]
    pulls = np.full((RUNS, 5), horizon // 5)
    return Stored({"t": np.full((RUNS, 1), horizon), "regret": regret, "pulls": pulls}, {}, cell)


@pytest.fixture(scope="module")
def cells():
    """Each interval of four cells misses with probability 0.05 / 12: 95 % quantiles are between runs 180 and 199.

    That is 0.2 wide, so that a difference of 0.1 between means is not significant.
    """
    return Cells(
        [
            made_up("dp_se", 0.1, 1000, 10.0),
            made_up("dp_ucb", 0.1, 1000, 11.0),
            made_up("dp_se", 1, 1000, 7.0),
            made_up("dp_ucb", 1, 1000, 6.9),
            made_up("dp_se", 1, 100, 5.0),
            made_up("ucb1", 1, 1000, 1.0),
        ]
    )


def test_the_least_mean_wins_where_two_private_policies_are(cells):
    found = [
        (win.horizon, win.epsilon, win.best.cell.policy.name, win.clear) for win in wins(ALL.rivals(cells), "regret")
    ]
    assert found == [(1000, 0.1, "dp_se", True), (1000, 1.0, "dp_ucb", False)]


def test_a_third_policy_makes_a_win_unclear(cells):
    third = made_up("dp_ucb_tossou", 0.1, 1000, 10.1)
    assert [win.clear for win in wins(ALL.rivals(Cells([*cells, third])), "regret")] == [False, False]


def test_with_a_promise_all_take_part_who_keep_more(cells):
    """LDP-UCB-B, which is local, beats both at 1; DP-SE with 0.1 for the sequence takes part at 0.3 for a decision."""
    more = Cells(
        [*cells, made_up("ldp_ucb_b", 1, 1000, 3.0), made_up("dp_ftpl_new", 0.3, 1000, 12.0, "budget.delta=1e-6")]
    )
    config = {"title": "Winners", "panels": PANELS, "promise": {"scope": "transcript"}, "epsilons": [1, 2]}
    (panel,) = describe(config, more, {}).panels
    assert panel.words == ["LDP-UCB-B at T = 1000, ε = 1, T = 1000, ε = 2"]
    config |= {"promise": {"scope": "decision", "delta": 1e-6}, "epsilons": [0.3]}
    (panel,) = describe(config, more, {}).panels
    assert panel.words == ["DP-SE at T = 1000, ε = 0.3"]
    assert wins(ALL.rivals(more), "regret")[-1].best.cell.policy.name == "ldp_ucb_b"


def test_the_notes_name_who_was_not_run(cells):
    """At T = 100 DP-UCB was not run, with either epsilon."""
    drawing = describe({"title": "Winners", "panels": PANELS}, cells, {})
    assert drawing.caption == [f"{RUNS} runs; pale: others are recommended too"]
    assert drawing.notes == {"Not run": ["DP-UCB at T = 100"]}
    longer = Cells([*cells, made_up("dp_ucb", 0.1, 100, 9.0)])
    assert describe({"title": "Winners", "panels": PANELS}, longer, {}).notes == {}


def test_numbers_of_runs_are_a_range(cells):
    few = [replace(cells[0], rows={name: rows[:count] for name, rows in cells[0].rows.items()}) for count in (50, 20)]
    assert runs([*cells, *few]) == "20 to 200"
    assert (runs(cells), runs([])) == ("200", "")


def test_who_was_not_run_by_hand():
    """A at all; B not at 100 on one of two places, and nowhere at 1,000; C has never been run on x."""
    run = [("A", at, place) for at in (10, 100, 1000) for place in "xy"]
    run += [("B", 10, "x"), ("B", 10, "y"), ("B", 100, "x"), ("C", 10, "y"), ("C", 1000, "y")]
    assert not_run(run, "panels") == [
        "B at T = 100 (1 of 2 panels) and 1,000",
        "C at T = 100 (1 of 2 panels)",
    ]
    assert not_run(run[:6], "panels") == []


def test_fields_are_at_the_places_of_horizon_and_epsilon(cells):
    """Three places: at T = 100 both win at 1, at T = 1000 one at each epsilon; a field reaches 0.48 to each side."""
    colours = {"dp_se": "#111111", "dp_ucb": "#222222"}
    drawing = describe({"title": "Winners", "panels": PANELS}, Cells([*cells, made_up("dp_ucb", 1, 100, 3.0)]), colours)
    (panel,) = drawing.panels
    *fields, texts = panel.marks
    assert (panel.x.names, panel.y.names) == (["100", "1,000"], ["0.1", "1"])
    assert (texts.x.tolist(), texts.y.tolist(), texts.texts) == ([0, 1, 1], [1, 0, 1], ["DP-UCB", "DP-SE", "DP-UCB"])
    assert [(field.colour, field.opacity) for field in fields] == [
        ("#222222", CLEAR),
        ("#111111", CLEAR),
        ("#222222", PALE),
    ]
    assert [edge.tolist() for edge in (fields[1].x, fields[1].low, fields[1].high)] == [
        [0.52, 1.48],
        [-0.48, -0.48],
        [0.48, 0.48],
    ]
    assert drawing.legend == ()
    assert drawing.size == pytest.approx((0.5 + 0.5 + 2 * 1.05, 0.5 + 0.6 + 2 * 0.34))
    assert [(axis.low, axis.high) for axis in (panel.x, panel.y)] == [(-0.5, 1.5)] * 2
    assert panel.words == [
        "DP-UCB at T = 100, ε = 1",
        "DP-SE at T = 1000, ε = 0.1",
        "DP-UCB at T = 1000, ε = 1, not clearly",
    ]


def test_what_cannot_be_compared_is_one_line(cells):
    with pytest.raises(UserError, match=r"figure\.panels: no two private policies of the panel .* share"):
        describe({"title": "Winners", "panels": PANELS}, cells[:1], {})
    with pytest.raises(UserError, match=r"figure\.epsilons: must be numbers above 0 with a promise, and none without"):
        describe({"title": "Winners", "panels": PANELS, "epsilons": [1]}, cells, {})
    with pytest.raises(UserError, match=r"figure\.promise: must be {scope: SCOPE, delta: NUMBER}, SCOPE one of transc"):
        describe({"title": "Winners", "panels": PANELS, "promise": {"scope": "none"}, "epsilons": [1]}, cells, {})
    with pytest.raises(UserError, match=r"figure\.value: speed is unknown"):
        describe({"title": "Winners", "panels": PANELS, "value": "speed"}, cells, {})


def test_variants_of_a_policy_are_told_apart_in_their_fields(cells):
    """Each wins at one place; its parameter stands in a second line."""
    variant = made_up("dp_se", 1, 1000, 2.0)
    variant = replace(variant, cell=replace(variant.cell, policy=replace(variant.cell.policy, beta=0.5)))
    drawing = describe({"title": "Winners", "panels": PANELS}, Cells([*cells, variant]), {})
    assert drawing.panels[0].marks[-1].texts == ["DP-SE,\nβ = default", "DP-SE,\nβ = 0.5"]


def test_six_panels_are_in_three_rows(cells):
    drawing = describe({"title": "Winners", "panels": PANELS * 6}, cells, {})
    assert [len(row) for row in drawing.rows] == [2, 2, 2]
    assert drawing.size == pytest.approx((0.5 + 2 * (0.5 + 1.05), 0.5 + 3 * (0.6 + 2 * 0.34)))
