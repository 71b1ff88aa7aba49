"""Stored results as claims see them: cells with their columns, picked by conditions."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits import ParameterError
from experiments import intervals
from experiments.cells import BaseCell
from experiments.config.compose import Composer
from experiments.errors import nearest
from experiments.frames import NotStoredError, matches, stored_cells
from experiments.intervals import Interval
from experiments.quantities import measure
from experiments.store import Result, Store

Conditions = dict[str, Any]
Labels = dict[str, Any]


class CannotJudgeError(Exception):
    """There is not enough stored to judge by; the message says what to do."""


@dataclass(frozen=True)
class Measured:
    """A cell and its stored replications."""

    cell: BaseCell
    result: Result

    @cached_property
    def columns(self) -> Labels:
        """What the cell is, as in `experiments.load`, and what is recorded of it."""
        return {**self.cell.columns, "record": self.cell.record}

    @property
    def exact(self) -> bool:
        """Whether its numbers are computed rather than estimated."""
        return not self.cell.repeatable

    def word(self, word: str) -> Any:
        """What a `word` in a claim stands for: a column, else something about the instance. Raises `ParameterError`."""
        if self.columns.get(word) is not None:
            return self.columns[word]
        instance: Any = self.cell.instance
        if word not in DERIVED:
            raise ParameterError(word, f"stands for no number here; {nearest(word, {*self.columns, *DERIVED})}")
        try:
            return DERIVED[word](instance)
        except AttributeError:
            raise ParameterError(word, f"is not known of the instance {instance.name}") from None

    def number(self, value: float | str) -> float:
        """A number as it is, or what a word stands for."""
        stands_for = self.word(value) if isinstance(value, str) else value
        try:
            return float(stands_for)
        except (TypeError, ValueError):
            raise ParameterError(str(value), f"is {stands_for}, no number") from None

    def values(self, quantity: str) -> NDArray[Any]:
        """The `quantity` of each replication. Raises `CannotJudgeError` for a single run, which has no interval."""
        if self.cell.repeatable and self.result.replications < 2:
            raise CannotJudgeError("a single run has no interval; store more replications")
        return measure(quantity, self.cell, self.result)

    def interval(self, quantity: str, error: float) -> Interval:
        return intervals.estimate(self.values(quantity), error)


def _gaps(instance: Any) -> NDArray[np.float64]:
    return np.asarray(instance.gaps[instance.gaps > 0])


DERIVED: dict[str, Callable[[Any], Any]] = {
    "gaps": _gaps,
    "least_gap": lambda instance: float(_gaps(instance).min()),
    "inverse_gap": lambda instance: 1 / float(_gaps(instance).min()),
    "slack": lambda instance: float(_gaps(instance).min()) / 3,
    "log_arms": lambda instance: math.log(instance.number_of_arms),
    "moment": lambda instance: instance.moment,
    "means": lambda instance: instance.mean_rewards,
}


@dataclass
class Results:
    """What is stored in `store`, each experiment planned and `read` once; `overrides` as in a command."""

    store: Store
    composer: Composer
    overrides: Sequence[str] = ()
    read: dict[str, list[Measured] | CannotJudgeError] = field(default_factory=dict)

    def cells(self, experiments: Iterable[str]) -> list[Measured]:
        """The cells of `experiments`, each once. Raises `CannotJudgeError` if some are not stored."""
        found: dict[str, Measured] = {}
        for name in experiments:
            if name not in self.read:
                self.read[name] = self._experiment(name)
            cells = self.read[name]
            if isinstance(cells, CannotJudgeError):
                raise cells
            for measured in cells:
                known = found.get(measured.cell.key)
                if known is None or known.result.replications < measured.result.replications:
                    found[measured.cell.key] = measured
        return list(found.values())

    def _experiment(self, name: str) -> list[Measured] | CannotJudgeError:
        known = self.composer.choices("experiment")
        if name not in known:
            raise ParameterError("experiments", f"{name} is unknown; {nearest(name, known)}")
        try:
            cells = stored_cells([f"+experiment={name}", *self.overrides], self.store, self.composer)
        except NotStoredError as missing:
            return CannotJudgeError(f"{name}: {missing}")
        return [Measured(cell, result) for cell, result in cells]


def pick(cells: Sequence[Measured], conditions: Conditions, key: str) -> list[Measured]:
    """The `cells` that meet all `conditions`, which stand under `key` in the claim. Raises `ParameterError`."""
    for name, wanted in conditions.items():
        known = {column for measured in cells for column in measured.columns}
        if name not in known:
            raise ParameterError(f"{key}.{name}", f"is no column of these cells; {nearest(name, known)}")
        values = (measured.columns.get(name) for measured in cells)
        stored = {value for value in values if isinstance(value, str)}
        for word in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(word, str) and word not in stored:
                raise ParameterError(f"{key}.{name}", f"no cell has {word}; {nearest(word, stored)}")
    picked = [
        measured
        for measured in cells
        if all(matches(measured.columns.get(name), wanted) for name, wanted in conditions.items())
    ]
    if not picked:
        raise ParameterError(key, f"no cell meets {conditions}")
    return picked


def labels(cells: Sequence[Measured]) -> list[Labels]:
    """For each cell the columns in which the `cells` differ; lists are left out, as they rarely read well."""
    names = dict.fromkeys(name for measured in cells for name in measured.columns)
    differ = [name for name in names if len({str(measured.columns.get(name)) for measured in cells}) > 1]
    shown = [name for name in differ if not any(isinstance(of.columns.get(name), list | tuple) for of in cells)]
    return [
        {name: of.columns[name] for name in shown if of.columns.get(name) is not None}
        or {"instance": of.columns["instance"]}
        for of in cells
    ]


def groups(cells: Sequence[Measured], by: Sequence[str], key: str = "by") -> dict[tuple[Any, ...], list[Measured]]:
    """The cells with equal columns `by`. Raises `ParameterError` for a word that is no column."""
    found: dict[tuple[Any, ...], list[Measured]] = {}
    known = {name for measured in cells for name in measured.columns}
    for name in by:
        if name not in known:
            raise ParameterError(key, f"{name} is no column of these cells; {nearest(name, known)}")
    for measured in cells:
        found.setdefault(tuple(measured.columns.get(name) for name in by), []).append(measured)
    return found


def apart(cells: Sequence[Measured], values: Sequence[Any]) -> None:
    """Raise `ParameterError` unless `values` tell the cells of a group apart."""
    for value, cell, other in _twins(cells, values):
        of, and_ = cell.columns, other.columns
        more = [name for name in of if str(of[name]) != str(and_.get(name))]
        raise ParameterError("by", f"does not tell apart several cells at {value}; they differ in {', '.join(more)}")


def _twins(cells: Sequence[Measured], values: Sequence[Any]) -> Iterable[tuple[Any, Measured, Measured]]:
    seen: dict[Any, Measured] = {}
    for value, cell in zip(values, cells, strict=True):
        if value in seen:
            yield value, seen[value], cell
        seen[value] = cell
