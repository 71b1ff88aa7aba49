"""From a `Drawing` to a matplotlib figure and to files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from scripts.drawing.drawing import Axis, Band, Drawing, Look, Panel, Series, labels
from scripts.drawing.style import RC_PARAMS, SMALL


def render(drawing: Drawing) -> Figure:
    """The picture of `drawing`. Close the figure when it is done with."""
    with mpl.rc_context(RC_PARAMS):
        columns = max(map(len, drawing.rows))
        figure, grid = plt.subplots(
            len(drawing.rows), columns, figsize=(drawing.size[0], drawing.height), squeeze=False
        )
        for row, axes_of_row in zip(drawing.rows, grid, strict=True):
            for panel, axes in zip(row, axes_of_row, strict=False):
                _draw_panel(axes, panel)
            for axes in axes_of_row[len(row) :]:
                axes.set_visible(False)
        if drawing.legend:
            _draw_legend(figure, drawing)
        figure.suptitle(drawing.heading, fontsize=9)
        return figure


def save(drawing: Drawing, stem: Path, command: str) -> list[str]:
    """Write `stem`.pdf and `stem`.png with the command that makes them in their metadata; the paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure = render(drawing)
    try:
        with mpl.rc_context(RC_PARAMS):
            figure.savefig(f"{stem}.pdf", metadata={"Keywords": command, "CreationDate": None})
            figure.set_layout_engine("none")  # the layout is found once
            figure.savefig(f"{stem}.png", metadata={"Description": command})
    finally:
        plt.close(figure)
    return [f"{stem}.pdf", f"{stem}.png"]


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for mark in panel.marks:
        if isinstance(mark, Band):
            words: dict[str, Any] = {"label": mark.label} if mark.label else {}
            axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=mark.opacity, linewidth=0, **words)
        elif isinstance(mark, Series):
            _draw_series(axes, mark)
        else:
            assert_never(mark)
    axes.set(title=panel.title, xscale=panel.x.scale, yscale=panel.y.scale, xlabel=panel.x.label, ylabel=panel.y.label)
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if panel.legend is not None:
        entries = labels([panel])
        axes.legend(_handles([axes], entries), entries, loc=panel.legend, fontsize=SMALL)


def _draw_series(axes: Axes, series: Series) -> None:
    look = _keywords(series.look)
    if series.label:
        look["label"] = series.label
    if series.low is None or series.high is None:
        axes.plot(series.x, series.y, drawstyle="steps-post" if series.steps else "default", **look)
        return
    halves = np.maximum([series.y - series.low, series.high - series.y], 0)
    axes.errorbar(series.x, series.y, halves, capsize=2, **look)


def _keywords(look: Look) -> dict[str, Any]:
    """What matplotlib calls the parts of a look."""
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
    if axis.decades_only:
        of.set_minor_formatter(NullFormatter())
    if not axis.numbered:
        of.set_ticks([])
    if name == "x":
        axes.set_xlim(axis.low, axis.high)
    else:
        axes.set_ylim(axis.low, axis.high)


def _draw_legend(figure: Figure, drawing: Drawing) -> None:
    """One legend below all panels."""
    figure.legend(
        _handles(figure.axes, drawing.legend),
        list(drawing.legend),
        loc="outside lower center",
        ncols=drawing.legend_columns,
        handlelength=3,
    )


def _handles(panels: Sequence[Axes], entries: Sequence[str]) -> list[Any]:
    """For each label of a legend the first thing that has it."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return [found[label] for label in entries]
