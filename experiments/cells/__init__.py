"""Kinds of cells: a file for each kind of record, found by being in this package."""

import importlib
import pkgutil
from typing import Any

from bandits import ParameterError
from bandits.learner import Environment, Learner
from experiments.cells.base import RECORDED, Cell, Quantity, Rows, RunValues, Schema, is_part, mismatch
from experiments.cells.weighted import WeightedCell


def _kinds() -> dict[str, type[Cell]]:
    """Every kind of cell by its record."""
    kinds = {}
    for item in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{item.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Cell) and hasattr(value, "record"):
                kinds[value.record] = value
    return kinds


KINDS = _kinds()
TABLES = {word: schema for kind in KINDS.values() for word, schema in kind.tables.items()}
QUANTITIES = {word: quantity.label for kind in KINDS.values() for word, quantity in kind.quantities.items()}


def kind_of(instance: Environment, policy: Learner[Any], exact: bool, weighted: bool) -> type[Cell]:
    """The kind of cell of `policy` on `instance`. Raises `ParameterError` if there is none."""
    if weighted:
        if exact:
            raise ParameterError("weighted", "excludes exact; leave one of them false")
        return WeightedCell
    for kind in KINDS.values():
        if kind.records(instance, policy, exact):
            return kind
    if exact and any(kind.records(instance, policy, False) for kind in KINDS.values()):
        raise ParameterError("exact", f"has no meaning for {instance.name}; leave it false")
    raise ParameterError("instance", mismatch(instance, policy))


__all__ = [
    "KINDS",
    "QUANTITIES",
    "RECORDED",
    "TABLES",
    "Cell",
    "Quantity",
    "Rows",
    "RunValues",
    "Schema",
    "is_part",
    "kind_of",
]
