"""What each cell of a figure is called and how it looks: whatever varies within a panel is in its label.

No two things share a label, and no two labels colour, dashes and marker.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.errors import UserError
from experiments.stored import Stored
from experiments.stored_cells import Cells
from scripts.drawing import words
from scripts.drawing.drawing import Dashes
from scripts.drawing.numbers import parameter
from scripts.drawing.spec import SYMBOLS
from scripts.drawing.style import colours_of, dashes, marker, word_of

Same = Callable[[Stored], Hashable]
OF_A_CELL = ("instance", "arms", "epsilon", "delta", "horizon", "scope", "record")  # named before what an instance has


@dataclass(frozen=True)
class Entry:
    """One label of a legend, and how it is drawn.

    Attributes
    ----------
    number: of the label among those of its colour, which dashes and markers tell apart.
    place: of the label among all.
    """

    label: str
    colour: str
    number: int
    place: int

    @property
    def dashes(self) -> Dashes:
        return dashes(self.number)

    @property
    def marker(self) -> str:
        return marker(self.number)


def legend(
    cells: Cells,
    panels: Iterable[Cells],
    colours: Mapping[str, str],
    said: Callable[[Stored, str], str] = words.label,
    same: Same = lambda _: None,
) -> dict[str, Entry]:
    """The entry of each of the `cells`, by its key; cells share one if nothing has to tell them apart.

    Raises `UserError` where nothing tells two cells of a panel apart.

    Parameters
    ----------
    panels: the cells that stand together, all among the `cells`: what varies in one of these is said.
    colours: of policies, where they are known.
    said: what a cell is called, from the cell and what follows the name of its policy, see `names_behind`.
    same: what tells cells of a label apart in the picture by itself, as their place along x.
    """
    behind = names_behind(cells)
    labels = {stored.cell.key: said(stored, behind[stored.cell.policy.name]) for stored in cells}
    labels |= _told_apart(panels, labels, same)
    assigned = colours_of((stored.cell.policy for stored in cells), colours)
    entries: dict[str, Entry] = {}
    for stored in cells:
        label, colour = labels[stored.cell.key], assigned[word_of(stored.cell.policy)]
        if label not in entries:
            number = sum(known.colour == colour for known in entries.values())
            entries[label] = Entry(label, colour, number, place=len(entries))
    return {stored.cell.key: entries[labels[stored.cell.key]] for stored in cells}


def names_behind(cells: Iterable[Stored]) -> dict[str, str]:
    """What follows the label of each policy, by its name: nothing, or the name where another policy has that label.

    Raises `UserError` for two classes of one name: nothing could tell their curves apart.
    """
    classes: dict[str, type[Any]] = {}
    of_label: dict[str, set[str]] = {}
    for stored in cells:
        policy = stored.cell.policy
        first = classes.setdefault(policy.name, type(policy))
        if first is not type(policy):
            raise UserError(f"policy: {_place(first)} and {_place(type(policy))} are both called {policy.name}")
        for label in (words.name(policy), words.legend(policy)):
            of_label.setdefault(label, set()).add(policy.name)
    shared = {name for label, names in of_label.items() for name in names if len(names) > 1 or not label}
    return {name: f" [{name}]" if name in shared else "" for name in classes}


def _told_apart(panels: Iterable[Cells], labels: Mapping[str, str], same: Same) -> dict[str, str]:
    """The `labels` of cells by their key, with the name and value of whatever else varies within one of the `panels`.

    Raises `UserError` where nothing tells two cells apart.
    """
    named: dict[str, dict[str, None]] = {}
    for of_panel in panels:
        for (label, _), alike in of_panel.grouped(lambda stored: (labels[stored.cell.key], same(stored))).items():
            named.setdefault(label, {}).update(dict.fromkeys(_telling_apart(alike)))
    found = {}
    for label, kin in Cells.of(panels).grouped(lambda stored: labels[stored.cell.key]).items():
        for stored in kin:
            said = [_said(name, stored, kin) for name in named[label] if name in stored.columns]
            found[stored.cell.key] = ", ".join([label, *said])
    return found


def _telling_apart(cells: Cells) -> list[str]:
    """The columns that tell cells apart: all parameters of a policy that vary, and of the others as few as will do."""
    of_policy = cells.grouped(lambda stored: stored.cell.policy.name)
    names = ["policy"] if len(of_policy) > 1 else []
    for kin in of_policy.values():
        fields = [item.name for item in dataclasses.fields(kin[0].cell.policy)]  # type: ignore[arg-type]
        names += [name for name in fields if len(kin.values(name)) > 1 and name not in names]
    for name in dict.fromkeys((*OF_A_CELL, *cells.columns)):
        if _count(cells, names) == len(cells):
            return names
        if _count(cells, [*names, name]) > _count(cells, names):
            names.append(name)
    if _count(cells, names) < len(cells):
        cell = cells[0].cell
        raise UserError(
            f"cells: {cell.policy.name} on {cell.instance.name} is there twice, and nothing tells them apart"
        )
    return names


def _count(cells: Cells, names: Sequence[str]) -> int:
    """How many of the cells the columns tell apart."""
    return len({tuple(repr(of.get(name)) for name in names) for of in (stored.columns for stored in cells)})


def _said(name: str, stored: Stored, kin: Cells) -> str:
    """A column as a legend says it, to so many digits as tell its values apart."""
    values = kin.values(name)
    short = len({parameter(value) for value in values}) == len(values)
    value = stored.columns[name]
    return f"{SYMBOLS.get(name, name.replace('_', ' '))} = {parameter(value) if short else value}"


def _place(of: type[Any]) -> str:
    return f"{of.__module__}.{of.__name__}"
