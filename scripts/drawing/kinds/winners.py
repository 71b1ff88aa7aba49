"""Which policy does best where: a map over the horizon and epsilon.

kind: winners
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells each panel compares
value: regret (the default) or another quantity of the cells; smaller ones are better
promise: {scope: ..., delta: ...}, the guarantee required of every policy; without it policies are compared at their own
    epsilon
epsilons: the epsilons of that promise

At every horizon and epsilon there is a mark in the colour of the recommended policy of the least risk: 95 % quantile
and mean. It is pale if others are recommended too, see experiments/contests.py. With a promise, every policy takes
part whose guarantee implies it, at the largest of its epsilons for which that is so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from experiments.cells import QUANTITIES
from experiments.contests import contest, entitled, standings
from experiments.errors import UserError
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, even_columns, in_rows, labels
from scripts.drawing.legend import Entry, legend, marker
from scripts.drawing.spec import (
    Promise,
    measured,
    read_spec,
    require_columns,
    require_panels,
    require_words,
    shown_in_panel,
)

SIZE = 9  # of a mark, in points
PALE = 0.3


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
    """A panel for each condition: a mark at each horizon and epsilon, of the policy that wins. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    rivals = [_private(shown_in_panel(panel, cells)) for panel in spec.panels]
    places = [spec.rivals(of_panel) for of_panel in rivals]
    won = [wins(of_panel, spec.value) for of_panel in places]
    for panel, of_panel in zip(spec.panels, won, strict=True):
        if not of_panel:
            raise UserError(f"figure.panels: no two private policies of the panel {panel} share horizon and epsilon")
    entries = legend(_private(cells), rivals, colours, words.label_of, _place)
    looks = _looks(entries[win.best.cell.key] for of_panel in won for win in of_panel)
    panels = [
        _panel(panel["title"], of_panel, entries, looks) for panel, of_panel in zip(spec.panels, won, strict=True)
    ]
    rows = in_rows(panels, columns := even_columns(len(panels)))
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(cells)} runs; pale: others are recommended too", *_not_run(places, entries)],
        shown=f"the policy of the least risk ({QUANTITIES[spec.value]}) at each horizon and ε, logarithmic axes",
        rows=rows,
        size=(1.2 + 2.4 * columns, 0.6 + 2.6 * len(rows)),
        legend=labels(panels),
    )


def _not_run(places: Sequence[Mapping[tuple[int, float], Cells]], entries: Mapping[str, Entry]) -> list[str]:
    """The policies that no panel, or not all, can compare at some horizon."""
    run = (
        (entries[stored.cell.key].label, horizon, number)
        for number, of_panel in enumerate(places)
        for (horizon, _), rivals in of_panel.items()
        for stored in rivals
    )
    missing = words.not_run(run, "panels")
    return [f"not run: {'; '.join(missing)}"] if missing else []


def _looks(winners: Iterable[Entry]) -> dict[Entry, Look]:
    """A look for each winner; labels of one colour differ in their markers, the first is a square, as it fills best."""
    looks: dict[Entry, Look] = {}
    for entry in dict.fromkeys(winners):
        number = sum(other.colour == entry.colour for other in looks)
        shape = marker((number + 1) % 2 if number < 2 else number)
        looks[entry] = Look(entry.colour, "none", shape, marker_size=SIZE)
    return looks


def _panel(title: str, wins: Sequence[Win], entries: Mapping[str, Entry], looks: Mapping[Entry, Look]) -> Panel:
    groups: dict[tuple[Entry, bool], list[Win]] = {}
    for win in wins:
        groups.setdefault((entries[win.best.cell.key], win.clear), []).append(win)
    marks = []
    for (entry, clear), of_entry in sorted(groups.items(), key=lambda group: not group[0][1]):
        x = np.array([win.horizon for win in of_entry], dtype=float)
        y = np.array([win.epsilon for win in of_entry])
        marks.append(Series(x, y, looks[entry] if clear else replace(looks[entry], opacity=PALE), entry.label))
    horizons, epsilons = [win.horizon for win in wins], [win.epsilon for win in wins]
    lines = [
        f"{entry.label} at {', '.join(f'T = {win.horizon:g}, ε = {win.epsilon:g}' for win in of_entry)}"
        + ("" if clear else ", not clearly")
        for (entry, clear), of_entry in groups.items()
    ]
    return Panel(
        title,
        Axis("T", "log", low=min(horizons) / 3, high=max(horizons) * 3, decades_only=True),
        Axis("ε", "log", low=min(epsilons) / 2, high=max(epsilons) * 2, decades_only=True),
        marks,
        words=lines,
    )
