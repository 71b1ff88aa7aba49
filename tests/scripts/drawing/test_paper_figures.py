"""Figures for a paper: width, files, style, title, and the legend as a grid."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.errors import UserError
from scripts.drawing import citation, latex
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series
from scripts.drawing.fit import fitted
from scripts.drawing.legend_grid import legend_grid
from scripts.drawing.output import FORMATS, Output, read_output
from scripts.drawing.render import render


def test_a_style_of_the_user(tmp_path):
    file = tmp_path / "style" / "mine.yaml"
    file.parent.mkdir()
    file.write_text("{column: 2, text: 4.5, settings: {font.size: 6}}")
    output = read_output({"width": "text", "style": "mine", "format": "pdf"}, [tmp_path])
    assert output == Output(4.5, ("pdf",), {"font.size": 6})
    assert read_output({"width": 5, "style": "mine"}, [tmp_path]).width == 5.0
    for text, message in [
        ("{column: 2}", "text: missing"),
        ("{column: 2, text: 400}", "figure.width: must be"),
        ("{column: 2, text: 4, settings: {font.sise: 6}}", "settings: font.sise is unknown; did you mean font.size"),
        ("{column: 2, text: 4, settings: {font.size: huge-ish}}", "settings: font.size: "),
        ("- 2", "must be a mapping"),
        ("{column: 2", "while parsing"),
    ]:
        file.write_text(text)
        with pytest.raises(UserError, match=re.escape(message)):
            read_output({"style": "mine"}, [tmp_path])


def test_without_these_keys_a_figure_is_as_published():
    assert read_output({"title": "t", "panels": []}) == Output(None, FORMATS, {})
    assert FORMATS == ("pdf", "png")


def panel(title, label="", y="", x=""):
    return Panel(title, Axis(x), Axis(y), [Series(np.arange(3.0), np.arange(3.0), Look("black"), label)])


def test_rows_are_broken_where_panels_would_be_narrow():
    first = [panel("a", y="regret"), panel("b"), panel("c"), panel("d")]
    last = [panel("", y="log regret", x="t"), *[panel("", x="t")] * 3]
    drawing = Drawing("", [], "s", [first, last], (12.8, 6.1))
    narrow = fitted(drawing, 3.25)  # 1.5 inches and more: two panels
    assert [[one.title for one in row] for row in narrow.rows] == [["a", "b"], ["c", "d"]] * 2
    assert [[one.y.label for one in row] for row in narrow.rows] == [["regret", ""]] * 2 + [["log regret", ""]] * 2
    assert [[one.x.label for one in row] for row in narrow.rows] == [["t", "t"]] * 4
    assert narrow.size == pytest.approx((3.25, 4 * (0.62 * 3.25 / 2 + 0.45)))
    assert fitted(drawing, 6.0).rows == drawing.rows
    assert [len(row) for row in fitted(drawing, 5.5).rows] == [2, 2, 2, 2]  # three would fit, two are even


def test_the_legend_is_a_grid():
    labels = [f"{name}, ε = {value}, transcript" for name in ("DP-SE", "DP-UCB (a, b = 2)") for value in ("0.1", "1")]
    grid = legend_grid([*labels, "UCB1, not private", "upper bound, Theorem 4"])
    assert (grid.constants, grid.columns, grid.corner) == ("transcript", ["0.1", "1"], "ε =")
    assert grid.rows == {
        "DP-SE": {"0.1": labels[0], "1": labels[1]},
        "DP-UCB (a, b = 2)": {"0.1": labels[2], "1": labels[3]},
        "UCB1, not private": {"": "UCB1, not private"},
        "upper bound, Theorem 4": {"": "upper bound, Theorem 4"},
    }


def test_what_all_have_in_common_stands_once():
    grid = legend_grid(["A, ε = 1, transcript", "B, ε = 1, transcript, β = 2", "C, ε = 1, transcript, β = 3", "D"])
    assert (grid.constants, grid.columns, grid.corner) == ("ε = 1, transcript", ["2", "3"], "β =")
    assert list(grid.rows) == ["A", "B", "C", "D"]
    several = legend_grid(["A, ε = 1, K = 2", "A, ε = 2, K = 2", "A, ε = 2, K = 3"])
    assert (several.columns, several.corner) == (["ε = 1, K = 2", "ε = 2, K = 2", "ε = 2, K = 3"], "")
    assert legend_grid([]).rows == {}


def test_a_legend_that_is_too_wide_has_fewer_columns():
    names = [f"a policy with a long name {number}, ε = 1, transcript" for number in range(4)]
    together = replace(panel("a"), marks=[panel("", name).marks[0] for name in names])
    drawing = Drawing("", [], "s", [[together]], (4, 3), names)
    figure = render(drawing, Output(3.25))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"a policy with a long name {n}" for n in range(4)]
    assert legend.get_title().get_text() == "ε = 1, transcript"
    assert legend._ncols == 1
    assert figure.get_size_inches()[0] == 3.25
    wide = render(drawing, Output(9.0))
    assert wide.legends[0]._ncols == 4
    sizes = [figure.get_size_inches(), wide.get_size_inches()]
    narrow, less = (height - fitted(drawing, width).size[1] for width, height in sizes)
    assert narrow > less > 0  # the height of the legend


def test_text_as_latex():
    assert latex.escaped("5 % of A&B, x_1 #2") == r"5 \% of A\&B, x\_1 \#2"
    assert latex.escaped("T = $5\\cdot10^{7}$, 30 %") == r"T = $5\cdot10^{7}$, 30 \%"
    assert latex.escaped("1.5·10⁻⁷ ≤ ε") == (
        r"1.5\ensuremath{\cdot}10\ensuremath{{}^{-7}} \ensuremath{\le} \ensuremath{\varepsilon}"
    )
    assert latex.escaped(r"costs \$5 and a\b") == r"costs \$5 and a\textbackslash{}b"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Sajed and Sheffet (2019), Algorithm 3", ["sajed2019"]),
        ("Mishra and Thakurta (2015), as compared in Sajed and Sheffet (2019), section 5", ["sajed2019"]),
        ("ours; models of Wu et al. (2023) and Zhou and Zhang (2024)", ["wu2023"]),
        ("Tao, Wu, Zhao and Wang (2022), Algorithm 3", ["tao2022"]),
        ("Azize and Basu (2023, arXiv 2309.00557), form of this repository", ["azize2023b"]),
        ("folklore", []),
        ("Xu, Sajed and Sheffet (2019)", []),
    ],
)
def test_citations_have_entries(text, keys):
    assert citation.cited(text) == keys
    for entry in citation.bibtex(keys):
        assert entry.startswith("@")
        assert "  title = {{" in entry


def test_this_repository_has_an_entry():
    entry = citation.own_entry()
    assert entry.startswith("@misc{private_bandits,\n  author = {{The private-bandits authors}},\n")
    assert "  year = {2026}" in entry
