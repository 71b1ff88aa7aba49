"""What each experiment asks for: its cells, the axis of its figure, and the bounds that the figure shows."""

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bandits import ParameterError
from experiments.cells import Cell
from experiments.config.plan import Plan
from experiments.errors import UserError
from experiments.store import planned_cells
from experiments.store.stored import Cells, Stored
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.figure import figure_of, why
from scripts.drawing.spec import Overlay, overlays
from scripts.pages.text import comment_of

POINTS = 40  # of a bound against time
CURVES = "curves"  # the kind of figure whose bounds are functions of the step, and the kind without the key


@dataclass(frozen=True)
class _Line:
    """A bound in a figure: its values by the key of a cell, at the steps of `at`, or one value at the horizon."""

    label: str
    at: dict[str, list[int]]
    values: dict[str, list[float]]


@dataclass(frozen=True)
class Asked:
    """An experiment.

    Attributes
    ----------
    x: the column, or word, of the horizontal axis of its figure; t if it shows curves or has no figure.
    value: the quantity that it shows.
    panel: the columns that the first panel of the figure fixes, and their values.
    words: x of each cell by its key, if x is no column but a word for a property of the cell, such as least_gap.
    """

    name: str
    title: str
    comment: str
    cells: list[Cell]
    x: str = "t"
    value: str = ""
    words: dict[str, float] = field(default_factory=dict)
    bounds: list[_Line] = field(default_factory=list)
    panel: dict[str, Any] = field(default_factory=dict)


def asked_by(planned: Plan, name: str) -> Asked:
    """What an experiment asks for. Raises `UserError`, which names file and key."""
    try:
        return _asked(planned, name)
    except Exception as error:  # any error of a user's bound or label
        raise UserError(why(error, planned.composed, planned.composer)) from error


def _asked(planned: Plan, name: str) -> Asked:
    figure = figure_of(planned.composed) or {}
    cells = planned_cells(planned)
    kind, x = figure.get("kind", CURVES), str(figure.get("x", "t"))
    return Asked(
        name=name,
        title=without_mathtext(str(figure.get("title", name))),
        comment=comment_of(planned.composer.file_of("experiment", name)),
        cells=[stored.cell for stored in cells],
        x=x,
        value=str(figure.get("value", "")),
        words={} if x == "t" or x in cells.columns else _values_of(x, cells),
        bounds=_bounds(figure.get("overlays", []), cells, kind),
        panel=_fixed(figure.get("panels", [])),
    )


def _fixed(panels: Any) -> dict[str, Any]:
    """The columns to which the first of the panels gives a single value."""
    first = panels[0] if isinstance(panels, list) and panels else {}
    return {
        name: value for name, value in first.items() if name != "title" and isinstance(value, bool | int | float | str)
    }


def _values_of(word: str, cells: Cells) -> dict[str, float]:
    numbers = {}
    for stored in cells:
        with suppress(ParameterError):  # the instance has no such property
            numbers[stored.cell.key] = stored.number(word)
    return numbers


def _bounds(config: Any, cells: Cells, kind: str) -> list[_Line]:
    drawn = overlays(config, cells, more=["t"] if kind == CURVES else [])
    return [line for overlay in drawn if (line := _line(overlay, cells, kind)).values]


def _line(overlay: Overlay, cells: Cells, kind: str) -> _Line:
    line = _Line(overlay.label, {}, {})
    for stored in cells:
        steps = _steps(stored) if kind == CURVES else [stored.cell.horizon]
        values = [overlay.of(stored, {"t": float(t)} if kind == CURVES else None) for t in steps]
        finite = [(t, value) for t, value in zip(steps, values, strict=True) if math.isfinite(value)]
        if finite:
            line.at[stored.cell.key] = [t for t, _ in finite]
            line.values[stored.cell.key] = [float(f"{value:.5g}") for _, value in finite]
    return line


def _steps(stored: Stored) -> list[int]:
    checkpoints = stored.cell.checkpoints
    places = np.unique(np.rint(np.linspace(0, len(checkpoints) - 1, min(POINTS, len(checkpoints)))).astype(int))
    return [int(t) for t in checkpoints[places]]
