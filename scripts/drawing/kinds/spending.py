"""The privacy loss of transcripts against the horizon: lower bounds with markers, upper bounds without.

kind: spending
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells each panel shows
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandits.arrays import FloatArray
from bandits.guarantees import Scope
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, in_rows, labels
from scripts.drawing.legend import Entry, legend
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import PanelConditions, read_spec, require_columns, require_panels, shown_in_panel


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    panels: list[dict[str, Any]]

    def __post_init__(self) -> None:
        require_panels(self.panels)


@dataclass(frozen=True)
class _Curve:
    """The upper bound `kept` and the lower bound `least` of one policy at each horizon, shapes (horizons,)."""

    entry: Entry
    promised: bool
    horizon: FloatArray
    kept: FloatArray
    least: FloatArray

    @property
    def words(self) -> str:
        """Its last value, as text."""
        end = f"at T = {self.horizon[-1]:g}"
        if self.promised:
            return f"{self.entry.label}: at most {quantity(self.kept[-1])} {end}"
        if math.isfinite(self.least[-1]):
            return f"{self.entry.label}: at least {quantity(self.least[-1])} {end}"
        return f"{self.entry.label}: infinite from T = {self.horizon[np.isinf(self.least)][0]:g}"


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: lower bounds, and upper bounds for promised transcripts. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    if not all("epsilon_shown" in stored.rows for stored in cells):
        raise UserError("figure.kind: spending needs bounds on transcripts, which these cells do not record")
    inside = [shown_in_panel(panel, cells) for panel in spec.panels]
    entries = legend(cells, inside, colours, same=lambda stored: stored.cell.horizon)
    panels = [_panel(panel, of_panel, entries) for panel, of_panel in zip(spec.panels, inside, strict=True)]
    return Drawing(
        title=spec.title,
        caption=[
            "two arms, one reward of 0 or 1 changed; with markers: at least; without: at most",
            _exact(cells),
            *_endless(panels),
        ],
        shown="bounds on the ε of the whole sequence of arms against the horizon, logarithmic axes",
        rows=in_rows(panels, len(panels)),
        size=(1.2 + 4.2 * len(panels), 4.2),
        legend=labels(panels),
    )


def _panel(conditions: PanelConditions, inside: Cells, entries: Mapping[str, Entry]) -> Panel:
    if not inside:
        raise UserError(f"figure.panels: no cell meets the conditions of the panel {conditions}")
    groups = inside.grouped(lambda stored: entries[stored.cell.key])
    curves = [_curve(entry, of_entry) for entry, of_entry in groups.items()]
    marks = [mark for curve in curves for mark in _marks(curve)]
    x, y = Axis("horizon T", "log"), Axis("ε of the transcript", "log", low=0.1)
    return Panel(conditions["title"], x, y, marks, words=[curve.words for curve in curves])


def _curve(entry: Entry, cells: Cells) -> _Curve:
    ordered = Cells(sorted(cells, key=lambda stored: stored.cell.horizon))
    kept, least = (np.concatenate(ordered.measure(name)) for name in ("epsilon_kept", "epsilon_shown"))
    promised = cells[0].cell.policy.guarantee.scope is Scope.TRANSCRIPT
    return _Curve(entry, promised, np.array([float(stored.cell.horizon) for stored in ordered]), kept, least)


def _marks(curve: _Curve) -> list[Series]:
    """The upper bound if the policy promises the transcript; else the lower bound where it is above 0 and finite,
    and a thin line for the upper bound where the two differ.
    """
    look = Look(curve.entry.colour, curve.entry.dashes, curve.entry.marker, marker_size=3.5)
    if curve.promised:
        return [Series(curve.horizon, curve.kept, replace(look, marker="none"), curve.entry.label)]
    drawn = (curve.least > 0) & np.isfinite(curve.least)
    x, y = curve.horizon[drawn], curve.least[drawn]
    marks = [Series(x, y, look, curve.entry.label)]
    above = np.isfinite(curve.kept) & (curve.kept > curve.least)
    if above.any():
        thin = replace(look, marker="none", dashes="dotted", width=0.8)
        marks.append(Series(curve.horizon[above], curve.kept[above], thin))
    return marks


def _exact(cells: Cells) -> str:
    """A line of the caption: up to which horizon both bounds agree for all policies that do not promise transcripts."""
    open_ = cells.only(lambda stored: stored.cell.policy.guarantee.scope is not Scope.TRANSCRIPT)
    apart = [stored.cell.horizon for stored in open_ if stored.rows["epsilon_kept"][0] > _met(stored)]
    last = max(
        (stored.cell.horizon for stored in open_ if stored.cell.horizon < min(apart, default=math.inf)), default=0
    )
    return f"exact up to T = {last}; beyond, what one pair of inputs shows"


def _met(stored: Stored) -> float:
    return float(stored.rows["epsilon_shown"][0]) * (1 + 1e-6)


def _endless(panels: Sequence[Panel]) -> list[str]:
    return [f"{panel.title}: {line}" for panel in panels for line in panel.words if "infinite" in line]
