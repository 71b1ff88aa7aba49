"""Turn a `Drawing` into a matplotlib figure and into files."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, assert_never

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.axis import XAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT, MarkerStyle
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from experiments.store.whole_files import put
from scripts.drawing.citation import own_entry
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series, Texts, labels
from scripts.drawing.files import figure_file
from scripts.drawing.fit import fitted
from scripts.drawing.legend_grid import draw_legend_grid
from scripts.drawing.numbers import MINUS, SUPERSCRIPTS
from scripts.drawing.output import Output

mpl.use("Agg")  # draws without a window, also on machines without a display

Handles = dict[str, Any]  # the matplotlib artist of each label
PUBLISHED = Output()
ORDER = ("png", "pdf", "svg", "pgf")  # the first needs the resolution that others change; pgf changes the figure
SMALL = 7  # points, of a legend inside a panel
RC_PARAMS: Any = {  # Any, since matplotlib's type of its keys is private
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "figure.titlesize": 9,
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "private-bandits",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


@contextmanager
def own_look(settings: Any = MappingProxyType({})) -> Iterator[None]:
    """A context in which matplotlib has the settings of this repository, not those of a user's `matplotlibrc`.

    `settings` of a style replace them.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC_PARAMS)
        mpl.rcParams.update(settings)
        yield


def render(drawing: Drawing, output: Output = PUBLISHED) -> Figure:
    """The matplotlib figure of `drawing`. The caller must close it."""
    with own_look(output.settings):
        if output.width is not None:
            drawing = fitted(drawing, output.width)
        columns = max(map(len, drawing.rows))
        figure, grid = plt.subplots(
            len(drawing.rows), columns, figsize=(drawing.size[0], drawing.height), squeeze=False
        )
        handles: Handles = {}
        for row, axes_of_row in zip(drawing.rows, grid, strict=True):
            for panel, axes in zip(row, axes_of_row, strict=False):
                handles = _draw_panel(axes, panel) | handles
            for axes in axes_of_row[len(row) :]:
                axes.set_visible(False)
        if drawing.legend and output.width is not None:
            draw_legend_grid(figure, drawing.legend, handles)
        elif drawing.legend:
            _draw_legend(figure, drawing, handles)
        if drawing.heading:
            figure.suptitle(drawing.heading)
        return figure


def save(drawing: Drawing, stem: Path, command: str, output: Output = PUBLISHED) -> list[str]:
    """Write `stem`.pdf, `stem`.png or whatever the `output` asks for; returns the paths.

    Their metadata hold the `command`, how to cite this repository, and the picture in words if it has no title.
    Raises `UserError` without LaTeX for pgf.
    """
    about = {"Description": command, "Source": own_entry(), **({} if drawing.title else {"Title": drawing.words})}
    figure = render(drawing, output)
    try:
        with own_look(output.settings):
            _lay_out(figure)  # once for all files; `savefig` would do it for each
            files = {f"{stem}.{name}": figure_file(figure, name, about) for name in ORDER if name in output.formats}
    finally:
        plt.close(figure)
    for name, content in files.items():
        put(Path(name), content, lasting=False)
    return [f"{stem}.{name}" for name in output.formats]


def _lay_out(figure: Figure) -> None:
    """Compute the layout once and switch the layout engine off."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    figure.set_layout_engine("none")


def _draw_panel(axes: Axes, panel: Panel) -> Handles:
    """Draw a panel; returns the first artist of each label, for the legend."""
    handles: Handles = {}
    for mark in panel.marks:
        if isinstance(mark, Texts):
            _draw_texts(axes, mark)
            continue
        if isinstance(mark, Band):
            drawn: Any = axes.fill_between(
                mark.x, mark.low, mark.high, color=mark.colour, alpha=mark.opacity, linewidth=0
            )
        elif isinstance(mark, Series):
            drawn = _draw_series(axes, mark)
        else:
            assert_never(mark)
        handles.setdefault(mark.label, drawn)
    axes.set(title=panel.title, xscale=panel.x.scale, yscale=panel.y.scale, xlabel=panel.x.label, ylabel=panel.y.label)
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if panel.legend is not None:
        entries = labels([panel])
        unnamed = [" "] * len(entries)
        _name(
            axes.legend(
                [handles[label] for label in entries],
                unnamed,
                loc=panel.legend,
                fontsize=min(SMALL, mpl.rcParams["legend.fontsize"]),
            ),
            entries,
        )
    return handles


def _draw_series(axes: Axes, series: Series) -> Any:
    look = _keywords(series.look) | ({"label": series.label} if series.label else {})
    if series.low is None or series.high is None:
        return axes.plot(series.x, series.y, drawstyle="steps-post" if series.steps else "default", **look)[0]
    halves = np.maximum([series.y - series.low, series.high - series.y], 0)
    return axes.errorbar(series.x, series.y, halves, capsize=2, **look)


def _draw_texts(axes: Axes, texts: Texts) -> None:
    apart = {"center": 0, "left": SMALL, "right": -SMALL}[texts.side]  # points
    for x, y, text in zip(texts.x, texts.y, texts.texts, strict=True):
        axes.annotate(
            text, (x, y), (apart, 0), textcoords="offset points", size=SMALL, ha=texts.side, va="center_baseline"
        )


def _keywords(look: Look) -> dict[str, Any]:
    """A look as keyword arguments of matplotlib."""
    optional = {
        "linewidth": look.width,
        "markersize": look.marker_size,
        "alpha": look.opacity,
        "zorder": look.order,
        "solid_capstyle": "butt" if look.blunt else None,
    }
    chosen = {name: value for name, value in optional.items() if value is not None}
    return {"color": look.colour, "linestyle": look.dashes, "marker": look.marker, **chosen}


def _set_axis(axes: Axes, name: str, axis: Axis) -> None:
    drawn = axes.xaxis if name == "x" else axes.yaxis
    if axis.scale == "log":
        drawn.set_major_formatter(PlainPowers())
        drawn.set_minor_formatter(PlainPowers(labelOnlyBase=False))
    elif axis.names:
        drawn.set_ticks(range(len(axis.names)), axis.names)
        drawn.grid(visible=False)
    elif axis.scale == "linear":
        drawn.set_major_formatter(PlainNumbers())
    if not axis.numbered:
        drawn.set_ticks([])
    if name == "x":
        axes.set_xlim(axis.low, axis.high)
    else:
        axes.set_ylim(axis.low, axis.high)
    if axis.decades_only:
        drawn.set_minor_formatter(NullFormatter())
        low, high = np.log10(np.sort(drawn.get_view_interval()))
        if math.floor(high) - math.ceil(low) < 1:  # powers of ten: one or none
            drawn.set_major_locator(LogLocator(subs=(1, 2, 5)))
            drawn.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    minor = drawn.get_minor_formatter().format_ticks(list(drawn.get_minorticklocs()))
    if axis.scale == "log" and axis.numbered and not any(minor):
        axes.add_artist(MinorTicks(drawn, axes))


def _draw_legend(figure: Figure, drawing: Drawing, handles: Handles) -> None:
    """One legend below all panels."""
    legend = figure.legend(
        [handles[label] for label in drawing.legend],
        [" "] * len(drawing.legend),
        loc="outside lower center",
        ncols=drawing.legend_columns,
        handlelength=3,
    )
    _name(legend, drawing.legend)


def _name(legend: Legend, entries: Sequence[str]) -> None:
    """Write the labels into a legend afterwards, because matplotlib leaves out labels that begin with _."""
    for text, entry in zip(legend.get_texts(), entries, strict=True):
        text.set_text(entry)


# Ticks and numbers of axes are drawn faster than by matplotlib, 10³ as plain text instead of mathtext. Mathtext took a
# fifth of the time of a figure, and minor ticks two fifths of the rest: matplotlib parses every formula, and updates
# every tick, which is two lines and two texts, for the layout and again for each file.


class PlainPowers(LogFormatterSciNotation):
    """Numbers of a logarithmic axis as plain text."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return plain_number(super().__call__(x, pos))


class PlainNumbers(ScalarFormatter):
    """Numbers of a linear axis as plain text, with a common power of ten at its end."""

    def __init__(self) -> None:
        super().__init__(useMathText=False)

    def get_offset(self) -> str:
        return re.sub(rf"^1e([{MINUS}\d]+)", lambda match: f"×10{_raised(match[1])}", super().get_offset())


class MinorTicks(Line2D):
    """The minor ticks of an axis as the markers of one line; they replace matplotlib's own minor ticks.

    Their positions are computed when they are drawn, because they depend on the size of the panel.
    """

    def __init__(self, axis: MatplotlibAxis, axes: Axes) -> None:
        self.measured, self.locator = axis, axis.get_minor_locator()
        self.along_x = isinstance(axis, XAxis)
        super().__init__(
            [],
            [],
            transform=axes.get_xaxis_transform() if self.along_x else axes.get_yaxis_transform(),
            color=mpl.rcParams["xtick.color"],  # the y axis has the same settings
            linestyle="none",
            marker=MarkerStyle(TICKDOWN if self.along_x else TICKLEFT),
            markersize=mpl.rcParams["xtick.minor.size"],
            markeredgewidth=mpl.rcParams["xtick.minor.width"],
            zorder=axis.get_zorder(),
            clip_on=False,
        )
        self.set_in_layout(False)
        axis.set_minor_locator(NullLocator())
        self.locator.set_axis(axis)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the ticks within the current limits of the axis."""
        low, high = sorted(self.measured.get_view_interval())
        places = np.asarray(self.locator())
        places = places[(places >= low) & (places <= high)]
        edge = np.zeros(len(places))
        self.set_data(*((places, edge) if self.along_x else (edge, places)))
        super().draw(renderer)


def plain_number(formula: str) -> str:
    r"""A tick label of matplotlib such as $\mathdefault{2\times10^{3}}$ as plain text: 2×10³."""
    text = formula.replace("\\mathdefault", "").replace("\\times", "×").replace("$", "")
    text = re.sub(r"\^\{([-\d]+)\}", lambda match: _raised(match[1]), text)
    return text.strip("{}").replace("-", MINUS)


def _raised(power: str) -> str:
    return power.replace(MINUS, "-").translate(SUPERSCRIPTS)
