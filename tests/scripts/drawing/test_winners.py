"""The map of winners, from invented numbers with known winners."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing.kinds.winners import PALE, Spec, _looks, describe, wins
from scripts.drawing.legend import Entry
from scripts.drawing.words import not_run

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


def test_the_caption_names_who_was_not_run(cells):
    """At T = 100 DP-UCB was not run, with either epsilon."""
    drawing = describe({"title": "Winners", "panels": PANELS}, cells, {})
    assert drawing.caption == [f"{RUNS} runs; pale: others are recommended too", "not run: DP-UCB at T = 100"]
    longer = Cells([*cells, made_up("dp_ucb", 0.1, 100, 9.0)])
    assert len(describe({"title": "Winners", "panels": PANELS}, longer, {}).caption) == 1


def test_who_was_not_run_by_hand():
    """A at all; B not at 100 on one of two places, and nowhere at 1,000; C has never been run on x."""
    run = [("A", at, place) for at in (10, 100, 1000) for place in "xy"]
    run += [("B", 10, "x"), ("B", 10, "y"), ("B", 100, "x"), ("C", 10, "y"), ("C", 1000, "y")]
    assert not_run(run, "panels") == [
        "B at T = 100 (1 of 2 panels) and 1,000",
        "C at T = 100 (1 of 2 panels)",
    ]
    assert not_run(run[:6], "panels") == []


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
    assert {(mark.look.dashes, mark.look.marker, mark.look.marker_size) for mark in panel.marks} == {("none", "s", 9)}
    assert drawing.legend == ["DP-SE", "DP-UCB"]
    assert drawing.size == pytest.approx((1.2 + 2.4, 0.6 + 2.6))
    assert (panel.x.scale, panel.x.low, panel.x.high) == ("log", pytest.approx(1000 / 3), 3000)
    assert (panel.y.scale, panel.y.low, panel.y.high) == ("log", 0.05, 2.0)
    assert panel.x.decades_only
    assert panel.y.decades_only
    assert panel.words == ["DP-SE at T = 1000, ε = 0.1", "DP-UCB at T = 1000, ε = 1, not clearly"]


def test_what_cannot_be_compared_is_one_line(cells):
    with pytest.raises(UserError, match=r"figure\.panels: no two private policies of the panel .* share"):
        describe({"title": "Winners", "panels": PANELS}, cells[:1], {})
    with pytest.raises(UserError, match=r"figure\.epsilons: must be numbers above 0 with a promise, and none without"):
        describe({"title": "Winners", "panels": PANELS, "epsilons": [1]}, cells, {})
    with pytest.raises(UserError, match=r"figure\.promise: must be {scope: SCOPE, delta: NUMBER}, SCOPE one of transc"):
        describe({"title": "Winners", "panels": PANELS, "promise": {"scope": "none"}, "epsilons": [1]}, cells, {})
    with pytest.raises(UserError, match=r"figure\.value: speed is unknown"):
        describe({"title": "Winners", "panels": PANELS, "value": "speed"}, cells, {})


def test_variants_of_a_policy_have_a_label_and_a_marker_each(cells):
    """Each wins at one place."""
    variant = made_up("dp_se", 1, 1000, 2.0)
    variant = replace(variant, cell=replace(variant.cell, policy=replace(variant.cell.policy, beta=0.5)))
    drawing = describe({"title": "Winners", "panels": PANELS}, Cells([*cells, variant]), {})
    looks = {mark.label: (mark.look.colour, mark.look.marker) for mark in drawing.panels[0].marks}
    (first, second) = looks.values()
    assert set(looks) == {"DP-SE, β = default", "DP-SE, β = 0.5"}
    assert (first[1], second[1]) == ("s", "o"), "a square fills best"
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_five_winners_of_one_colour_have_five_markers():
    entries = [Entry(f"form {number}", "#111111", number, number) for number in range(5)]
    assert [look.marker for look in _looks([*entries, *entries]).values()] == ["s", "o", "^", "D", "v"]
    other = Entry("other", "#222222", 0, 5)
    assert [look.marker for look in _looks([entries[0], other]).values()] == ["s", "s"]


def test_six_panels_are_in_two_rows(cells):
    drawing = describe({"title": "Winners", "panels": PANELS * 6}, cells, {})
    assert [len(row) for row in drawing.rows] == [3, 3]
    assert drawing.size == pytest.approx((1.2 + 3 * 2.4, 0.6 + 2 * 2.6))
