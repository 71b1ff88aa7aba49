"""Labels of what a figure draws: whatever varies within a panel is in them, and no two things share one."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from experiments.errors import UserError
from experiments.stored import Stored
from scripts.drawing import words
from scripts.drawing.numbers import parameter
from scripts.drawing.spec import SYMBOLS

Same = Callable[[Stored], Hashable]
OF_A_CELL = ("instance", "arms", "epsilon", "delta", "horizon", "scope", "record")  # named before what an instance has


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


def told_apart(panels: Sequence[Sequence[Stored]], labels: Mapping[str, str], same: Same) -> dict[str, str]:
    """The `labels` of cells by their key, with the name and value of whatever else varies within one of the `panels`.

    `same` is what tells cells of a label apart in the picture by itself, as their place along x. Raises `UserError`
    where nothing tells two cells apart.
    """
    named: dict[str, dict[str, None]] = {}
    for panel in panels:
        groups: dict[tuple[str, Hashable], list[Stored]] = {}
        for stored in panel:
            groups.setdefault((labels[stored.cell.key], same(stored)), []).append(stored)
        for (label, _), group in groups.items():
            named.setdefault(label, {}).update(dict.fromkeys(_varying(group)))
    cells = {stored.cell.key: stored for panel in panels for stored in panel}
    found = {}
    for key, stored in cells.items():
        kin = [other for other in cells.values() if labels[other.cell.key] == labels[key]]
        said = [_said(name, stored, kin) for name in named[labels[key]] if name in stored.columns]
        found[key] = ", ".join([labels[key], *said])
    return found


def _varying(group: Sequence[Stored]) -> list[str]:
    """The columns that tell cells apart: all parameters of a policy that vary, and of the others as few as will do."""
    of_policy: dict[str, list[Stored]] = {}
    for stored in group:
        of_policy.setdefault(stored.cell.policy.name, []).append(stored)
    names = ["policy"] if len(of_policy) > 1 else []
    for kin in of_policy.values():
        fields = [item.name for item in dataclasses.fields(kin[0].cell.policy)]  # type: ignore[arg-type]
        names += [name for name in fields if len({_exactly(name, stored) for stored in kin}) > 1 and name not in names]
    for name in dict.fromkeys((*OF_A_CELL, *(name for stored in group for name in stored.columns))):
        if _count(group, names) == len(group):
            return names
        if _count(group, [*names, name]) > _count(group, names):
            names.append(name)
    if _count(group, names) < len(group):
        cell = group[0].cell
        raise UserError(
            f"cells: {cell.policy.name} on {cell.instance.name} is there twice, and nothing tells them apart"
        )
    return names


def _count(group: Iterable[Stored], names: Iterable[str]) -> int:
    """How many of the cells the columns tell apart."""
    listed = list(names)
    return len({tuple(_exactly(name, stored) for name in listed) for stored in group})


def _exactly(name: str, stored: Stored) -> str:
    return repr(stored.columns.get(name))


def _said(name: str, stored: Stored, kin: Iterable[Stored]) -> str:
    """A column as a legend says it, to so many digits as tell its values apart."""
    values = {_exactly(name, other): other.columns.get(name) for other in kin}
    short = len({parameter(value) for value in values.values()}) == len(values)
    value = stored.columns[name]
    return f"{SYMBOLS.get(name, name.replace('_', ' '))} = {parameter(value) if short else value}"


def _place(of: type[Any]) -> str:
    return f"{of.__module__}.{of.__name__}"
