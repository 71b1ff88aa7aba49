"""The legend of a figure for a paper: policies by row, what varies among their curves by column, constants once.

It is made from the labels of `scripts.drawing.legend`: a name, and after commas what distinguishes the curve.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerBase
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Transform

PARTS = re.compile(r"(?:\([^()]*\)|\$[^$]*\$|[^,]|,(?! ))+")  # a comma in brackets or in mathtext separates nothing
SIGN = " = "


@dataclass(frozen=True)
class LegendGrid:
    """The labels of a legend as a grid.

    Attributes
    ----------
    constants: what all labels with a value have in common, as in "ε = 1, transcript".
    columns: the values that vary, as in "0.1" or "K = 5"; none if the legend is a plain list.
    corner: the name that all columns share, as in "ε ="; empty if they share none.
    rows: by the text of a row the label of its curve in each column, by column; those of a plain list have "".
    """

    constants: str
    columns: Sequence[str]
    corner: str
    rows: Mapping[str, Mapping[str, str]]


def legend_grid(labels: Sequence[str]) -> LegendGrid:
    """The grid of different labels; its rows and columns are in the order of first mention."""
    parts = {label: [part.strip() for part in PARTS.findall(label)] for label in labels}
    valued = [part for part in parts.values() if any(SIGN in text for text in part[1:])]
    constants = [text for text in (valued[0][1:] if valued else []) if all(text in part[1:] for part in valued)]
    varying = {
        label: ", ".join(text for text in part[1:] if SIGN in text and text not in constants)
        for label, part in parts.items()
    }
    columns = list(dict.fromkeys(filter(None, varying.values())))
    rows: dict[str, dict[str, str]] = {}
    for label, part in parts.items():
        left = [text for text in part[1:] if not (SIGN in text and part in valued) and text not in constants]
        rows.setdefault(", ".join([part[0], *left]), {})[varying[label]] = label
    names = {column.partition(SIGN)[0] for column in columns}
    if len(names) > 1 or any(", " in column for column in columns):
        return LegendGrid(", ".join(constants), columns, "", rows)
    short = {column: column.partition(SIGN)[2] for column in columns}
    there = {row: {short.get(column, ""): label for column, label in on.items()} for row, on in rows.items()}
    return LegendGrid(", ".join(constants), list(short.values()), "".join(f"{name} =" for name in names), there)


class Head(Text):
    """The head of a column of a legend, which stands where its lines are."""


class HandlerHead(HandlerBase):
    """Draws a `Head` in place of a line."""

    def create_artists(
        self,
        legend: Legend,
        orig_handle: Artist,
        xdescent: float,
        ydescent: float,
        width: float,
        height: float,
        fontsize: float,
        trans: Transform,
    ) -> Sequence[Artist]:
        assert isinstance(orig_handle, Head)
        text = Text(width / 2 - xdescent, -ydescent, orig_handle.get_text(), ha="center", fontsize=fontsize)
        text.set_transform(trans)
        return [text]


def draw_legend_grid(figure: Figure, labels: Sequence[str], handles: Mapping[str, Any]) -> None:
    """The legend below all panels as a grid, with as many columns as are not too wide; the figure grows by it."""
    grid = legend_grid(labels)
    for entries, columns in _forms(grid, handles):
        gridded = any(isinstance(handle, Head) for handle, _ in entries)
        legend = figure.legend(
            [handle for handle, _ in entries],
            [" "] * len(entries),
            loc="outside lower center",
            ncols=columns,
            title=None if gridded else grid.constants or None,
            handlelength=2.4,
            columnspacing=1.2 if not grid.columns else 0.8,
            handler_map={Head: HandlerHead()},
        )
        for text, (_, word) in zip(legend.get_texts(), entries, strict=True):
            text.set_text(word)  # afterwards, because matplotlib leaves out labels that begin with _
        size = legend.get_window_extent(FigureCanvasAgg(figure).get_renderer())  # type: ignore[no-untyped-call]
        width, height = figure.get_size_inches()
        if size.width / figure.dpi <= width or columns == 1:
            figure.set_size_inches(width, height + size.height / figure.dpi + 0.05)
            return
        legend.remove()


def _forms(grid: LegendGrid, handles: Mapping[str, Any]) -> list[tuple[list[tuple[Any, str]], int]]:
    """Entries of a legend, which are filled in column by column, and the number of columns: the best form first."""
    forms = []
    if grid.columns:
        corner = ", ".join(filter(None, [grid.constants, grid.corner]))
        entries: list[tuple[Any, str]] = [(_blank(), corner), *((_blank(), row) for row in grid.rows)]
        for number, column in enumerate(grid.columns):
            entries.append((Head(0, 0, column), ""))
            for there in grid.rows.values():
                label = there.get(column, there.get("") if number == 0 else None)
                entries.append((_blank() if label is None else handles[label], ""))
        forms.append((entries, 1 + len(grid.columns)))
    short = [", ".join(filter(None, [row, _value(grid, column)])) for row, on in grid.rows.items() for column in on]
    plain = [(handles[label], text) for text, label in zip(short, _labels(grid), strict=True)]
    return [*forms, *((plain, columns) for columns in range(min(len(plain), 5), 0, -1))]


def _value(grid: LegendGrid, column: str) -> str:
    return f"{grid.corner} {column}".strip() if column else ""


def _labels(grid: LegendGrid) -> list[str]:
    return [label for on in grid.rows.values() for label in on.values()]


def _blank() -> Line2D:
    return Line2D([], [], linestyle="none")
