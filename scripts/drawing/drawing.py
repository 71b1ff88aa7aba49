"""A figure as data, before it is drawn.

A kind of figure (`scripts.drawing.kinds`) describes stored results as a `Drawing`. The picture (`render`), the tables
of its baseline (`tables`), the caption and the alternative text for screen readers are all made from it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bandits.arrays import FloatArray
from scripts.drawing.numbers import SUPERSCRIPTS

Scale = Literal["linear", "log"]
LegendPlace = Literal["best", "upper left"]
Dashes = str | tuple[int, tuple[float, ...]]  # "solid", "dashed", "none", or an offset and lengths
CHARACTERS = 15  # of a heading, per inch
LONGEST = 1800  # characters of an alternative text


@dataclass(frozen=True)
class Look:
    """How a curve is drawn: its line, its markers, or both.

    Attributes
    ----------
    width: of the line, in points; None for the default.
    order: matplotlib's zorder, larger above smaller; None for the default.
    blunt: whether a wide line ends exactly at its last point.
    """

    colour: str
    dashes: Dashes = "solid"
    marker: str = "none"
    width: float | None = None
    marker_size: float | None = None
    opacity: float | None = None
    order: float | None = None
    blunt: bool = False


@dataclass(frozen=True)
class Series:
    """A curve, points, or points with intervals: shapes (points,).

    Attributes
    ----------
    label: its text in the legend; empty if it is not in the legend.
    low, high: ends of the interval at every point; None without intervals.
    steps: whether it is a step function, constant until the next point.
    """

    x: FloatArray
    y: FloatArray
    look: Look
    label: str = ""
    low: FloatArray | None = None
    high: FloatArray | None = None
    steps: bool = False


@dataclass(frozen=True)
class Band:
    """A shaded area between two curves: shapes (points,)."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    colour: str
    opacity: float | None = None
    label: str = ""


@dataclass(frozen=True)
class Texts:
    """Black texts in a panel, one at each point: shapes (points,).

    Attributes
    ----------
    side: where the point is, seen from the text: in its middle, or at its left or right end.
    """

    x: FloatArray
    y: FloatArray
    texts: Sequence[str]
    side: Literal["center", "left", "right"] = "center"


Mark = Series | Band | Texts


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes
    ----------
    low, high: its limits; None for those of the data.
    numbered: whether it has ticks with numbers.
    names: of the places 0, 1, 2, ... of a linear axis, in place of numbers.
    decades_only: whether a logarithmic axis has numbers at powers of ten only, or at 1, 2 and 5 times them if it shows
        fewer than two.
    """

    label: str = ""
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    numbered: bool = True
    names: Sequence[str] = ()
    decades_only: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its curves and bands; later ones are drawn above earlier ones.

    Attributes
    ----------
    legend: the place of the panel's own legend, such as "best"; None for no legend of its own.
    words: its content as text, one line for each curve, for the alternative text.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    legend: LegendPlace | None = None
    words: Sequence[str] = ()


@dataclass(frozen=True)
class Drawing:
    """All that a figure shows.

    Attributes
    ----------
    rows: the panels by row; the last row may be shorter.
    caption: lines below the title.
    shown: one sentence that says what is drawn against what.
    legend: labels of the legend below the panels, in order; empty if panels have their own legends.
    size: width and height in inches; a long legend adds to the height, see `height`.
    spare_legend_rows: rows of the legend for which `size` already has room.
    notes: further terms of a longer caption, each with its lines.
    """

    title: str
    caption: Sequence[str]
    shown: str
    rows: Sequence[Sequence[Panel]]
    size: tuple[float, float]
    legend: Sequence[str] = ()
    spare_legend_rows: int = 0
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row]

    @property
    def heading(self) -> str:
        """Title and caption, wrapped to the width of the figure; empty without a title."""
        if not self.title:
            return ""
        given = "\n".join([self.title, *self.caption]).split("\n")
        return "\n".join(line for text in given for line in wrapped(text, int(self.size[0] * CHARACTERS)))

    @property
    def legend_columns(self) -> int:
        """Columns of the legend: as many as fit into the width with the longest label, at most three."""
        longest = 0.6 + 0.062 * max((len(label) for label in self.legend), default=1)
        return max(1, min(3, int(self.size[0] / longest)))

    @property
    def height(self) -> float:
        """Height of the whole figure in inches: each row of the legend beyond `spare_legend_rows` adds to it."""
        return self.size[1] + 0.17 * max(0, math.ceil(len(self.legend) / self.legend_columns) - self.spare_legend_rows)

    @property
    def words(self) -> str:
        """The alternative text of the figure for screen readers: axes, curves, and where they end."""
        start = f"{f'{self.title}. ' if self.title else ''}{self.shown[:1].upper()}{self.shown[1:]}."
        panels = [f"{panel.title}: {'; '.join(panel.words)}." for panel in self.panels if panel.words]
        text = without_mathtext(" ".join([start, *panels]))
        return text if len(text) <= LONGEST else f"{start} {len(panels)} panels with too many values for words."


def without_mathtext(text: str) -> str:
    """`text` without mathtext: powers as plain characters, as in 5·10⁷, and no $ around them."""
    powers = re.sub(r"\^\{(-?\d+)\}", lambda power: power[1].translate(SUPERSCRIPTS), text)
    without = re.sub(r"(?<!\\)\$", "", powers.replace("\\cdot", "·"))
    return without.replace("\\$", "$")


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of about `width` characters, broken between words but not inside mathtext."""
    lines = [""]
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and len(without_mathtext(longer)) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def labels(panels: Sequence[Panel]) -> list[str]:
    """Every label of the panels once, in order of first appearance."""
    marks = (mark for panel in panels for mark in panel.marks if not isinstance(mark, Texts))
    return list(dict.fromkeys(mark.label for mark in marks if mark.label))


def even_columns(panels: int, widest: int = 4) -> int:
    """How many columns, at most `widest`, make rows of nearly equal length, with as few rows as possible."""
    return math.ceil(panels / math.ceil(panels / widest))


def in_rows(panels: Sequence[Panel], columns: int) -> list[list[Panel]]:
    """The panels in rows; only the first panel of a row has a label on its y axis."""
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    return [[first, *(replace(panel, y=replace(panel.y, label="")) for panel in rest)] for first, *rest in rows]
