"""What a claim promises of every run or on average: bounds, and how often something happens."""

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bandits import ParameterError
from bandits.parameters import require
from experiments import intervals
from experiments.claims.forms import Form, limits, require_quantity
from experiments.claims.results import Conditions, Measured, Results, labels, pick
from experiments.claims.verdicts import FAMILY, Setting
from experiments.errors import nearest
from experiments.intervals import Interval
from experiments.quantities import QUANTITIES

Words = dict[str, Any]  # arguments of a bound: a number, or a word, see `Measured.word`


def imported(path: str, key: str) -> Callable[..., Any]:
    """The function that a dotted `path` names. Raises `ParameterError` on `key`."""
    module_name, _, name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise ParameterError(key, f"cannot import {path}: {error}") from None
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise ParameterError(key, f"{module_name} has no function {name}; {nearest(name, vars(module))}")
    return function


def value_of(bound: str, arguments: Words, cell: Measured, more: Mapping[str, float] | None = None) -> float:
    """The bound for a cell, `more` being words besides those of the cell; NaN where its theorem does not apply."""
    known = more or {}
    given = {
        name: known[word] if word in known else cell.word(word) if isinstance(word, str) else word
        for name, word in arguments.items()
    }
    function = imported(bound, "bound")
    try:
        return float(function(**given))
    except ParameterError:
        return math.nan
    except (TypeError, ValueError) as error:
        raise ParameterError("arguments", str(error)) from None


@dataclass(frozen=True)
class Bound(Form):
    """The mean `quantity` is never above what `bound` gives for the `arguments` (below it for the side `lower`).

    For regret that is so at every checkpoint, which `t` stands for among the arguments.
    """

    test: ClassVar[str] = "bound"
    experiments: tuple[str, ...]
    filter: Conditions
    bound: str
    arguments: Words
    side: Literal["upper", "lower"] = "upper"
    quantity: str = "regret"

    def __post_init__(self) -> None:
        require_quantity(self.quantity)
        imported(self.bound, "bound")

    @property
    def measures(self) -> str:
        return f"{QUANTITIES[self.quantity][0]} against {self.bound.rpartition('.')[2]}"

    def settings(self, results: Results) -> list[Setting]:
        cells = pick(results.cells(self.experiments), self.filter, "filter")
        return [self._closest(cell, told, len(cells)) for told, cell in zip(labels(cells), cells, strict=True)]

    def _closest(self, cell: Measured, told: dict[str, Any], cells: int) -> Setting:
        """The checkpoint at which the bound is the nearest, relative to it."""
        points = self._points(cell)
        settings = []
        limit = math.nan
        for place, (t, values) in enumerate(points):
            if place == 0 or "t" in self.arguments.values():
                limit = value_of(self.bound, self.arguments, cell, {"t": t})
            error = FAMILY / (cells * len(points))
            interval = intervals.exactly(values[0]) if len(values) == 1 else intervals.estimate(values, error)
            asked = {"at_most": limit} if self.side == "upper" else {"at_least": limit}
            settings.append(Setting(told, interval, **asked))
        return min(settings, key=lambda setting: setting.severity)

    def _points(self, cell: Measured) -> list[tuple[float, Any]]:
        """Times, and the number of each run then; the last alone where neither bound nor mean can be closer before."""
        values = cell.values(self.quantity)
        if self.quantity != "regret":
            return [(float(cell.cell.horizon), values)]
        if self.side == "upper" and "t" not in self.arguments.values():
            return [(float(cell.cell.horizon), values)]  # regret never falls and the bound stays
        return [(float(t), column) for t, column in zip(cell.result.t, cell.result.regret.T, strict=True)]


@dataclass(frozen=True)
class PullsBound(Form):
    """In no run is a suboptimal arm pulled more often than `bound` gives for the `arguments`, `gap` being the arm's.

    For promises that may fail with a probability as small as 1 / T, which no number of runs can tell from 0: a
    setting passes if no run breaks the promise. Its number is the most pulls in a run, of the arm nearest to its bound.
    """

    test: ClassVar[str] = "pulls_bound"
    experiments: tuple[str, ...]
    filter: Conditions
    bound: str
    arguments: Words

    def __post_init__(self) -> None:
        imported(self.bound, "bound")

    @property
    def measures(self) -> str:
        return f"most pulls of an arm in any run against {self.bound.rpartition('.')[2]}"

    def settings(self, results: Results) -> list[Setting]:
        cells = pick(results.cells(self.experiments), self.filter, "filter")
        return [self._closest(cell, told) for told, cell in zip(labels(cells), cells, strict=True)]

    def _closest(self, cell: Measured, told: dict[str, Any]) -> Setting:
        instance: Any = cell.cell.instance
        settings = []
        for arm in np.flatnonzero(instance.gaps > 0):
            limit = value_of(self.bound, self.arguments, cell, {"gap": float(instance.gaps[arm])})
            most = intervals.exactly(float(cell.result.pulls[:, arm].max()))
            settings.append(Setting({**told, "arm": int(arm)}, most, at_most=limit))
        return min(settings, key=lambda setting: setting.severity)


@dataclass(frozen=True)
class Frequency(Form):
    """How often something happens, an `event` of the runs; limits are numbers or words, as beta."""

    test: ClassVar[str] = "frequency"
    experiments: tuple[str, ...]
    filter: Conditions
    event: str
    at_least: float | str | None = None
    at_most: float | str | None = None

    def __post_init__(self) -> None:
        require(self.at_least is not None or self.at_most is not None, "at_least", None, "given, or at_most")
        if self.event not in QUANTITIES:
            raise ParameterError("event", f"{self.event} is unknown; {nearest(self.event, QUANTITIES)}")

    @property
    def measures(self) -> str:
        return QUANTITIES[self.event][0]

    def settings(self, results: Results) -> list[Setting]:
        cells = pick(results.cells(self.experiments), self.filter, "filter")
        return [
            Setting(told, self.share(cell, FAMILY / len(cells)), *self._limits(cell))
            for told, cell in zip(labels(cells), cells, strict=True)
        ]

    def share(self, cell: Measured, error: float) -> Interval:
        """How often it happens in the runs of a cell."""
        happened = cell.values(self.event)
        require(happened.dtype == bool, "event", self.event, "a quantity that is yes or no")
        return intervals.share(happened, error)

    def _limits(self, cell: Measured) -> tuple[float, float]:
        at_least, at_most = (None if limit is None else cell.number(limit) for limit in (self.at_least, self.at_most))
        return limits(at_least, at_most)


@dataclass(frozen=True)
class Never(Frequency):
    """An `event` that no run shows. For promises that may fail with a probability as small as 1 / T."""

    test: ClassVar[str] = "never"
    at_most: float | str | None = 0.0

    def share(self, cell: Measured, error: float) -> Interval:
        return intervals.exactly(super().share(cell, error).estimate)


@dataclass(frozen=True, kw_only=True)
class Exceedance(Frequency):
    """How often the `event`, a number of each run, is above what `bound` gives for the `arguments`."""

    test: ClassVar[str] = "exceedance"
    bound: str
    arguments: Words

    def __post_init__(self) -> None:
        super().__post_init__()
        imported(self.bound, "bound")

    @property
    def measures(self) -> str:
        number = QUANTITIES[self.event][0].removeprefix("mean ")
        return f"share of runs with {number} above {self.bound.rpartition('.')[2]}"

    def share(self, cell: Measured, error: float) -> Interval:
        limit = value_of(self.bound, self.arguments, cell)
        if math.isnan(limit):
            return Interval(math.nan, math.nan, math.nan)
        return intervals.share(cell.values(self.event) > limit, error)


@dataclass(frozen=True)
class Exact(Form):
    """What a function without arguments, `check`, computes: a list of settings."""

    test: ClassVar[str] = "exact"
    check: str

    def __post_init__(self) -> None:
        if inspect.signature(imported(self.check, "check")).parameters:
            raise ParameterError("check", f"{self.check} takes arguments, which nothing here gives it")

    @property
    def measures(self) -> str:
        function = imported(self.check, "check")
        return (function.__doc__ or self.check).strip().partition("\n")[0].rstrip(".")

    def settings(self, results: Results) -> list[Setting]:
        settings: list[Setting] = imported(self.check, "check")()
        return settings
