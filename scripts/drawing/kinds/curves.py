"""Regret against time: panels of mean curves with bands.

kind: curves (the default)
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells each panel shows
shares: yes-or-no quantities; for each panel the caption gives the share of runs with yes
band: the shading around the mean: sd, quarter_sd, ci95 or quantiles (5 % to 95 %); or runs: a line for every run
scales: the scale of each row of panels, linear or log; both by default
overlays: a list of bounds, see scripts/drawing/spec.py; the word t stands for the step
thick: a policy whose curves are thick, and those of all others thin
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from bandits.arrays import FloatArray
from bandits.guarantees import Scope
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.errors import UserError, nearest
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Mark, Panel, Scale, Series, labels
from scripts.drawing.legend import COUNTERPART_COLOUR, Entry, dashes, legend
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import (
    SCALES,
    Overlay,
    measured,
    overlays,
    read_spec,
    require_columns,
    require_panels,
    require_words,
    shown_in_panel,
)

ERROR = 0.05  # of the interval of the mean
BANDS = {
    "sd": "one standard deviation",
    "quarter_sd": "a quarter of a standard deviation",
    "ci95": "95 % interval of the mean",
    "quantiles": "5 % to 95 % of the runs",
    "runs": "every run as a thin line",
}
EXPECTATION = Entry("expectation, computed exactly", "black", 0, 0)  # drawn over the simulated mean
DECADES = 5  # of time shown on a logarithmic axis: earlier, every policy pulls all arms in turn


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    panels: list[dict[str, Any]]
    band: str = "ci95"
    scales: list[str] = field(default_factory=lambda: list(SCALES))
    shares: list[str] = field(default_factory=list)
    overlays: list[dict[str, Any]] = field(default_factory=list)
    thick: str = ""

    def __post_init__(self) -> None:
        require_panels(self.panels)
        if self.band not in BANDS:
            raise UserError(f"figure.band: {self.band} is unknown; {nearest(self.band, BANDS)}")
        require_words("scales", self.scales, SCALES)
        require_words("shares", self.shares, QUANTITIES)


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A row of panels for every scale; each curve is a mean with its band. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    if spec.thick and (policies := {stored.cell.policy.name for stored in cells}) and spec.thick not in policies:
        raise UserError(f"figure.thick: no curve of {spec.thick}; {nearest(spec.thick, policies)}")
    if not all("regret" in stored.rows for stored in cells):
        raise UserError("figure.kind: curves needs regret against time, which these cells do not record; try sweep")
    inside = [shown_in_panel(panel, cells) for panel in spec.panels]
    entries = legend(cells, [of_panel.only(_simulated) for of_panel in inside], colours)
    entries |= {stored.cell.key: EXPECTATION for stored in cells if stored.exact}
    bounds = overlays(spec.overlays, cells, more=["t"])
    rows = [
        [_panel(spec, (row, column), cells, entries, bounds) for column in range(len(spec.panels))]
        for row in range(len(spec.scales))
    ]
    drawn = labels([panel for row in rows for panel in row])
    named = [entry.label for entry in entries.values()]
    return Drawing(
        title=spec.title,
        caption=_caption(spec, cells),
        shown=f"mean pseudo-regret against the step, {words.axes(spec.scales)}; shading: {BANDS[spec.band]}",
        rows=rows,
        size=(1.2 + 2.9 * len(spec.panels), 1.5 + 2.3 * len(rows)),
        legend=[label for label in dict.fromkeys([*named, *(bound.label for bound in bounds)]) if label in drawn],
        spare_legend_rows=3,
        notes={"Unlike scopes": scopes} if (scopes := unlike_scopes(cells)) else {},
    )


def _simulated(stored: Stored) -> bool:
    return not stored.exact


def _look(stored: Stored, entry: Entry, thick: str) -> Look:
    if stored.exact:
        return Look(entry.colour, "dotted", width=0.9, order=4)
    if thick:
        first = stored.cell.policy.name == thick
        return Look(entry.colour, entry.dashes, width=2.2 if first else 0.8, order=3 if first else None)
    private = stored.cell.policy.guarantee.private
    return Look(entry.colour, entry.dashes) if private else Look(entry.colour, entry.dashes, width=0.9, order=1)


def _panel(
    spec: Spec,
    place: tuple[int, int],
    cells: Cells,
    entries: Mapping[str, Entry],
    bounds: Sequence[Overlay],
) -> Panel:
    """The panel at a row and a column: titles only in the first row, axis labels only at the left and the bottom."""
    row, column = place
    conditions, scale = spec.panels[column], cast(Scale, spec.scales[row])
    inside = shown_in_panel(conditions, cells)
    if not inside:
        raise UserError(f"figure.panels: no curve meets the conditions of the panel {conditions}")
    marks = [mark for stored in inside for mark in _marks(stored, entries[stored.cell.key], spec)]
    lines = [line for number, bound in enumerate(bounds) for line in _lines(bound, number, inside)]
    several = len({stored.cell.horizon for stored in cells}) > 1
    title = conditions["title"] + (f", T = {words.horizons(inside)}" if several else "")
    x = Axis("step t" if row == len(spec.scales) - 1 else "", scale)
    y = Axis("mean pseudo-regret" if column == 0 else "", scale)
    if scale == "log":
        x, y = _last_decades(x, y, max(stored.cell.horizon for stored in inside), marks)
    ends = [
        f"{entries[stored.cell.key].label} ends at {quantity(float(stored.regret[:, -1].mean()))}"
        for stored in inside.only(_simulated)
    ]
    return Panel(title if row == 0 else "", x, y, [*marks, *lines], words=ends if row == 0 else ())


def _marks(stored: Stored, entry: Entry, spec: Spec) -> list[Mark]:
    t, regret, look, band = stored.t.astype(float), stored.regret, _look(stored, entry, spec.thick), spec.band
    marks: list[Mark] = [Series(t, regret.mean(axis=0), look, entry.label)]
    if stored.exact:
        return marks
    if band == "runs":
        thin = Look(look.colour, width=0.4, opacity=0.25, order=0.5)
        marks += [Series(t, run, thin) for run in regret]
    elif len(regret) > 1:
        marks.append(Band(t, *band_of(regret, band), look.colour, opacity=0.2))
    return marks


def _lines(bound: Overlay, number: int, inside: Cells) -> list[Series]:
    """A bound against time: each different curve of it in a panel once, without the steps at which it is NaN."""
    points = ([(float(t), bound.of(stored, {"t": float(t)})) for t in stored.t] for stored in inside)
    courses = dict.fromkeys(tuple(point for point in course if not math.isnan(point[1])) for course in points)
    look = Look(COUNTERPART_COLOUR, dashes(number), width=0.9)
    arrays = [np.array(course) for course in courses if course]
    return [Series(array[:, 0], array[:, 1], look, bound.label) for array in arrays]


def band_of(regret: FloatArray, band: str) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end of the shading, shapes (checkpoints,), from at least two runs (runs, checkpoints).

    Cut off at 0, as regret is never below in the mean.
    """
    if band == "quantiles":
        low, high = np.quantile(regret, [0.05, 0.95], axis=0)
        return low, high
    mean, sd = regret.mean(axis=0), regret.std(axis=0, ddof=1)
    half = {"sd": sd, "quarter_sd": sd / 4, "ci95": intervals.half_width(sd, len(regret), ERROR)}[band]
    return np.maximum(mean - half, 0), mean + half


def _last_decades(x: Axis, y: Axis, horizon: int, marks: Sequence[Mark]) -> tuple[Axis, Axis]:
    """The axes without the first steps, see `DECADES`."""
    first = horizon / 10**DECADES
    shown = [mark.y[mark.x >= first] for mark in marks if isinstance(mark, Series)]
    lowest = min((float(values[values > 0].min()) for values in shown if (values > 0).any()), default=None)
    above = replace(y, scale="linear") if lowest is None else replace(y, low=lowest / 1.5)  # regret 0 has no logarithm
    return replace(x, low=first, high=1.3 * horizon), above


def _caption(spec: Spec, cells: Cells) -> list[str]:
    runs = f"T = {words.horizons(cells)}, {words.runs(cells)} runs; mean and {BANDS[spec.band]}"
    return [runs, *(_share(spec, name, cells) for name in spec.shares)]


def unlike_scopes(cells: Cells) -> list[str]:
    """The composed budget over the transcript of policies that promise one decision, if others promise the transcript.

    A line of the notes; no line if not both scopes occur.
    """
    scopes = {stored.cell.policy.guarantee.scope for stored in cells}
    if not {Scope.DECISION, Scope.TRANSCRIPT} <= scopes:
        return []
    single = cells.only(lambda stored: stored.cell.policy.guarantee.scope is Scope.DECISION)
    names = ", ".join(dict.fromkeys(words.name(stored.cell.policy) for stored in single))
    budgets = [stored.cell.policy.composed_budget(stored.cell.arms, stored.cell.horizon) for stored in single]
    epsilon, delta = max(budgets)
    both = f"ε = {quantity(epsilon)}" + (f" and δ = {delta:g}" if delta else "")
    return [f"{names}: for one decision, whose budgets add up to {both} over the transcript"]


def _share(spec: Spec, name: str, cells: Cells) -> str:
    """The least and the largest share among the cells of each panel, as text."""
    shares = []
    for panel in spec.panels:
        means = [float(values.mean()) for values in measured(shown_in_panel(panel, cells), name)]
        ends = dict.fromkeys(f"{100 * end:.2g}" for end in (min(means), max(means)))
        shares.append(f"{panel['title']}: {' to '.join(ends)} %")
    return f"{QUANTITIES[name]}: {'; '.join(shares)}"
