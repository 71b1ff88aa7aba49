"""The kind of figure that draws exact variances of noise."""

import pytest

from experiments.errors import UserError
from experiments.store.stored import Cells
from scripts.drawing.kinds.variances import describe

PANEL = {"title": "a", "shows": "sums", "items": 4}
FIGURE = {"title": "noise", "epsilon": 2.0, "panels": [PANEL, {"title": "b", "shows": "mean", "items": 9}]}


def series(panel):
    return {mark.label: (mark.x.tolist(), mark.y.tolist()) for mark in panel.marks}


def test_four_items_by_hand():
    """Binary: 3 levels, 2 (3/2)^2 a node. Hybrid: 1, 2, 2 + 1, 3 draws of variance 2. Path: 3 nodes, loss 2.

    Arity 5: 2 digits, 3 = 5 - 1 - 1, 2 (2/2)^2 a node. Arity 19: a digit, a node for each item.
    """
    (each, mean) = describe(FIGURE, Cells(), {}).panels
    expected = {
        "binary tree": [4.5, 4.5, 9, 4.5],
        "hybrid mechanism": [2, 4, 6, 6],
        "path tree, printed scale": [6] * 4,
        "path tree, exact scale": [6] * 4,
        "signed digits of arity 5": [2, 4, 6, 4],
        "signed digits of arity 19": [0.5, 1, 1.5, 2],
    }
    assert series(each) == {name: ([1, 2, 3, 4], pytest.approx(values)) for name, values in expected.items()}
    made_for, means = series(mean)["hybrid mechanism"]
    assert made_for == [2, 4, 8]
    assert means[:2] == pytest.approx([3, 4.5])
    assert (each.x.scale, mean.x.scale) == ("linear", "log")


def test_the_printed_scale_needs_more():
    """16 items: 5 nodes, scales 4 and 3 of 2."""
    (panel,) = describe({**FIGURE, "panels": [{**PANEL, "items": 16}]}, Cells(), {}).panels
    drawn = series(panel)
    assert drawn["path tree, printed scale"][1] == [40] * 16
    assert drawn["path tree, exact scale"][1] == [22.5] * 16


def test_normal_noise_by_hand():
    """Three items, rho = 1/2. Binary: 2 levels, 2 a node. The square root: 89/64 (1, 5/4, 89/64)."""
    (panel,) = describe({"title": "noise", "rho": 0.5, "panels": [{**PANEL, "items": 3}]}, Cells(), {}).panels
    drawn = series(panel)
    assert drawn["binary tree, normal noise"][1] == pytest.approx([2, 2, 4])
    assert drawn["square root, normal noise"][1] == pytest.approx([89 / 64, 89 / 64 * 5 / 4, (89 / 64) ** 2])


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"panels": [{**PANEL, "items": 1}]}, "figure.items"),
        ({"panels": [{**PANEL, "items": True}]}, "figure.items"),
        ({"panels": [{**PANEL, "shows": "all"}]}, "shows"),
        ({"panels": [{"title": "a"}]}, "figure.panels"),
        ({"epsilon": 0}, "figure.epsilon"),
        ({"epsilon": None, "rho": -1}, "figure.rho"),
        ({"rho": 1}, "either epsilon or rho"),
        ({"epsilon": None}, "either epsilon or rho"),
    ],
)
def test_bad_keys_are_named(changed, named):
    with pytest.raises(UserError, match=named):
        describe({**FIGURE, **changed}, Cells(), {})
