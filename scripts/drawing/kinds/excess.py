"""What rho adds: mean regret less that of the same policy without noise, against log log T / rho.

kind: excess
title: above the figure
free: the rho of the cells without noise, one for each instance and horizon
panels: a list of {title: ..., column: value or values}: which cells each panel shows
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandits.bounds.concentrated_kl import price_of_rho
from experiments import intervals
from experiments.errors import UserError
from experiments.evidence.means import values_of_mean
from experiments.intervals import Approximate, Interval
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, even_columns, in_rows, labels
from scripts.drawing.legend import COUNTERPART_COLOUR, PALETTE, dashes
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import read_spec, require_columns, require_panels, shown_in_panel

MARKERS = "os^Dv"


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    free: float
    panels: list[dict[str, Any]]

    def __post_init__(self) -> None:
        require_panels(self.panels)


def extra_regret(noisy: Stored, free: Stored) -> Interval:
    """The difference of the mean regrets of independent runs, with its approximate 95 % interval."""
    ends = [intervals.mean(values_of_mean(stored, "regret").astype(float), 0.05) for stored in (noisy, free)]
    centre = ends[0].estimate - ends[1].estimate
    half = math.hypot(*(end.high - end.estimate for end in ends))
    return Approximate(centre, centre - half, centre + half)


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition, with a curve for each horizon. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, ["rho"], cells)
    panels = [_panel(panel, shown_in_panel(panel, cells), spec.free) for panel in spec.panels]
    rows = in_rows(panels, columns := even_columns(len(panels)))
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(cells)} runs; differences that are not above 0 are left out"],
        shown="what ρ adds to mean regret against log log T / ρ, logarithmic axes; 95 % intervals",
        rows=rows,
        size=(1.2 + 3.2 * columns, 0.4 + 3.2 * len(rows)),
        legend=labels(panels),
    )


def _horizon(stored: Stored) -> int:
    return stored.cell.horizon


def _panel(panel: Mapping[str, Any], cells: Cells, free: float) -> Panel:
    marks: list[Series] = []
    lines: list[str] = []
    for number, (horizon, of_horizon) in enumerate(sorted(cells.grouped(_horizon).items())):
        without = of_horizon.where(rho=free)
        if len(without) != 1:
            raise UserError(
                f"figure.free: {len(without)} cells of {panel['title']} have rho = {free:g} at T = {horizon:g}"
            )
        noisy = [stored for stored in of_horizon if stored not in without]
        own, term, said = _curves(noisy, without[0], horizon, number)
        marks += [own, term]
        lines.append(said)
    return Panel(
        panel["title"],
        Axis("log log T / ρ", "log", decades_only=True),
        Axis("regret that ρ adds", "log", low=min(float(mark.y.min()) for mark in marks if len(mark.y)) / 3),
        marks,
        words=lines,
    )


def _curves(noisy: Sequence[Stored], free: Stored, horizon: int, number: int) -> tuple[Series, Series, str]:
    """What was measured at a horizon, the leading term of the theorem's proof, and both in words."""
    rho = np.array([stored.number("rho") for stored in noisy])
    x = math.log(math.log(horizon)) / rho
    order = np.argsort(x)
    centre, low, high = np.array([extra_regret(stored, free) for stored in noisy])[order].T
    x, kept = x[order], centre > 0
    means, ratio = free.word("means"), free.number("ratio")
    term = np.array([price_of_rho(means, float(value), horizon, ratio) for value in rho[order]])
    label = f"T = {words.horizons([free])}"
    look = Look(PALETTE[number % len(PALETTE)], "solid", MARKERS[number % len(MARKERS)], marker_size=3)
    own = Series(x[kept], centre[kept], look, label, np.maximum(low[kept], 1e-3), high[kept])
    line = Series(x, term, Look(COUNTERPART_COLOUR, dashes(number), width=0.9), f"leading term, {label}")
    said = f"{label}: {quantity(centre[0])} at {quantity(x[0])}, {quantity(centre[-1])} at {quantity(x[-1])}"
    return own, line, said
