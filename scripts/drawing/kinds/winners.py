"""Which policy does best where: a map over the horizon and epsilon.

kind: winners
title: above the figure
panels: a list of {title: ..., column: value or values}, the cells that each panel compares
value: regret (the default) or another quantity of the cells; the least mean wins
promise: {scope: ..., delta: ...}, what all who take part promise; without it each plays for the epsilon that it quotes
epsilons: the epsilons of that promise

A mark stands at every horizon and epsilon, in the colour of the policy with the least mean. It is pale where that is
not clear: where scripts/contests.py does not tell it from another policy. With a promise, all policies take part whose
own implies it, each at its largest epsilon that does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from experiments.cells import QUANTITIES
from experiments.errors import UserError
from experiments.stored import Stored
from scripts.contests import entitled, standings, unbeaten
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, even_columns, in_rows, labels
from scripts.drawing.labels import names_behind, told_apart
from scripts.drawing.spec import Promise, read, require_columns, require_panels, require_words, shown
from scripts.drawing.style import colours_of, marker, word_of

SIZE = 9  # points, of a mark
PALE = 0.3


class Win(NamedTuple):
    """The cell with the least mean at a horizon and an epsilon; `clear` if it beats all others."""

    horizon: int
    epsilon: float
    best: Stored
    clear: bool


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for what it does not know."""

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

    def wins(self, cells: Sequence[Stored]) -> list[Win]:
        """Who wins where in a panel."""
        if self.promise is None:
            return wins(cells, self.value)
        return promised_wins(cells, self.value, Promise.of(self.promise, "promise"), self.epsilons)


def wins(cells: Sequence[Stored], value: str) -> list[Win]:
    """The winner among private policies at every horizon and epsilon that at least two cells have."""
    places: dict[tuple[int, float], list[Stored]] = {}
    for stored in _private(cells):
        places.setdefault(_place(stored), []).append(stored)
    return _wins(places, value)


def promised_wins(cells: Sequence[Stored], value: str, promise: Promise, epsilons: Sequence[float]) -> list[Win]:
    """The winner among all whose promise implies this one, at every horizon and each of the `epsilons`."""
    of_horizon: dict[int, list[Stored]] = {}
    for stored in cells:
        of_horizon.setdefault(stored.cell.horizon, []).append(stored)
    places = {
        (horizon, epsilon): entitled(there, promise.at(epsilon))
        for horizon, there in of_horizon.items()
        for epsilon in epsilons
    }
    return _wins(places, value)


def _wins(places: Mapping[tuple[int, float], Sequence[Stored]], value: str) -> list[Win]:
    """All intervals of the panel hold at once."""
    contests = {place: rivals for place, rivals in sorted(places.items()) if len(rivals) > 1}
    cells = {stored.cell.key: stored for rivals in contests.values() for stored in rivals}
    found = standings(list(cells.values()), value) if cells else {}
    best = {place: unbeaten(found[stored.cell.key] for stored in rivals) for place, rivals in contests.items()}
    return [Win(*place, first.stored, clear=not others) for place, (first, *others) in best.items()]


def _private(cells: Sequence[Stored]) -> list[Stored]:
    return [stored for stored in cells if stored.cell.policy.guarantee.private]


def _place(stored: Stored) -> tuple[int, float]:
    return stored.cell.horizon, stored.columns["epsilon"]


def describe(config: Mapping[str, Any], cells: Sequence[Stored], colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: a mark at each horizon and epsilon, of the policy that wins. Raises `UserError`."""
    spec = read(Spec, config)
    require_columns(spec.panels, [], cells)
    rivals = [_private(shown(panel, cells)) for panel in spec.panels]
    found = [spec.wins(of_panel) for of_panel in rivals]
    for panel, of_panel in zip(spec.panels, found, strict=True):
        if not of_panel:
            raise UserError(f"figure.panels: no two private policies of the panel {panel} share horizon and epsilon")
    looks = _looks(rivals, found, colours)
    panels = [_panel(panel["title"], of_panel, looks) for panel, of_panel in zip(spec.panels, found, strict=True)]
    rows = in_rows(panels, columns := even_columns(len(panels)))
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(cells)} runs; pale: not told apart from another"],
        shown=f"the policy of the least {QUANTITIES[spec.value]} at each horizon and ε, logarithmic axes",
        rows=rows,
        size=(1.2 + 2.4 * columns, 0.6 + 2.6 * len(rows)),
        legend=labels(panels),
    )


def _looks(
    rivals: Sequence[Sequence[Stored]], found: Sequence[Sequence[Win]], colours: Mapping[str, str]
) -> dict[str, tuple[str, Look]]:
    """Label and look of every cell that wins, by its key: policies have colours, labels of one policy markers."""
    cells = [stored for of_panel in rivals for stored in of_panel]
    behind = names_behind(cells)
    labels = {stored.cell.key: words.name(stored.cell.policy) + behind[stored.cell.policy.name] for stored in cells}
    labels |= told_apart(rivals, labels, _place)
    assigned = colours_of((stored.cell.policy for stored in cells), colours)
    marked: dict[str, list[str]] = {}
    looks = {}
    for stored in (win.best for of_panel in found for win in of_panel):
        word, label = word_of(stored.cell.policy), labels[stored.cell.key]
        of_word = marked.setdefault(word, [])
        if label not in of_word:
            of_word.append(label)
        looks[stored.cell.key] = (label, Look(assigned[word], "none", _marker(of_word.index(label)), marker_size=SIZE))
    return looks


def _marker(number: int) -> str:
    """Squares first: they fill a map best."""
    return marker((number + 1) % 2 if number < 2 else number)


def _panel(title: str, found: Sequence[Win], looks: Mapping[str, tuple[str, Look]]) -> Panel:
    groups: dict[tuple[str, bool], list[Win]] = {}
    for win in found:
        groups.setdefault((looks[win.best.cell.key][0], win.clear), []).append(win)
    marks = []
    for (label, clear), of_label in sorted(groups.items(), key=lambda group: not group[0][1]):
        look = looks[of_label[0].best.cell.key][1]
        x = np.array([win.horizon for win in of_label], dtype=float)
        y = np.array([win.epsilon for win in of_label])
        marks.append(Series(x, y, look if clear else Look(**{**vars(look), "opacity": PALE}), label))
    horizons, epsilons = [win.horizon for win in found], [win.epsilon for win in found]
    lines = [
        f"{label} at {', '.join(f'T = {win.horizon:g}, ε = {win.epsilon:g}' for win in of_label)}"
        + ("" if clear else ", not clearly")
        for (label, clear), of_label in groups.items()
    ]
    return Panel(
        title,
        Axis("T", "log", low=min(horizons) / 3, high=max(horizons) * 3, decades_only=True),
        Axis("ε", "log", low=min(epsilons) / 2, high=max(epsilons) * 2, decades_only=True),
        marks,
        words=lines,
    )
