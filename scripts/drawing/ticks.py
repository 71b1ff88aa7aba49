"""Ticks and numbers of axes, drawn faster than by matplotlib: 10³ as plain text instead of mathtext.

Mathtext took a fifth of the time of a figure, and minor ticks two fifths of the rest: matplotlib parses every formula,
and updates every tick, which is two lines and two texts, for the layout and again for each file.
"""

import re

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT, MarkerStyle
from matplotlib.ticker import LogFormatterSciNotation, NullLocator, ScalarFormatter

from scripts.drawing.numbers import MINUS, SUPERSCRIPTS


class PlainPowers(LogFormatterSciNotation):
    """Numbers of a logarithmic axis as plain text."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return plain(super().__call__(x, pos))


class PlainNumbers(ScalarFormatter):
    """Numbers of a linear axis as plain text, with a common power of ten at its end."""

    def __init__(self) -> None:
        super().__init__(useMathText=False)

    def get_offset(self) -> str:
        return re.sub(rf"^1e([{MINUS}\d]+)", lambda found: f"×10{_raised(found[1])}", super().get_offset())


class MinorTicks(Line2D):
    """The minor ticks of an axis as the markers of one line; they replace matplotlib's own minor ticks.

    Their positions are computed when they are drawn, because they depend on the size of the panel.
    """

    def __init__(self, of: Axis, axes: Axes) -> None:
        self.of, self.locator = of, of.get_minor_locator()
        self.along_x = isinstance(of, XAxis)
        super().__init__(
            [],
            [],
            transform=axes.get_xaxis_transform() if self.along_x else axes.get_yaxis_transform(),
            color=mpl.rcParams["xtick.color"],  # the y axis has the same settings
            linestyle="none",
            marker=MarkerStyle(TICKDOWN if self.along_x else TICKLEFT),
            markersize=mpl.rcParams["xtick.minor.size"],
            markeredgewidth=mpl.rcParams["xtick.minor.width"],
            zorder=of.get_zorder(),
            clip_on=False,
        )
        self.set_in_layout(False)
        of.set_minor_locator(NullLocator())
        self.locator.set_axis(of)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the ticks within the current limits of the axis."""
        low, high = sorted(self.of.get_view_interval())
        places = np.asarray(self.locator())
        places = places[(places >= low) & (places <= high)]
        edge = np.zeros(len(places))
        self.set_data(*((places, edge) if self.along_x else (edge, places)))
        super().draw(renderer)


def plain(formula: str) -> str:
    r"""A tick label of matplotlib such as $\mathdefault{2\times10^{3}}$ as plain text: 2×10³."""
    text = formula.replace("\\mathdefault", "").replace("\\times", "×").replace("$", "")
    text = re.sub(r"\^\{([-\d]+)\}", lambda found: _raised(found[1]), text)
    return text.strip("{}").replace("-", MINUS)


def _raised(power: str) -> str:
    return power.replace(MINUS, "-").translate(SUPERSCRIPTS)
