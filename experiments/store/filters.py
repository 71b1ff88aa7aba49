"""Filters that choose cells of an index: column=value or column=[values]."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from experiments.errors import UserError, nearest
from experiments.store.index import Index
from experiments.store.stored import matches


def chosen(index: Index, filters: Mapping[str, Any], known: Iterable[str]) -> Index:
    """The cells that pass all `filters`.

    Raises `UserError` for a column that is not `known`, and for a value that no stored cell has in its column.
    """
    for name, wanted in filters.items():
        if name not in known:
            raise UserError(f"{name}={wanted}: unknown filter; {nearest(name, known)}")
        require_stored(name, wanted, index.column(name).distinct())
    for name, wanted in filters.items():
        index = index.only(index.column(name).where(partial(matches, wanted=wanted)))
    return index


def require_stored(name: str, wanted: Any, stored: Iterable[Any]) -> None:
    """Raise `UserError` for a wanted value that is not stored; the message names the nearest that are."""
    known = list(stored)
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    options = list(wanted) if several and not any(isinstance(value, list) for value in known) else [wanted]
    for option in options:
        if known and not any(matches(value, option) for value in known):
            raise UserError(f"{name}={option}: no stored cell has it; {_nearest_values(option, known)}")


def _nearest_values(option: Any, known: Iterable[Any]) -> str:
    """The stored numbers just below and above `option` if it is a number, else the nearest words."""
    numbers = sorted({value for value in known if isinstance(value, int | float)})
    if not isinstance(option, int | float) or not numbers:
        return nearest(str(option), {str(value) for value in known if value is not None})
    beside = [*[value for value in numbers if value < option][-1:], *[value for value in numbers if value > option][:1]]
    return f"the nearest: {', '.join(f'{value:.12g}' for value in beside)}"
