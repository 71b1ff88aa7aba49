"""Figures of laws, and baselines of drawings, against numbers computed by hand."""

import math

import numpy as np
import pytest
from scipy import integrate

from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series, labels
from scripts.drawing.kinds import laws
from scripts.drawing.tables import tables

LAWS = {
    # density of the value after `total` rewards of 1 in `count` pulls, and where it is centred
    "gauss": lambda total, count: (
        lambda x: math.exp(-((x - total / count) ** 2) * count / 4) / math.sqrt(4 * math.pi / count)
    ),
    "beta": lambda total, count: beta_density(total + 1 + count // 8 + 1, count - total + 1 + count // 8 + 1),
}


def beta_density(a, b):
    constant = math.gamma(a + b) / (math.gamma(a) * math.gamma(b))
    return lambda x: constant * x ** (a - 1) * (1 - x) ** (b - 1)


def described(law, **panel):
    config = {"title": "", "law": law, "epsilon": 0.5, "delta": 0.01, "panels": [{"title": "one", **panel}]}
    (panel,) = laws.describe(config, [], {}).panels
    return {mark.label: mark for mark in panel.marks}


@pytest.mark.parametrize("law", LAWS)
def test_the_laws_that_a_figure_shows(law):
    """F after 3 rewards of 1 in 10 pulls and F' after 4, by integrals of their densities."""
    marks = described(law, count=10, total=3)
    low = 0.0 if law == "beta" else -20.0
    for label, total in (("F", 3), ("F′, one more reward is 1", 4)):
        for place in (200, 400, 600):
            x = marks[label].x[place]
            expected, _ = integrate.quad(LAWS[law](total, 10), low, x)
            assert marks[label].y[place] == pytest.approx(expected, abs=1e-7)


def test_where_the_changed_law_may_lie():
    """At F = 1/2, epsilon 1/2: from max(.49/e^.5, 1 - e^.5/2 - .01) to min(e^.5/2 + .01, 1 - .49/e^.5)."""
    marks = described("gauss", count=10, total=3)
    at = int(np.argmin(np.abs(marks["F"].y - 0.5)))
    level = marks["F"].y[at]
    growth = math.exp(0.5)
    least = max((level - 0.01) / growth, 1 - growth * (1 - level) - 0.01)
    largest = min(growth * level + 0.01, 1 - (1 - level - 0.01) / growth)
    band = marks["where F′ may lie"]
    assert (band.low[at], band.high[at]) == pytest.approx((least, largest), rel=1e-9)


def test_what_a_baseline_holds():
    """Of a line with intervals and of a band: numbers, looks, legend."""
    x = np.array([1.0, 2.0, 4.0])
    line = Series(x, 2 * x, Look("#112233", "dashed", "o"), "twice", low=x, high=3 * x)
    band = Band(x, x - 1, x + 1, "0.5", 0.25, "about")
    panels = [Panel("left", Axis("t"), Axis("regret", "log"), [line, band])]
    drawing = Drawing(title="a title", caption=[], shown="", rows=[panels], size=(3.0, 3.0), legend=labels(panels))
    artists, points = tables(drawing)
    shown = artists.set_index("part")
    assert shown.loc["line with intervals", ["text", "look", "vertices", "x", "y", "low", "high"]].tolist() == [
        "twice",
        f"#112233ff -- o {shown.loc['line with intervals', 'look'].split()[-1]}",
        "3",
        *("2.33333333333", "4.6666667", "2.3333333", "7"),
    ]
    assert shown.loc["band", ["text", "look", "low", "high"]].tolist() == [
        "about",
        "#80808040",
        "1.3333333",
        "3.3333333",
    ]
    assert shown.loc["legend", "look"].tolist() == ["#112233ff -- o", "#80808040"]
    assert shown.loc["y scale", "text"] == "log"
    of_line = points[points.artist == shown.loc["line with intervals", "artist"]]
    assert of_line[["x", "y", "low", "high"]].to_numpy().tolist() == [
        ["1", "2", "1", "3"],
        ["2", "4", "2", "6"],
        ["4", "8", "4", "12"],
    ]
