"""Forms of claims about measured numbers: ratios, orders, growth and slopes.

Each form is a frozen dataclass of the keys in a claim's file, and turns stored results into settings. The probability
that any interval of its settings misses is at most the `error` that it is given (Bonferroni).
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bandits import ParameterError
from bandits.arrays import FloatArray
from bandits.parameters import require
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.claims.power import scaled
from experiments.claims.results import (
    Conditions,
    Labels,
    Results,
    apart,
    groups,
    labels_of_cells,
    pick,
    values_for_mean,
    values_of,
)
from experiments.claims.settings import FAMILY, Range, Setting
from experiments.intervals import Interval
from experiments.store.stored import Cells, Stored, require_quantity


@dataclass(frozen=True)
class Form(ABC):
    """A way to judge a claim. Subclasses are frozen dataclasses; their fields are keys of a claim's file.

    Attributes
    ----------
    test: its name in a claim's file.
    places: the keys that say where a claim is tested, not what is claimed.
    measures: what is estimated, for the evidence.
    estimates: whether its settings are intervals, which may miss; then it has a share of the error of the ledger.
    held_to: the keys of thresholds; for a number there the claim must say who chose it.
    """

    test: ClassVar[str]
    places: ClassVar[frozenset[str]] = frozenset({"experiments", "filter", "numerator", "denominator"})
    estimates: ClassVar[bool] = True
    held_to: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def measures(self) -> str: ...

    @property
    def thresholds(self) -> tuple[str, ...]:
        """The keys of `held_to` whose number someone chose.

        Words of the cell, as beta, do not count; nor do 0 and 1, which only say less, more or never.
        """
        given = {key: getattr(self, key) for key in self.held_to}
        words = {key for key in ("at_least", "at_most") if isinstance(given.get(key), str)}
        return tuple(key for key, value in given.items() if value not in (None, 0, 1) and key not in words)

    def cells(self, results: Results) -> Cells:
        """The cells that its settings are about; none for what is computed or audited. Raises as `settings`."""
        return Cells([])

    @abstractmethod
    def settings(self, results: Results, error: float) -> list[Setting]:
        """One setting for each comparison; any of their intervals misses with probability `error` at most.

        Raises `ParameterError` that names a key, or `CannotJudgeError`.
        """


@dataclass(frozen=True)
class NotJudged(Form):
    """A claim that is not judged, and the `reason`."""

    test: ClassVar[str] = "not_judged"
    estimates: ClassVar[bool] = False
    reason: str

    @property
    def measures(self) -> str:
        return "nothing"

    def settings(self, results: Results, error: float) -> list[Setting]:
        return []


class Filtered(Form):
    """A form about the cells of its `experiments` that meet its `filter`."""

    experiments: tuple[str, ...]
    filter: Conditions

    def cells(self, results: Results) -> Cells:
        return pick(results.cells(self.experiments), self.filter, "filter")


def limits(at_least: float | None, at_most: float | None) -> tuple[float, float]:
    """Both limits of what is claimed, infinite if not given. Raises `ParameterError` if neither is given."""
    for key, value in (("at_least", at_least), ("at_most", at_most)):
        require(value is None or not math.isnan(value), key, value, "a number")
    require(at_least is not None or at_most is not None, "at_least", None, "given, or at_most")
    if at_least is not None and at_most is not None:
        require(at_least <= at_most, "at_least", at_least, f"at most at_most, {at_most}")
    return (-math.inf if at_least is None else at_least, math.inf if at_most is None else at_most)


@dataclass(frozen=True)
class TwoSides(Form):
    """A `quantity` of `numerator` cells against that of `denominator` cells, for cells that agree in `by`."""

    held_to: ClassVar[tuple[str, ...]] = ("at_least", "at_most")
    experiments: tuple[str, ...]
    numerator: Conditions
    denominator: Conditions
    by: tuple[str, ...]
    at_least: float | None = None
    at_most: float | None = None
    quantity: str = "regret"

    def __post_init__(self) -> None:
        require_quantity(self.quantity)
        limits(self.at_least, self.at_most)

    def sides(self, results: Results) -> dict[tuple[Any, ...], tuple[Cells, Cells]]:
        """The cells of the numerator and of the denominator, by their common values of `by`."""
        cells = results.cells(self.experiments)
        above = groups(pick(cells, self.numerator, "numerator"), self.by)
        below = groups(pick(cells, self.denominator, "denominator"), self.by)
        return {key: (above[key], below[key]) for key in above if key in below}

    def cells(self, results: Results) -> Cells:
        return Cells.of(cells for sides in self.sides(results).values() for cells in sides)


@dataclass(frozen=True)
class Ratio(TwoSides):
    """The ratio of the mean quantities of both sides, for every pair of cells."""

    test: ClassVar[str] = "ratio"

    @property
    def measures(self) -> str:
        return f"ratio of {QUANTITIES[self.quantity]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        pairs = [(key, *pair) for key, sides in self.sides(results).items() for pair in itertools.product(*sides)]
        require(bool(pairs), "by", list(self.by), "columns in which some numerator and denominator agree")
        self._check(pairs)
        allowed = limits(self.at_least, self.at_most)
        return [
            _compared(self._labels(key, top, bottom), top, bottom, self.quantity, error / len(pairs), allowed)
            for key, top, bottom in pairs
        ]

    def _labels(self, key: tuple[Any, ...], top: Stored, bottom: Stored) -> Labels:
        """The labels of a pair: the columns in which both agree, and those for which a condition has several values."""
        where = dict(zip(self.by, key, strict=True))
        for name in (name for name in dict.fromkeys((*self.numerator, *self.denominator)) if name not in self.by):
            several = [isinstance(filters.get(name), list) for filters in (self.numerator, self.denominator)]
            if all(several):
                where |= {f"{name} above": top.columns[name], f"{name} below": bottom.columns[name]}
            elif any(several):
                where[name] = (top if several[0] else bottom).columns[name]
        return where

    def _check(self, pairs: Sequence[tuple[tuple[Any, ...], Stored, Stored]]) -> None:
        """Raise `ParameterError` if two pairs have the same labels."""
        seen = [str(self._labels(key, top, bottom)) for key, top, bottom in pairs]
        above = [(where, bottom.cell.key) for where, (_, _, bottom) in zip(seen, pairs, strict=True)]
        below = [(where, top.cell.key) for where, (_, top, _) in zip(seen, pairs, strict=True)]
        apart([top for _, top, _ in pairs], above, seen)
        apart([bottom for _, _, bottom in pairs], below, seen)


def _ratio_of_means(top: Stored, bottom: Stored, quantity: str, error: float) -> Interval:
    """The interval of the ratio of two means; exact if both cells are."""
    above, below = (values_for_mean(cell, quantity).astype(float) for cell in (top, bottom))
    if top.exact and bottom.exact:
        return intervals.exactly(float(above[0] / below[0]))
    if bottom.exact:
        return intervals.mean(above / float(below[0]), error)
    if top.exact:
        raise ParameterError("numerator", "is exact and the denominator simulated; exchange the two")
    return intervals.ratio(above, below, error)


def _compared(
    where: Labels, top: Stored, bottom: Stored, quantity: str, error: float, allowed: tuple[float, float]
) -> Setting:
    """The setting that compares the ratio of two cells with the limits that are `allowed`."""
    setting = of_ratio(where, _ratio_of_means(top, bottom, quantity, error), *allowed)
    return replace(setting, same=the_same([top, bottom], quantity))


def of_ratio(where: Labels, interval: Interval, at_least: float, at_most: float) -> Setting:
    """The setting of a ratio of positive numbers, whose noise is proportional to it."""
    return Setting(where, interval, at_least, at_most, unseen=scaled(interval, at_least, at_most))


def the_same(cells: Sequence[Stored], quantity: str) -> bool:
    """Whether all cells are simulated and all their runs gave the same number: then nothing was compared."""
    values = [values_of(cell, quantity) for cell in cells if not cell.exact]
    return len(values) == len(cells) and len(np.unique(np.concatenate(values))) == 1


@dataclass(frozen=True)
class Monotone(Filtered):
    """Along a column, the mean `quantity` of neighbours among the cells that agree in `by` rises or falls.

    Equal means pass, and so does a step in the wrong direction by less than the share `ties`.
    """

    test: ClassVar[str] = "monotone"
    held_to: ClassVar[tuple[str, ...]] = ("ties",)
    experiments: tuple[str, ...]
    along: str
    direction: Literal["increasing", "decreasing"]
    by: tuple[str, ...]
    filter: Conditions
    ties: float = 0.0
    quantity: str = "regret"

    def __post_init__(self) -> None:
        require_quantity(self.quantity)
        require(0 <= self.ties < 1, "ties", self.ties, "a number in [0, 1)")

    @property
    def measures(self) -> str:
        return f"ratio of {QUANTITIES[self.quantity]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        steps: list[tuple[Labels, Stored, Stored]] = []
        for key, group in groups(self.cells(results), self.by).items():
            axis = [cell.number(self.along) for cell in group]
            apart(group, axis)
            ordered = [cell for _, cell in sorted(zip(axis, group, strict=True), key=lambda pair: pair[0])]
            for first, second in itertools.pairwise(ordered):
                ends = f"{first.word(self.along):g} to {second.word(self.along):g}"
                steps.append(({**dict(zip(self.by, key, strict=True)), self.along: ends}, first, second))
        require(bool(steps), "along", self.along, "a column with several values in some group")
        allowed = (1 - self.ties, math.inf) if self.direction == "increasing" else (-math.inf, 1 + self.ties)
        return [
            _compared(where, second, first, self.quantity, error / len(steps), allowed)
            for where, first, second in steps
        ]


@dataclass(frozen=True)
class Growth(Filtered):
    """The relative growth of mean regret over a `stretch` of time: its increase over its value at the beginning.

    `stretch` is in shares of the horizon; for both ends the last checkpoint up to there is used. 0 means constant
    regret; over a doubling of time, 1 means linear regret. Cells that meet `without` are left out.
    """

    test: ClassVar[str] = "growth"
    held_to: ClassVar[tuple[str, ...]] = ("at_least", "at_most")
    experiments: tuple[str, ...]
    filter: Conditions
    stretch: tuple[float, ...]
    without: Conditions | None = None
    at_least: float | None = None
    at_most: float | None = None
    places: ClassVar[frozenset[str]] = Form.places | {"without"}

    def __post_init__(self) -> None:
        limits(self.at_least, self.at_most)
        ordered = len(self.stretch) == 2 and 0 < self.stretch[0] < self.stretch[1] <= 1
        require(ordered, "stretch", list(self.stretch), "two increasing shares of the horizon")

    @property
    def measures(self) -> str:
        return "growth of mean regret"

    def cells(self, results: Results) -> Cells:
        cells = super().cells(results)
        left_out = [] if self.without is None else pick(cells, self.without, "without")
        return cells.only(lambda cell: cell not in left_out)

    def settings(self, results: Results, error: float) -> list[Setting]:
        cells = self.cells(results)
        allowed = limits(self.at_least, self.at_most)
        return [
            self._setting(where, self._ratio(cell, error / len(cells)), *allowed)
            for where, cell in zip(labels_of_cells(cells), cells, strict=True)
        ]

    @staticmethod
    def _setting(where: Labels, end: Interval, at_least: float, at_most: float) -> Setting:
        """The ratio of regret at the end of the stretch to that at its beginning, less 1."""
        below, above = scaled(end, 1 + at_least, 1 + at_most)
        return Setting(
            where, type(end)(*(value - 1 for value in end)), at_least, at_most, unseen=Range(below - 1, above - 1)
        )

    def _ratio(self, cell: Stored, error: float) -> Interval:
        t = cell.t
        values_of(cell, "regret")  # there are enough runs
        places = np.searchsorted(t, np.array(self.stretch) * cell.cell.horizon, side="right") - 1
        require(0 <= places[0] < places[1], "stretch", list(self.stretch), "wide enough for two checkpoints")
        begin, end = cell.regret[:, places[0]], cell.regret[:, places[1]]
        return intervals.exactly(end[0] / begin[0]) if cell.exact else intervals.paired_ratio(end, begin, error)


@dataclass(frozen=True)
class Slope(Filtered):
    """The power of `x` with which the mean `quantity` grows: least squares of logarithms, for x in `between`.

    In place of `between`, `fitted_in` names the {experiment, policy} whose figure fits this slope; its window is used.
    `x` is a word, see `Stored.word`; there is one fit for the cells that agree in `by`. `expected` is a number, or one
    for each value of the only column in `by`. The interval is Student's over the points, so that it is wide for a curve
    that is not a power, and at least as wide as the noise of the replications makes it. Computed points have no noise,
    so their fits need no share of the error of the ledger, and use `FAMILY`. At least 8 points are needed.
    """

    test: ClassVar[str] = "slope"
    experiments: tuple[str, ...]
    filter: Conditions
    x: str
    expected: Any
    tolerance: float
    between: tuple[float, ...] = (0.0, math.inf)
    fitted_in: Conditions | None = None
    by: tuple[str, ...] = ()
    quantity: str = "regret"
    fewest: ClassVar[int] = 8
    held_to: ClassVar[tuple[str, ...]] = ("tolerance",)

    def __post_init__(self) -> None:
        require_quantity(self.quantity)
        ordered = len(self.between) == 2 and self.between[0] < self.between[1]
        require(ordered, "between", list(self.between), "two increasing numbers")
        named = self.fitted_in is None or set(self.fitted_in) == {"experiment", "policy"}
        require(named, "fitted_in", self.fitted_in, "{experiment, policy}")
        number = isinstance(self.expected, int | float) and not isinstance(self.expected, bool)
        table = isinstance(self.expected, dict) and len(self.by) == 1
        require(self.tolerance >= 0, "tolerance", self.tolerance, "a number >= 0")
        require(number or table, "expected", self.expected, "a number, or one for each value of the only word in by")

    @property
    def measures(self) -> str:
        return f"power of {self.x} in {QUANTITIES[self.quantity]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        grouped = groups(self.cells(results), self.by)
        between = self._window(results)
        settings = []
        for key, group in grouped.items():
            expected = self._expected(key)
            where = dict(zip(self.by, key, strict=True)) or {"x": self.x}
            points = self._points(group, between)
            chance = any(not cell.exact for _, cell in points)
            same = the_same([cell for _, cell in points], self.quantity)
            share = (error if chance else FAMILY) / len(grouped)
            interval = self._interval(points, share)
            allowed = expected - self.tolerance, expected + self.tolerance
            settings.append(Setting(where, interval, *allowed, same=same))
        return settings

    def _expected(self, key: tuple[Any, ...]) -> float:
        if not isinstance(self.expected, dict):
            return float(self.expected)
        require(key[0] in self.expected, "expected", self.expected, f"given for {self.by[0]} {key[0]}")
        return float(self.expected[key[0]])

    def _window(self, results: Results) -> tuple[float, ...]:
        """The range of x of the fit. Raises `ParameterError` if the figure in `fitted_in` has no such fit."""
        if self.fitted_in is None:
            return self.between
        experiment, policy = self.fitted_in["experiment"], self.fitted_in["policy"]
        for slope in results.figure(experiment).get("slopes", []):
            if slope["policy"] == policy:
                return tuple(slope["between"])
        raise ParameterError("fitted_in", f"the figure of {experiment} fits no slope of {policy}")

    def _points(self, group: Cells, between: tuple[float, ...]) -> list[tuple[float, Stored]]:
        """The x between the two ends, in order, and the cell of each."""
        low, high = between
        points = [(cell.number(self.x), cell) for cell in group]
        points = sorted((pair for pair in points if low <= pair[0] <= high), key=lambda pair: pair[0])
        apart([cell for _, cell in points], [x for x, _ in points])
        require(len(points) >= self.fewest, "between", list(between), f"so wide that {self.fewest} cells lie in it")
        return points

    def _interval(self, points: Sequence[tuple[float, Stored]], error: float) -> Interval:
        values = [values_for_mean(cell, self.quantity).astype(float) for _, cell in points]
        means = np.array([runs.mean() for runs in values])
        deviations = np.array([runs.std(ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else 0.0 for runs in values])
        return self.fit(np.array([x for x, _ in points]), means, error, deviations)

    def fit(self, x: FloatArray, y: FloatArray, error: float, deviations: FloatArray) -> Interval:
        """The power, from points and their standard errors."""
        return intervals.slope(x, y, error, deviations)


@dataclass(frozen=True)
class OctaveSlope(Slope):
    """The same for quantities that grow in steps: mean growth per doubling of x, Student's interval over doublings."""

    test: ClassVar[str] = "octave_slope"

    def fit(self, x: FloatArray, y: FloatArray, error: float, deviations: FloatArray) -> Interval:
        return intervals.growth_by_octave(x, y, error, deviations)
