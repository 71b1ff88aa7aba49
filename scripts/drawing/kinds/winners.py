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
from experiments.store.stored import Stored
from experiments.store.stored_cells import Cells
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, even_columns, in_rows, labels
from scripts.drawing.legend import Entry, legend
from scripts.drawing.spec import Promise, measured, read, require_columns, require_panels, require_words, shown
from scripts.drawing.style import marker

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

    def wins(self, cells: Cells) -> list[Win]:
        """Who wins where in a panel."""
        if self.promise is None:
            return wins(cells, self.value)
        return promised_wins(cells, self.value, Promise.of(self.promise, "promise"), self.epsilons)


def wins(cells: Cells, value: str) -> list[Win]:
    """The winner among private policies at every horizon and epsilon that at least two cells have."""
    return _wins(_private(cells).grouped(_place), value)


def promised_wins(cells: Cells, value: str, promise: Promise, epsilons: Sequence[float]) -> list[Win]:
    """The winner at every horizon and each of the `epsilons`, among policies whose guarantee implies `promise`."""
    places = {
        (horizon, epsilon): entitled(there, promise.at(epsilon))
        for (horizon,), there in cells.by("horizon").items()
        for epsilon in epsilons
    }
    return _wins(places, value)


def _wins(places: Mapping[tuple[int, float], Cells], value: str) -> list[Win]:
    """The winners where some policy takes part; all intervals of a panel hold simultaneously."""
    contests = {place: rivals for place, rivals in sorted(places.items()) if len(rivals) > 1}
    cells = Cells.of(contests.values())
    measured(cells, value)
    found = standings(cells, value) if cells else {}
    named = {stored.cell.key: stored for stored in cells}
    made = []
    for place, rivals in contests.items():
        best = contest(found[stored.cell.key] for stored in rivals).best
        made += [Win(*place, named[best[0].key], clear=len(best) == 1)] if best else []
    return made


def _private(cells: Cells) -> Cells:
    return cells.only(lambda stored: stored.cell.policy.guarantee.private)


def _place(stored: Stored) -> tuple[int, float]:
    return stored.cell.horizon, stored.columns["epsilon"]


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: a mark at each horizon and epsilon, of the policy that wins. Raises `UserError`."""
    spec = read(Spec, config)
    require_columns(spec.panels, [], cells)
    rivals = [_private(shown(panel, cells)) for panel in spec.panels]
    found = [spec.wins(of_panel) for of_panel in rivals]
    for panel, of_panel in zip(spec.panels, found, strict=True):
        if not of_panel:
            raise UserError(f"figure.panels: no two private policies of the panel {panel} share horizon and epsilon")
    entries = legend(_private(cells), rivals, colours, words.name_of, _place)
    looks = _looks(entries[win.best.cell.key] for of_panel in found for win in of_panel)
    panels = [
        _panel(panel["title"], of_panel, entries, looks) for panel, of_panel in zip(spec.panels, found, strict=True)
    ]
    rows = in_rows(panels, columns := even_columns(len(panels)))
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(cells)} runs; pale: others are recommended too"],
        shown=f"the policy of the least risk ({QUANTITIES[spec.value]}) at each horizon and ε, logarithmic axes",
        rows=rows,
        size=(1.2 + 2.4 * columns, 0.6 + 2.6 * len(rows)),
        legend=labels(panels),
    )


def _looks(winners: Iterable[Entry]) -> dict[Entry, Look]:
    """A look for each winner; labels of one colour differ in their markers, the first is a square, as it fills best."""
    looks: dict[Entry, Look] = {}
    for entry in dict.fromkeys(winners):
        number = sum(known.colour == entry.colour for known in looks)
        shape = marker((number + 1) % 2 if number < 2 else number)
        looks[entry] = Look(entry.colour, "none", shape, marker_size=SIZE)
    return looks


def _panel(title: str, found: Sequence[Win], entries: Mapping[str, Entry], looks: Mapping[Entry, Look]) -> Panel:
    groups: dict[tuple[Entry, bool], list[Win]] = {}
    for win in found:
        groups.setdefault((entries[win.best.cell.key], win.clear), []).append(win)
    marks = []
    for (entry, clear), of_entry in sorted(groups.items(), key=lambda group: not group[0][1]):
        x = np.array([win.horizon for win in of_entry], dtype=float)
        y = np.array([win.epsilon for win in of_entry])
        marks.append(Series(x, y, looks[entry] if clear else replace(looks[entry], opacity=PALE), entry.label))
    horizons, epsilons = [win.horizon for win in found], [win.epsilon for win in found]
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
