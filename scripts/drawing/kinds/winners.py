"""Which policy does best where: a map over the horizon and epsilon.

kind: winners
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells each panel compares
value: regret (the default) or another quantity of the cells; smaller ones are better
promise: {scope: ..., delta: ...}, the guarantee required of every policy; without it policies are compared at their own
    epsilon
epsilons: the epsilons of that promise

Each field, a horizon and an epsilon, has the name and the colour of the recommended policy of the least risk: 95 %
quantile and mean. It is pale if others are recommended too, see experiments/evidence/contests.py. With a promise, every
policy takes part whose guarantee implies it, at the largest of its epsilons for which that is so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bandits.arrays import FloatArray
from experiments.cells import QUANTITIES
from experiments.errors import UserError
from experiments.evidence.contests import contest, entitled, standings
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Band, Drawing, Panel, Texts, even_columns, in_rows
from scripts.drawing.legend import Entry, legend
from scripts.drawing.numbers import parameter
from scripts.drawing.spec import (
    Promise,
    measured,
    read_spec,
    require_columns,
    require_panels,
    require_words,
    shown_in_panel,
)

FIELD = (1.05, 0.34)  # inches, with room for a name in two lines
HALF = 0.48  # of a field: a line stays free between two
CLEAR, PALE = 0.65, 0.2  # opacity of fields; black text is readable on both


class Win(NamedTuple):
    """The recommended cell of the least risk at a horizon and an epsilon; `clear` if it is the only one."""

    horizon: int
    epsilon: float
    best: Stored
    clear: bool


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    panels: list[dict[str, Any]]
    value: str = "regret"
    promise: dict[str, Any] | None = None
    epsilons: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_panels(self.panels)
        require_words("value", [self.value], QUANTITIES)
        if self.promise is not None:
            Promise.of(self.promise, "promise")
        if (self.promise is None) == bool(self.epsilons) or not all(epsilon > 0 for epsilon in self.epsilons):
            allowed = "numbers above 0 with a promise, and none without"
            raise UserError(f"figure.epsilons: must be {allowed}, got {self.epsilons}")

    def rivals(self, cells: Cells) -> dict[tuple[int, float], Cells]:
        """Who is compared in a panel at every horizon and epsilon: private policies, or those that keep the promise."""
        if self.promise is None:
            return _private(cells).grouped(_place)
        promise = Promise.of(self.promise, "promise")
        return {
            (horizon, epsilon): entitled(there, promise.at(epsilon))
            for (horizon,), there in cells.by("horizon").items()
            for epsilon in self.epsilons
        }


def wins(places: Mapping[tuple[int, float], Cells], value: str) -> list[Win]:
    """The winners where two cells are compared and one takes part; all intervals of a panel hold simultaneously."""
    contests = {place: rivals for place, rivals in sorted(places.items()) if len(rivals) > 1}
    cells = Cells.of(contests.values())
    measured(cells, value)
    ranked = standings(cells, value) if cells else {}
    named = {stored.cell.key: stored for stored in cells}
    made = []
    for place, rivals in contests.items():
        best = contest(ranked[stored.cell.key] for stored in rivals).best
        made += [Win(*place, named[best[0].key], clear=len(best) == 1)] if best else []
    return made


def _private(cells: Cells) -> Cells:
    return cells.only(lambda stored: stored.cell.policy.guarantee.private)


def _place(stored: Stored) -> tuple[int, float]:
    return stored.cell.horizon, stored.columns["epsilon"]


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: a field at each horizon and epsilon, of the policy that wins. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    rivals = [_private(shown_in_panel(panel, cells)) for panel in spec.panels]
    places = [spec.rivals(of_panel) for of_panel in rivals]
    won = [wins(of_panel, spec.value) for of_panel in places]
    for panel, of_panel in zip(spec.panels, won, strict=True):
        if not of_panel:
            raise UserError(f"figure.panels: no two private policies of the panel {panel} share horizon and epsilon")
    entries = legend(_private(cells), rivals, colours, words.label_of, _place)
    panels = [_panel(panel["title"], of_panel, entries) for panel, of_panel in zip(spec.panels, won, strict=True)]
    rows = in_rows(panels, columns := even_columns(len(panels), widest=2))
    width, height = (size * most for size, most in zip(FIELD, _most_fields(panels), strict=True))
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(cells)} runs; pale: others are recommended too"],
        shown=f"the policy of the least risk ({QUANTITIES[spec.value]}) at each horizon and ε",
        rows=rows,
        size=(0.5 + (0.5 + width) * columns, 0.5 + (0.6 + height) * len(rows)),
        notes={"Not run": missing} if (missing := _not_run(places, entries)) else {},
    )


def _most_fields(panels: Sequence[Panel]) -> tuple[int, int]:
    """How many fields the largest panel has along x, and along y."""
    return max(len(panel.x.names) for panel in panels), max(len(panel.y.names) for panel in panels)


def _not_run(places: Sequence[Mapping[tuple[int, float], Cells]], entries: Mapping[str, Entry]) -> list[str]:
    """The policies that no panel, or not all, can compare at some horizon."""
    run = (
        (entries[stored.cell.key].label, horizon, number)
        for number, of_panel in enumerate(places)
        for (horizon, _), rivals in of_panel.items()
        for stored in rivals
    )
    return words.not_run(run, "panels")


def _panel(title: str, wins: Sequence[Win], entries: Mapping[str, Entry]) -> Panel:
    horizons = sorted({win.horizon for win in wins})
    epsilons = sorted({win.epsilon for win in wins})
    x = np.array([horizons.index(win.horizon) for win in wins], dtype=float)
    y = np.array([epsilons.index(win.epsilon) for win in wins], dtype=float)
    won = [entries[win.best.cell.key] for win in wins]
    fields = [
        Band(*_field(*place), entry.colour, CLEAR if win.clear else PALE)
        for place, entry, win in zip(zip(x, y, strict=True), won, wins, strict=True)
    ]
    names = [entry.label.replace(", ", ",\n") for entry in won]
    groups: dict[tuple[str, bool], list[str]] = {}
    for entry, win in zip(won, wins, strict=True):
        groups.setdefault((entry.label, win.clear), []).append(f"T = {win.horizon:g}, ε = {win.epsilon:g}")
    return Panel(
        title,
        Axis("T", low=-0.5, high=len(horizons) - 0.5, names=[parameter(horizon) for horizon in horizons]),
        Axis("ε", low=-0.5, high=len(epsilons) - 0.5, names=[parameter(epsilon) for epsilon in epsilons]),
        [*fields, Texts(x, y, names)],
        words=[
            f"{label} at {', '.join(there)}{'' if clear else ', not clearly'}"
            for (label, clear), there in groups.items()
        ],
    )


def _field(x: float, y: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The rectangle around a place, as a band: its x, and its lower and upper edge."""
    sides = np.array([-HALF, HALF])
    return x + sides, np.full(2, y - HALF), np.full(2, y + HALF)
