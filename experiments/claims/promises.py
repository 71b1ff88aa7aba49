"""Forms of claims that promise something of every run or on average: bounds, and how often something happens."""

import inspect
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bandits import ParameterError
from bandits.parameters import require
from experiments import intervals
from experiments.audit.rows import NO_VERDICT, AuditRow
from experiments.audit.table import picked
from experiments.cells import QUANTITIES, RunValues
from experiments.claims.checks import ROUNDING
from experiments.claims.forms import Filtered, Form, limits
from experiments.claims.power import counted, in_turn, possible_of, scaled
from experiments.claims.results import (
    CannotJudgeError,
    Conditions,
    Labels,
    Results,
    labels_of_cells,
    values_for_mean,
    values_of,
)
from experiments.claims.settings import ANYTHING, Range, Setting
from experiments.errors import nearest
from experiments.evidence.theorems import Words, imported, value_of
from experiments.intervals import Interval
from experiments.store.stored import Stored, require_quantity

SHARES = Range(0.0, 1.0)
UNSEEN = 0.05  # our choice: the power of `Never` is the event probability that all runs would miss with this chance


@dataclass(frozen=True)
class Bound(Filtered):
    """The mean `quantity` is never above what `bound` gives for the `arguments` (or below it, if `side` is lower).

    Regret is compared at every checkpoint, for which `t` stands among the arguments.
    """

    test: ClassVar[str] = "bound"
    held_to: ClassVar[tuple[str, ...]] = ("bound",)
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

    def settings(self, results: Results, error: float) -> list[Setting]:
        cells = self.cells(results)
        share = error / len(cells)
        return [self._closest(cell, where, share) for where, cell in zip(labels_of_cells(cells), cells, strict=True)]

    def _closest(self, cell: Stored, where: dict[str, Any], error: float) -> Setting:
        """The setting of the checkpoint at which the bound is nearest, relative to its size."""
        points = self._points(cell)
        settings = []
        limit = math.nan
        for place, (t, values) in enumerate(points):
            if place == 0 or "t" in self.arguments.values():
                limit = value_of(self.bound, self.arguments, cell, {"t": t})
            interval = intervals.estimate(values, error / len(points))
            allowed = (-math.inf, limit) if self.side == "upper" else (limit, math.inf)
            setting = self._setting(where, interval, *allowed, possible_of(cell, self.quantity, t))
            settings.append(replace(setting, in_turn=in_turn(cell, self.quantity, t)))
        return min(settings, key=lambda setting: setting.severity)

    @staticmethod
    def _setting(where: Labels, interval: Interval, at_least: float, at_most: float, possible: Range) -> Setting:
        """The setting; `slack` is the factor between the bound and the end of the interval that is farther from it."""
        slack = at_most / interval.low if math.isfinite(at_most) and interval.low > 0 else math.nan
        if at_least > 0:
            slack = interval.high / at_least
        unseen = scaled(interval, at_least, at_most)
        return Setting(where, interval, at_least, at_most, possible, unseen, slack)

    def _points(self, cell: Stored) -> list[tuple[float, Any]]:
        """Times, with the quantity of each run then; only the last time if the bound cannot be closer before."""
        values = values_for_mean(cell, self.quantity)
        if self.quantity != "regret" or cell.weighted is not None:
            return [(float(cell.cell.horizon), values)]
        if self.side == "upper" and "t" not in self.arguments.values():
            return [(float(cell.cell.horizon), values)]  # regret never falls and the bound stays
        return [(float(t), column) for t, column in zip(cell.t, cell.regret.T, strict=True)]


@dataclass(frozen=True)
class BoundGrowth(Filtered):
    """The growth of mean regret over a `stretch` of time, divided by that of `bound`: 1 if regret grows as the bound.

    `stretch` is in shares of the horizon; for both ends the last checkpoint up to there is used, for which `t` stands
    among the `arguments`. For a limit of regret / log T this is more accurate than the ratio at T, which includes the
    regret of early steps.
    """

    test: ClassVar[str] = "bound_growth"
    held_to: ClassVar[tuple[str, ...]] = ("at_least", "at_most")
    experiments: tuple[str, ...]
    filter: Conditions
    bound: str
    arguments: Words
    stretch: tuple[float, ...]
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        limits(self.at_least, self.at_most)
        imported(self.bound, "bound")
        ordered = len(self.stretch) == 2 and 0 < self.stretch[0] < self.stretch[1] <= 1
        require(ordered, "stretch", list(self.stretch), "two increasing shares of the horizon")
        require("t" in self.arguments.values(), "arguments", dict(self.arguments), "with t, the step, among them")

    @property
    def measures(self) -> str:
        return f"growth of regret relative to that of {self.bound.rpartition('.')[2]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        cells = self.cells(results)
        allowed = limits(self.at_least, self.at_most)
        settings = []
        for where, cell in zip(labels_of_cells(cells), cells, strict=True):
            interval = self._interval(cell, error / len(cells))
            settings.append(Setting(where, interval, *allowed, unseen=scaled(interval, *allowed)))
        return settings

    def _interval(self, cell: Stored, error: float) -> Interval:
        values_of(cell, "regret")  # there are enough runs
        places = np.searchsorted(cell.t, np.array(self.stretch) * cell.cell.horizon, side="right") - 1
        require(0 <= places[0] < places[1], "stretch", list(self.stretch), "wide enough for two checkpoints")
        first, last = (value_of(self.bound, self.arguments, cell, {"t": float(cell.t[place])}) for place in places)
        grown = cell.regret[:, places[1]] - cell.regret[:, places[0]]
        return intervals.estimate(grown / (last - first), error)


@dataclass(frozen=True)
class PullsBound(Filtered):
    """In no run is a suboptimal arm pulled more often than `bound` gives for the `arguments`, where `gap` is the arm's.

    For promises that may fail with a probability as small as 1 / T, which runs cannot distinguish from 0: a setting
    passes if no run breaks the promise. Its number is the most pulls in any run, for the arm nearest to its bound.
    """

    test: ClassVar[str] = "pulls_bound"
    estimates: ClassVar[bool] = False
    held_to: ClassVar[tuple[str, ...]] = ("bound",)
    experiments: tuple[str, ...]
    filter: Conditions
    bound: str
    arguments: Words

    def __post_init__(self) -> None:
        imported(self.bound, "bound")

    @property
    def measures(self) -> str:
        return f"most pulls of an arm in any run against {self.bound.rpartition('.')[2]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        cells = self.cells(results)
        return [self._closest(cell, where) for where, cell in zip(labels_of_cells(cells), cells, strict=True)]

    def _closest(self, cell: Stored, where: dict[str, Any]) -> Setting:
        instance: Any = cell.cell.instance
        settings = []
        for arm in np.flatnonzero(instance.gaps > 0):
            limit = value_of(self.bound, self.arguments, cell, {"gap": float(instance.gaps[arm])})
            most = intervals.exactly(float(cell.pulls[:, arm].max()))
            possible = Range(0.0, float(cell.cell.horizon))
            slack = limit / most.estimate if most.estimate > 0 else math.inf
            in_turn = possible.high / len(instance.gaps)  # its pulls if all arms are pulled in turn
            there = {**where, "arm": int(arm)}
            settings.append(Setting(there, most, -math.inf, limit, possible, slack=slack, in_turn=in_turn))
        return min(settings, key=lambda setting: setting.severity)


@dataclass(frozen=True)
class Frequency(Filtered):
    """The probability of an `event` of the runs; limits are numbers or words of the cell, as beta."""

    test: ClassVar[str] = "frequency"
    held_to: ClassVar[tuple[str, ...]] = ("at_least", "at_most")
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

    def settings(self, results: Results, error: float) -> list[Setting]:
        cells = self.cells(results)
        return [
            self._setting(cell, where, error / len(cells))
            for where, cell in zip(labels_of_cells(cells), cells, strict=True)
        ]

    def _setting(self, cell: Stored, where: Labels, error: float) -> Setting:
        happened = values_of(cell, self.event)
        require(happened.dtype == bool, "event", self.event, "a quantity that is yes or no")
        allowed = self._limits(cell)
        unseen = counted(len(happened), *allowed, error)
        return Setting(where, intervals.share(happened, error), *allowed, SHARES, unseen)

    def _limits(self, cell: Stored) -> tuple[float, float]:
        at_least, at_most = (None if limit is None else cell.number(limit) for limit in (self.at_least, self.at_most))
        return limits(at_least, at_most)


@dataclass(frozen=True)
class Never(Frequency):
    """An `event` that no run shows, for promises that may fail with a probability as small as 1 / T.

    Its power is the probability of an event that at least one run would have shown with probability 1 - `UNSEEN`.
    """

    test: ClassVar[str] = "never"
    estimates: ClassVar[bool] = False
    at_most: float | str | None = 0.0

    def _setting(self, cell: Stored, where: Labels, error: float) -> Setting:
        frequency = super()._setting(cell, where, error)
        seen = Range(-math.inf, 1 - UNSEEN ** (1 / cell.replications))
        return replace(frequency, interval=intervals.exactly(frequency.interval.estimate), unseen=seen)


@dataclass(frozen=True, kw_only=True)
class Exceedance(Frequency):
    """The probability that the `event`, a number of each run, is above what `bound` gives for the `arguments`."""

    test: ClassVar[str] = "exceedance"
    held_to: ClassVar[tuple[str, ...]] = ("bound", "at_least", "at_most")
    bound: str
    arguments: Words

    def __post_init__(self) -> None:
        super().__post_init__()
        imported(self.bound, "bound")

    @property
    def measures(self) -> str:
        number = QUANTITIES[self.event].removeprefix("mean ")
        return f"share of runs with {number} above {self.bound.rpartition('.')[2]}"

    def _setting(self, cell: Stored, where: Labels, error: float) -> Setting:
        limit, values, allowed = (
            value_of(self.bound, self.arguments, cell),
            values_of(cell, self.event),
            self._limits(cell),
        )
        if math.isnan(limit):
            return Setting(where, Interval(math.nan, math.nan, math.nan), *allowed)
        least, most = possible_of(cell, self.event, cell.cell.horizon)
        possible = Range(float(least > limit), float(most > limit))
        unseen = counted(len(values), *allowed, error)
        slack = self._slack(values, limit, unseen)
        return Setting(where, intervals.share(values > limit, error), *allowed, possible, unseen, slack)

    @staticmethod
    def _slack(values: RunValues, limit: float, unseen: Range) -> float:
        """The factor by which the bound would have to be smaller, or larger, for the setting to fail."""
        ordered, runs = np.sort(values)[::-1], len(values)
        if unseen.high < 1:  # one run more than this share lies above all below the value of that run
            return limit / float(ordered[round(unseen.high * runs)])
        return float(ordered[round(unseen.low * runs) - 1]) / limit if unseen.low > 0 else math.nan


@dataclass(frozen=True)
class Audited(Form):
    """Rows of the table of audits (`make audit`): the loss is at most what the paper promises, times `at_most`.

    `rows` are conditions on `AuditRow.columns`. Each row that meets them is a setting, whose interval goes from the
    lower bound on the loss (shown) to the upper bound (kept). A row without a verdict, as of steps within which nothing
    depends on rewards, could not fail and says nothing. A claim about rows that are not there cannot be judged.
    """

    test: ClassVar[str] = "audit"
    places: ClassVar[frozenset[str]] = frozenset({"rows"})
    estimates: ClassVar[bool] = False
    held_to: ClassVar[tuple[str, ...]] = ("at_most",)
    rows: Conditions
    at_most: float = 1.0

    @property
    def measures(self) -> str:
        return "share of the paper's promise that an audit keeps"

    def settings(self, results: Results, error: float) -> list[Setting]:
        rows = picked(results.audits, self.rows)
        if not rows:
            raise CannotJudgeError(f"no audit for each of {self.rows}; list it in conf/audits.yaml and run make audit")
        columns = [row.columns for row in rows]
        keys = dict.fromkeys(["policy", "level", "arms", "horizon", "epsilon"])
        keys |= dict.fromkeys(name for name in columns[0] if len({str(row.get(name)) for row in columns}) > 1)
        where = [{name: row[name] for name in keys if row.get(name) is not None} for row in columns]
        return [self._setting(labels, row) for labels, row in zip(where, rows, strict=True)]

    def _setting(self, where: Labels, row: AuditRow) -> Setting:
        shown, kept = row.share
        possible = Range(kept, kept) if row.paper_verdict == NO_VERDICT else ANYTHING  # it could not have failed
        interval = Interval(kept, min(shown, kept), kept)
        return Setting(where, interval, at_most=self.at_most * (1 + ROUNDING), possible=possible)


@dataclass(frozen=True)
class Exact(Form):
    """Settings that a function without arguments, `check`, computes."""

    test: ClassVar[str] = "exact"
    estimates: ClassVar[bool] = False
    held_to: ClassVar[tuple[str, ...]] = ("check",)
    check: str

    def __post_init__(self) -> None:
        if inspect.signature(imported(self.check, "check")).parameters:
            raise ParameterError("check", f"{self.check} takes arguments, which nothing here gives it")

    @property
    def measures(self) -> str:
        function = imported(self.check, "check")
        return (function.__doc__ or self.check).strip().partition("\n")[0].rstrip(".")

    def settings(self, results: Results, error: float) -> list[Setting]:
        settings: list[Setting] = imported(self.check, "check")()
        return settings
