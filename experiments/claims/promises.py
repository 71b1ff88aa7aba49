"""What a claim promises of every run or on average: bounds, and how often something happens."""

import inspect
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bandits import ParameterError
from bandits.parameters import require
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.claims.forms import Form, limits
from experiments.claims.results import Conditions, Results, labels, pick, values_of
from experiments.claims.verdicts import FAMILY, Setting
from experiments.errors import nearest
from experiments.intervals import Interval
from experiments.stored import Stored, require_quantity
from experiments.theorems import Words, imported, value_of


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
        return f"{QUANTITIES[self.quantity]} against {self.bound.rpartition('.')[2]}"

    def settings(self, results: Results) -> list[Setting]:
        cells = pick(results.cells(self.experiments), self.filter, "filter")
        return [self._closest(cell, where, len(cells)) for where, cell in zip(labels(cells), cells, strict=True)]

    def _closest(self, cell: Stored, where: dict[str, Any], cells: int) -> Setting:
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
            settings.append(Setting(where, interval, **asked))
        return min(settings, key=lambda setting: setting.severity)

    def _points(self, cell: Stored) -> list[tuple[float, Any]]:
        """Times, and the number of each run then; the last alone where neither bound nor mean can be closer before."""
        values = values_of(cell, self.quantity)
        if self.quantity != "regret":
            return [(float(cell.cell.horizon), values)]
        if self.side == "upper" and "t" not in self.arguments.values():
            return [(float(cell.cell.horizon), values)]  # regret never falls and the bound stays
        return [(float(t), column) for t, column in zip(cell.t, cell.regret.T, strict=True)]


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
        return [self._closest(cell, where) for where, cell in zip(labels(cells), cells, strict=True)]

    def _closest(self, cell: Stored, where: dict[str, Any]) -> Setting:
        instance: Any = cell.cell.instance
        settings = []
        for arm in np.flatnonzero(instance.gaps > 0):
            limit = value_of(self.bound, self.arguments, cell, {"gap": float(instance.gaps[arm])})
            most = intervals.exactly(float(cell.pulls[:, arm].max()))
            settings.append(Setting({**where, "arm": int(arm)}, most, at_most=limit))
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
        return QUANTITIES[self.event]

    def settings(self, results: Results) -> list[Setting]:
        cells = pick(results.cells(self.experiments), self.filter, "filter")
        return [
            Setting(where, self.share(cell, FAMILY / len(cells)), *self._limits(cell))
            for where, cell in zip(labels(cells), cells, strict=True)
        ]

    def share(self, cell: Stored, error: float) -> Interval:
        """How often it happens in the runs of a cell."""
        happened = values_of(cell, self.event)
        require(happened.dtype == bool, "event", self.event, "a quantity that is yes or no")
        return intervals.share(happened, error)

    def _limits(self, cell: Stored) -> tuple[float, float]:
        at_least, at_most = (None if limit is None else cell.number(limit) for limit in (self.at_least, self.at_most))
        return limits(at_least, at_most)


@dataclass(frozen=True)
class Never(Frequency):
    """An `event` that no run shows. For promises that may fail with a probability as small as 1 / T."""

    test: ClassVar[str] = "never"
    at_most: float | str | None = 0.0

    def share(self, cell: Stored, error: float) -> Interval:
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
        number = QUANTITIES[self.event].removeprefix("mean ")
        return f"share of runs with {number} above {self.bound.rpartition('.')[2]}"

    def share(self, cell: Stored, error: float) -> Interval:
        limit = value_of(self.bound, self.arguments, cell)
        if math.isnan(limit):
            return Interval(math.nan, math.nan, math.nan)
        return intervals.share(values_of(cell, self.event) > limit, error)


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
