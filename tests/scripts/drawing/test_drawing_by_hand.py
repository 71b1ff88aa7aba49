"""Figures of laws, and baselines of drawings, against numbers computed by hand."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import integrate

from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series, Texts, even_columns, in_rows, labels
from scripts.drawing.kinds import laws
from scripts.drawing.render import render
from scripts.drawing.tables import MEANS, table_of_drawing

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
    rows = table_of_drawing(drawing)
    means = rows[rows.vertex == MEANS].set_index("part")
    words, numbers = ["text", "look", "x", "y", "low", "high"], ["x", "y", "low", "high"]
    expected = ["twice", "#112233ff -- o 1.4", *np.array([7 / 3, 14 / 3, 7 / 3, 7]).astype("float32")]
    assert means.loc["line with intervals", words[:2] + numbers[1:]].tolist() == expected[:2] + expected[3:]
    assert means.loc["line with intervals", "x"] == 7 / 3
    assert means.loc["band", ["text", "look", "low", "high"]].tolist() == [
        "about",
        "#80808040",
        *np.array([4 / 3, 10 / 3]).astype("float32"),
    ]
    assert means.loc["legend", "look"].tolist() == ["#112233ff -- o", "#80808040"]
    assert means.loc["y scale", "text"] == "log"
    of_line = rows[(rows.part == "line with intervals") & (rows.vertex != MEANS)]
    assert of_line[["vertex", *numbers]].to_numpy().tolist() == [[0, 1, 2, 1, 3], [1, 2, 4, 2, 6], [2, 4, 8, 4, 12]]


def test_texts_and_named_places_of_an_axis():
    """Two texts beside their points, in the picture and in the baseline; no entry of a legend."""
    texts = Texts(np.array([0.0, 1.0]), np.array([2.0, 3.0]), ["first", "second"], "left")
    panel = Panel("one", Axis(low=-0.5, high=1.5, names=["here", "there"]), Axis(), [texts])
    drawing = Drawing(title="t", caption=[], shown="", rows=[[panel]], size=(3.0, 3.0), legend=labels([panel]))
    rows = table_of_drawing(drawing).set_index(["part", "text"])
    assert rows.loc[("text", "second"), ["x", "y"]].iloc[0].tolist() == [1, 3]
    assert ("x names", "here, there") in rows.index
    assert list(drawing.legend) == []
    figure = render(drawing)
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["here", "there"]
    assert [(text.get_text(), text.xy, text.get_position()) for text in axes.texts] == [
        ("first", (0, 2), (7, 0)),
        ("second", (1, 3), (7, 0)),
    ]
    plt.close(figure)


def drawn(width, legend, spare=0):
    return Drawing("a title", [], "", [], (width, 3.0), legend, spare)


def test_the_size_of_a_legend_by_hand():
    """A label of 10 characters takes 0.6 + 10 x 0.062 = 1.22 inches; each row beyond the spare ones 0.17."""
    ten = ["ten letter"] * 7
    assert [drawn(width, ten).legend_columns for width in (1.0, 2.43, 2.45, 3.65, 3.67, 9.0)] == [1, 1, 2, 2, 3, 3]
    assert drawn(3.0, []).legend_columns == 3
    heights = [drawn(width, ten, spare).height for width, spare in ((1.0, 0), (2.5, 0), (9.0, 0), (9.0, 1), (9.0, 4))]
    assert heights == pytest.approx([3 + 7 * 0.17, 3 + 4 * 0.17, 3 + 3 * 0.17, 3 + 2 * 0.17, 3.0])


def test_rows_of_panels_by_hand():
    assert [even_columns(panels) for panels in range(1, 11)] == [1, 2, 3, 4, 3, 3, 4, 4, 3, 4]
    assert [even_columns(panels, 2) for panels in range(1, 6)] == [1, 2, 2, 2, 2]
    panels = [Panel(title, Axis("x"), Axis("y"), []) for title in "abc"]
    rows = [[(panel.title, panel.x.label, panel.y.label) for panel in row] for row in in_rows(panels, 2)]
    assert rows == [[("a", "x", "y"), ("b", "x", "")], [("c", "x", "y")]]


def test_a_heading_has_fifteen_characters_to_an_inch():
    drawing = Drawing("four words and more", ["of it"], "", [], (0.7, 3.0))
    assert drawing.heading == "four words\nand more\nof it"
    assert Drawing("four words and more", [], "", [], (0.66, 3.0)).heading == "four\nwords and\nmore"


def test_a_picture_has_the_size_axes_and_marks_that_are_described():
    x = np.array([1.0, 10.0, 100.0])
    look = Look("#112233", "dashed", "s", width=2.5, marker_size=7.0, opacity=0.5, order=9.0, blunt=True)
    left = Panel(
        "left", Axis("x", "log", low=0.5, high=200.0), Axis("y", low=-1.0, high=4.0), [Series(x, x, look, "a")]
    )
    right = Panel("right", Axis("x"), Axis("y", "log"), [Series(x, x, Look("#445566"), "b", steps=True)])
    figure = render(Drawing("a title", [], "", [[left, right]], (6.0, 3.0), ["a", "b"]))
    try:
        assert figure.get_size_inches() == pytest.approx([6.0, 3.17])
        first, second = figure.axes
        scales = [(of.get_xscale(), of.get_yscale()) for of in (first, second)]
        assert scales == [("log", "linear"), ("linear", "log")]
        assert (first.get_xlim(), first.get_ylim()) == ((0.5, 200.0), (-1.0, 4.0))
        (line, steps) = (of.lines[0] for of in (first, second))
        assert (line.get_color(), line.get_linestyle(), line.get_marker()) == ("#112233", "--", "s")
        assert (line.get_linewidth(), line.get_markersize(), line.get_alpha(), line.get_zorder()) == (
            2.5,
            7.0,
            0.5,
            9.0,
        )
        assert line.get_solid_capstyle() == "butt"
        assert (line.get_drawstyle(), steps.get_drawstyle()) == ("default", "steps-post")
        assert figure.legends[0]._ncols == 2 + 1
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    finally:
        plt.close(figure)


def test_the_size_of_panels_of_laws():
    """3 inches for each panel across; 0.9 and 2.4 for each row."""
    panels = [{"title": "one", "count": 10, "total": 3}, {"title": "two", "count": 20, "total": 3}]
    config = {"title": "", "law": "gauss", "epsilon": 0.5, "delta": 0.01, "panels": panels}
    drawing = laws.describe(config, [], {})
    assert drawing.size == pytest.approx((3.0 * len(drawing.rows[0]), 0.9 + 2.4 * len(drawing.rows)))
    assert drawing.spare_legend_rows == 1
