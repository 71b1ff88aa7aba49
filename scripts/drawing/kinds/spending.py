"""What transcripts spend against the horizon: lower bounds as lines with markers, upper bounds as thin lines without.

kind: spending
title: above the figure
panels: a list of {title: ..., column: value or values}, the cells that each panel shows
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandits.arrays import FloatArray
from bandits.guarantees import Scope
from experiments.errors import UserError
from experiments.stored import Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, in_rows, labels
from scripts.drawing.labels import names_behind
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import read, require_columns, require_panels, shown
from scripts.drawing.style import colours_of, dashes, marker, word_of


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for what it does not know."""

    title: str
    panels: list[dict[str, Any]]

    def __post_init__(self) -> None:
        require_panels(self.panels)


@dataclass(frozen=True)
class Curve:
    """Both bounds of one policy at each horizon, shapes (horizons,)."""

    label: str
    promised: bool
    horizon: FloatArray
    kept: FloatArray
    least: FloatArray

    @property
    def words(self) -> str:
        """Where it ends, in words."""
        end = f"at T = {self.horizon[-1]:g}"
        if self.promised:
            return f"{self.label}: at most {quantity(self.kept[-1])} {end}"
        if math.isfinite(self.least[-1]):
            return f"{self.label}: at least {quantity(self.least[-1])} {end}"
        return f"{self.label}: infinite from T = {self.horizon[np.isinf(self.least)][0]:g}"


def describe(config: Mapping[str, Any], cells: Sequence[Stored], colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: what transcripts spend at least, at most where promised. Raises `UserError`."""
    spec = read(Spec, config)
    require_columns(spec.panels, [], cells)
    if not all("epsilon_shown" in stored.rows for stored in cells):
        raise UserError("figure.kind: spending needs bounds on transcripts, which these cells do not record")
    labelled = _labels(cells)
    looks = _looks(cells, labelled, colours)
    panels = [_panel(panel, cells, labelled, looks) for panel in spec.panels]
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


def _labels(cells: Sequence[Stored]) -> dict[str, str]:
    behind = names_behind(cells)
    return {stored.cell.key: words.label(stored, behind[stored.cell.policy.name]) for stored in cells}


def _looks(cells: Sequence[Stored], labelled: Mapping[str, str], colours: Mapping[str, str]) -> dict[str, Look]:
    """A look for every label: the colour of its policy; dashes and markers of its own among those of that colour."""
    assigned = colours_of((stored.cell.policy for stored in cells), colours)
    kin: dict[str, list[str]] = {}
    looks = {}
    for stored in cells:
        label, colour = labelled[stored.cell.key], assigned[word_of(stored.cell.policy)]
        if label not in looks:
            of_colour = kin.setdefault(colour, [])
            place = len(of_colour)
            looks[label] = Look(colour, dashes(place), marker=marker(place), marker_size=3.5)
            of_colour.append(label)
    return looks


def _panel(
    panel: Mapping[str, Any],
    cells: Sequence[Stored],
    labelled: Mapping[str, str],
    looks: Mapping[str, Look],
) -> Panel:
    groups: dict[str, list[Stored]] = {}
    for stored in shown(panel, cells):
        groups.setdefault(labelled[stored.cell.key], []).append(stored)
    if not groups:
        raise UserError(f"figure.panels: no cell meets the conditions of the panel {panel}")
    curves = [_curve(label, of_label) for label, of_label in groups.items()]
    marks = [mark for curve in curves for mark in _marks(curve, looks[curve.label])]
    x, y = Axis("horizon T", "log"), Axis("ε of the transcript", "log", low=0.1)
    return Panel(panel["title"], x, y, marks, words=[curve.words for curve in curves])


def _curve(label: str, cells: Sequence[Stored]) -> Curve:
    ordered = sorted(cells, key=lambda stored: stored.cell.horizon)
    kept, least = (
        np.array([float(stored.measure(name)[0]) for stored in ordered]) for name in ("epsilon_kept", "epsilon_shown")
    )
    promised = cells[0].cell.policy.guarantee.scope is Scope.TRANSCRIPT
    return Curve(label, promised, np.array([float(stored.cell.horizon) for stored in ordered]), kept, least)


def _marks(curve: Curve, look: Look) -> list[Series]:
    """At most, for a promise about the transcript; else at least, where it is above 0 and finite."""
    if curve.promised:
        return [Series(curve.horizon, curve.kept, replace(look, marker="none"), curve.label)]
    drawn = (curve.least > 0) & np.isfinite(curve.least)
    x, y = curve.horizon[drawn], curve.least[drawn]
    marks = [Series(x, y, look, curve.label)]
    above = np.isfinite(curve.kept) & (curve.kept > curve.least)
    if above.any():
        thin = replace(look, marker="none", dashes="dotted", width=0.8)
        marks.append(Series(curve.horizon[above], curve.kept[above], thin))
    return marks


def _exact(cells: Sequence[Stored]) -> str:
    """Up to which horizon both bounds meet wherever no transcript is promised."""
    open_ = [stored for stored in cells if stored.cell.policy.guarantee.scope is not Scope.TRANSCRIPT]
    apart = [stored.cell.horizon for stored in open_ if stored.rows["epsilon_kept"][0] > _met(stored)]
    last = max(
        (stored.cell.horizon for stored in open_ if stored.cell.horizon < min(apart, default=math.inf)), default=0
    )
    return f"exact up to T = {last}; beyond, what one pair of inputs shows"


def _met(stored: Stored) -> float:
    return float(stored.rows["epsilon_shown"][0]) * (1 + 1e-6)


def _endless(panels: Sequence[Panel]) -> list[str]:
    return [f"{panel.title}: {line}" for panel in panels for line in panel.words if "infinite" in line]
