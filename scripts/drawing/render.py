"""Turn a `Drawing` into a matplotlib figure and into files."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, assert_never

from scripts.drawing.look import own_look  # isort: skip  # must come before any import of matplotlib

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import NullFormatter

from experiments.whole_files import put
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series, labels
from scripts.drawing.settings import SMALL
from scripts.drawing.ticks import MinorTicks, PlainNumbers, PlainPowers

Handles = dict[str, Any]  # the matplotlib artist of each label


def render(drawing: Drawing) -> Figure:
    """The matplotlib figure of `drawing`. The caller must close it."""
    with own_look():
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
        if drawing.legend:
            _draw_legend(figure, drawing, handles)
        figure.suptitle(drawing.heading, fontsize=9)
        return figure


def save(drawing: Drawing, stem: Path, command: str) -> list[str]:
    """Write `stem`.pdf and `stem`.png, with `command` in their metadata; returns the paths."""
    figure = render(drawing)
    try:
        with own_look():
            _lay_out(figure)  # once for both files; `savefig` would do it for each
            png: Any = FigureCanvasAgg(figure)  # untyped
            png.print_png(image := BytesIO(), metadata={"Description": command})
            pdf: Any = FigureCanvasPdf(figure)
            pdf.print_pdf(page := BytesIO(), metadata={"Keywords": command, "CreationDate": None})
    finally:
        plt.close(figure)
    files = {f"{stem}.pdf": page, f"{stem}.png": image}
    for name, content in files.items():
        put(Path(name), content.getvalue(), lasting=False)
    return list(files)


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
        _name(axes.legend([handles[label] for label in entries], unnamed, loc=panel.legend, fontsize=SMALL), entries)
    return handles


def _draw_series(axes: Axes, series: Series) -> Any:
    look = _keywords(series.look) | ({"label": series.label} if series.label else {})
    if series.low is None or series.high is None:
        return axes.plot(series.x, series.y, drawstyle="steps-post" if series.steps else "default", **look)[0]
    halves = np.maximum([series.y - series.low, series.high - series.y], 0)
    return axes.errorbar(series.x, series.y, halves, capsize=2, **look)


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
    of = axes.xaxis if name == "x" else axes.yaxis
    if axis.scale == "log":
        of.set_major_formatter(PlainPowers())
        of.set_minor_formatter(PlainPowers(labelOnlyBase=False))
    elif axis.scale == "linear":
        of.set_major_formatter(PlainNumbers())
    if axis.decades_only:
        of.set_minor_formatter(NullFormatter())
    if not axis.numbered:
        of.set_ticks([])
    if name == "x":
        axes.set_xlim(axis.low, axis.high)
    else:
        axes.set_ylim(axis.low, axis.high)
    minor = of.get_minor_formatter().format_ticks(list(of.get_minorticklocs()))
    if axis.scale == "log" and axis.numbered and not any(minor):
        axes.add_artist(MinorTicks(of, axes))


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
