"""A setting: one comparison of a claim, with what was measured, what is claimed, and what is possible."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from experiments.intervals import Approximate, Interval

FAMILY = 0.05  # probability that any interval of a ledger misses, over all settings of all claims
SAYS_NOTHING = 1e4  # our choice: a bound that is further from the data than needed by this factor says nothing


class SettingOutcome(StrEnum):
    """The result of a setting: its whole interval meets the claim, or violates it, or neither, or nothing could.

    `SAME` meets a claim only because all runs that are compared gave the same number, as when no policy got beyond
    pulling each arm in turn.
    """

    PASSES = "passes"
    FAILS = "fails"
    OPEN = "open"
    VACUOUS = "vacuous"
    SAME = "the same in every run"
    NOT_COVERED = "not covered"


COUNTED = (
    SettingOutcome.FAILS,
    SettingOutcome.OPEN,
    SettingOutcome.PASSES,
)  # only these count for the verdict on a claim


class Range(NamedTuple):
    """Both ends of the range of a number."""

    low: float = -math.inf
    high: float = math.inf


ANYTHING = Range()


@dataclass(frozen=True)
class Setting:
    """One comparison: an estimate with its interval, and the range in which it is claimed to lie.

    `labels` distinguish settings. If a limit or the estimate is NaN, the claim does not cover the setting.
    `possible` is the range of estimates that are possible, whatever the policy does: limits beyond it claim nothing.
    `unseen` are the estimates that would not have failed, by default those within the limits, with the noise that the
    measured estimate has. `slack` is the factor by which a bound would have to be nearer to the data to fail; NaN if
    no bound is judged. `same` says that all runs that are compared gave the same number. `in_turn` is what pulling all
    arms in turn costs; NaN where that is not known.
    """

    labels: Mapping[str, Any]
    interval: Interval
    at_least: float = -math.inf
    at_most: float = math.inf
    possible: Range = ANYTHING
    unseen: Range | None = None
    slack: float = math.nan
    same: bool = False
    in_turn: float = math.nan

    @property
    def result(self) -> SettingOutcome:
        estimate, low, high = self.interval
        if any(map(math.isnan, (estimate, self.at_least, self.at_most))):
            return SettingOutcome.NOT_COVERED
        if high < self.at_least or low > self.at_most:
            return SettingOutcome.FAILS
        if self.at_least <= self.possible.low and self.possible.high <= self.at_most:
            return SettingOutcome.VACUOUS
        if not (self.at_least <= low and high <= self.at_most):
            return SettingOutcome.OPEN
        return SettingOutcome.SAME if self.same else SettingOutcome.PASSES

    @property
    def margin(self) -> float:
        """How far the interval stays within the limits, relative to them; negative where it does not."""
        _, low, high = self.interval
        pairs = ((low - self.at_least, self.at_least), (self.at_most - high, self.at_most))
        return min((room / (abs(limit) or 1.0) for room, limit in pairs if math.isfinite(limit)), default=math.inf)

    @property
    def severity(self) -> tuple[int, float]:
        """For sorting, the worst first: by failing, open, passing, then by margin."""
        return [*COUNTED, SettingOutcome.SAME, SettingOutcome.VACUOUS, SettingOutcome.NOT_COVERED].index(
            self.result
        ), self.margin

    @property
    def reach(self) -> float:
        """An upper limit over the largest number that is possible; NaN where there is none, and for shares of runs."""
        counts = math.isfinite(self.at_most) and 1 < self.possible.high < math.inf
        return self.at_most / self.possible.high if counts else math.nan

    @property
    def silent(self) -> Range:
        """The range of estimates that would not have failed."""
        if self.unseen is not None:
            return self.unseen
        estimate, low, high = self.interval
        return Range(self.at_least - (high - estimate), self.at_most + (estimate - low))

    @property
    def says_nothing(self) -> bool:
        """Whether it passes and would with a bound nearer by `SAYS_NOTHING`, with any estimate, or without learning.

        Without learning: if all arms were pulled in turn.
        """
        if self.result is not SettingOutcome.PASSES:
            return False
        if self.at_least == -math.inf and self.in_turn <= self.at_most:
            return True
        if not math.isnan(self.slack):
            return self.slack >= SAYS_NOTHING
        low, high = self.silent
        return low <= self.possible.low and self.possible.high <= high

    @property
    def place(self) -> str:
        """The labels in words, as in: policy dp_se, epsilon 0.1."""
        return ", ".join(f"{name} {_text(value)}" for name, value in self.labels.items())

    def __str__(self) -> str:
        estimate, low, high = (f"{value:.4g}" for value in self.interval)
        law = " (approximate)" if isinstance(self.interval, Approximate) else ""  # others hold for every law
        number = estimate if low == high else f"{estimate} [{low}, {high}]{law}"
        return f"measured {number}, claimed {self._claimed()}"

    def _claimed(self) -> str:
        if math.isfinite(self.at_least) and math.isfinite(self.at_most):
            return f"{self.at_least:.4g} to {self.at_most:.4g}"
        return f"at least {self.at_least:.4g}" if math.isfinite(self.at_least) else f"at most {self.at_most:.4g}"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
