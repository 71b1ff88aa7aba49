"""A figure as data: what is drawn, before anything is drawn.

A kind of figure (`scripts.drawing.kinds`) describes stored results as a `Drawing`. The picture (`render`), the tables
of its baseline (`tables`), the caption and the words for those who do not see it all follow from it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bandits.arrays import FloatArray
from scripts.drawing.numbers import SUPERSCRIPTS

Scale = Literal["linear", "log"]
Place = Literal["best", "upper left"]
Dashes = str | tuple[int, tuple[float, ...]]  # "solid", "dashed", "none", or an offset and lengths
CHARACTERS = 15  # of a heading, in an inch
LONGEST = 1800  # characters that a screen reader is asked to read in one go


@dataclass(frozen=True)
class Look:
    """How a line, points or both are drawn.

    Attributes
    ----------
    width: of the line, in points; None for the usual one.
    order: what is drawn later lies above; None for the usual order.
    blunt: whether a wide line ends where its data do.
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
    label: its words in the legend; empty for what has none.
    low, high: ends of an interval around every point, if there are any.
    steps: whether it stays level until the next point.
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
class Axis:
    """An axis.

    Attributes
    ----------
    low, high: where it ends; None: where the data do.
    numbered: whether it has numbers.
    decades_only: whether a logarithmic axis has numbers at powers of ten alone.
    """

    label: str = ""
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    numbered: bool = True
    decades_only: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes with what is drawn in it, first what lies below.

    Attributes
    ----------
    legend: where a legend of its own goes, as in "best"; None for none.
    words: what it shows, a line for each thing, for those who do not see it.
    """

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Series | Band]
    legend: Place | None = None
    words: Sequence[str] = ()


@dataclass(frozen=True)
class Drawing:
    """All that a figure shows.

    Attributes
    ----------
    rows: of panels; the last row may be shorter.
    caption: below the title, a line for each thing that its reader must know.
    shown: in one sentence, what is drawn against what.
    legend: labels of the legend below the panels, in order; empty where panels have their own.
    size: width and height of the panels in inches; legends and captions add to the height what `height` says.
    notes: further terms and lines for a longer caption, as of a law.
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
        """Title and caption, as they stand above the panels, in lines that the figure is wide enough for."""
        given = "\n".join([self.title, *self.caption]).split("\n")
        return "\n".join(line for text in given for line in wrapped(text, int(self.size[0] * CHARACTERS)))

    @property
    def legend_columns(self) -> int:
        """How many columns of the longest label fit into the width, three at most."""
        longest = 0.6 + 0.062 * max((len(label) for label in self.legend), default=1)
        return max(1, min(3, int(self.size[0] / longest)))

    @property
    def height(self) -> float:
        """Of the whole figure in inches: a legend of more than `spare_legend_rows` rows makes it higher."""
        return self.size[1] + 0.17 * max(0, math.ceil(len(self.legend) / self.legend_columns) - self.spare_legend_rows)

    @property
    def words(self) -> str:
        """The picture for those who do not see it: axes, curves, and where they end."""
        start = f"{self.title}. {self.shown[:1].upper()}{self.shown[1:]}."
        panels = [f"{panel.title}: {'; '.join(panel.words)}." for panel in self.panels if panel.words]
        text = without_mathtext(" ".join([start, *panels]))
        return text if len(text) <= LONGEST else f"{start} {len(panels)} panels; the values are in the tables below."


def without_mathtext(text: str) -> str:
    """`text` with powers as plain characters, as in 5·10⁷, and without the $ around them."""
    powers = re.sub(r"\^\{(-?\d+)\}", lambda power: power[1].translate(SUPERSCRIPTS), text)
    without = re.sub(r"(?<!\\)\$", "", powers.replace("\\cdot", "·"))
    return without.replace("\\$", "$")


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of about `width` characters, broken between words, and not within mathematical text."""
    lines = [""]
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and len(without_mathtext(longer)) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def labels(panels: Sequence[Panel]) -> list[str]:
    """Every label of the panels once, in the order of mention."""
    return list(dict.fromkeys(mark.label for panel in panels for mark in panel.marks if mark.label))


def even_columns(panels: int, widest: int = 4) -> int:
    """Into how many columns, at most `widest`, so that the last row is as full as can be."""
    return math.ceil(panels / math.ceil(panels / widest))


def in_rows(panels: Sequence[Panel], columns: int) -> list[list[Panel]]:
    """The panels in rows; the first of a row alone names the y axis, which the others share."""
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    return [[first, *(replace(panel, y=replace(panel.y, label="")) for panel in rest)] for first, *rest in rows]
