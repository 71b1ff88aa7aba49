"""The distribution of a number over runs, such as final regret: boxes or empirical distribution functions.

kind: distribution
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells each panel shows
value: regret (the default, at the horizon) or another quantity of the cells, see experiments/cells/
shows: box or ecdf
scale: linear or log
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bandits.arrays import FloatArray
from experiments.cells import QUANTITIES
from experiments.store.stored import Cells
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Scale, Series, in_rows, labels
from scripts.drawing.legend import Entry, colours_of, legend
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import (
    SCALES,
    PanelConditions,
    measured,
    read_spec,
    repeated,
    require_columns,
    require_panels,
    require_words,
)

SHOWS = ("box", "ecdf")


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    panels: list[dict[str, Any]]
    value: str = "regret"
    shows: str = "box"
    scale: str = "linear"

    def __post_init__(self) -> None:
        require_panels(self.panels)
        for name, allowed in (("value", QUANTITIES), ("shows", SHOWS), ("scale", SCALES)):
            require_words(name, [getattr(self, name)], allowed)

    @property
    def axis(self) -> str:
        """The name of the value of one run: that of the quantity without "mean"."""
        return QUANTITIES[self.value].removeprefix("mean ")


@dataclass(frozen=True)
class Spread:
    """The value of every run of a cell, and how it is drawn."""

    entry: Entry
    values: FloatArray


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition, a box or a step curve for each cell. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    inside = [repeated(conditions, cells) for conditions in spec.panels]
    together = Cells.of(inside)
    entries = legend(together, inside, colours_of((stored.cell.policy for stored in cells), colours))
    samples = [_spreads(spec, of_panel, entries) for of_panel in inside]
    most = max(map(len, samples))
    panels = [
        _panel(spec, conditions, of_panel, most) for conditions, of_panel in zip(spec.panels, samples, strict=True)
    ]
    box = spec.shows == "box"
    how = "boxes over 25 % to 75 % with whiskers from 5 % to 95 %" if box else "share of runs"
    end = f"T = {words.horizons(together)}, {words.runs(together)} runs"
    return Drawing(
        title=spec.title,
        caption=[f"{end}; whiskers 5 % to 95 %, box 25 % to 75 %, marker: median" if box else end],
        shown=f"{spec.axis}, {how}, {words.axes([spec.scale])}",
        rows=in_rows(panels, len(panels)),
        size=(1.4 + 3.0 * len(panels), 1.4 + 0.3 * most if box else 3.4),
        legend=labels(panels),
    )


def _spreads(spec: Spec, cells: Cells, entries: Mapping[str, Entry]) -> list[Spread]:
    values = measured(cells, spec.value)
    return [Spread(entries[stored.cell.key], runs.astype(float)) for stored, runs in zip(cells, values, strict=True)]


def _panel(spec: Spec, conditions: PanelConditions, samples: Sequence[Spread], most: int) -> Panel:
    together = np.concatenate([sample.values for sample in samples])
    wide = spec.scale == "log" and together.min() > 0 and (together.max() / together.min()) ** 1.1 > 10
    x = Axis(spec.axis, cast(Scale, spec.scale), decades_only=bool(wide))
    if spec.shows == "box":
        y = Axis(low=most - 0.4, high=-0.6, numbered=False)
        marks = [mark for place, sample in enumerate(samples) for mark in _box(sample, place)]
    else:
        y = Axis("share of runs with at most this much")
        marks = [_steps(sample) for sample in samples]
    lines = [
        "{} has median {} and 5 % to 95 % from {} to {}".format(
            sample.entry.label, *map(quantity, np.quantile(sample.values, [0.5, 0.05, 0.95]))
        )
        for sample in samples
    ]
    return Panel(conditions["title"], x, y, marks, words=lines)


def _box(sample: Spread, place: int) -> list[Series]:
    """Whiskers from 5 % to 95 %, a box over the middle half, every run as a dash, the median as a marker."""
    low, first, median, third, high = np.quantile(sample.values, [0.05, 0.25, 0.5, 0.75, 0.95])
    colour = sample.entry.colour
    level = np.full(2, float(place))
    runs = Look(colour, "none", "|", marker_size=3, opacity=0.4)
    return [
        Series(np.array([low, high]), level, Look(colour, width=1)),
        Series(np.array([first, third]), level, Look(colour, width=7, opacity=0.35, blunt=True)),
        Series(sample.values, np.full(len(sample.values), place + 0.25), runs),
        Series(
            np.array([median]), level[:1], Look(colour, "none", sample.entry.marker, marker_size=4), sample.entry.label
        ),
    ]


def _steps(sample: Spread) -> Series:
    """The empirical distribution function."""
    values = np.sort(sample.values)
    share = np.arange(len(values) + 1) / len(values)
    look = Look(sample.entry.colour, sample.entry.dashes)
    return Series(np.concatenate([values[:1], values]), share, look, sample.entry.label, steps=True)
