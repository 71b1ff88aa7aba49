"""What is found out about a claim: settings that pass or fail, and the verdict that they add up to."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import pandas as pd

from experiments.intervals import Interval

FAMILY = 0.05  # probability with which the intervals of a claim may miss anywhere, all settings together


class Standing(StrEnum):
    """Of one setting: its whole interval meets what is claimed, violates it, or neither."""

    PASSES = "passes"
    FAILS = "fails"
    OPEN = "open"
    NOT_COVERED = "not covered"


class Outcome(StrEnum):
    """Of a claim, see `experiments.claims`."""

    HOLDS = "holds"
    HOLDS_UNDER = "holds under"
    FAILS = "fails"
    UNDECIDED = "undecided"
    CANNOT_BE_JUDGED = "cannot be judged"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Setting:
    """One comparison: an estimate with its interval, and the range in which it is claimed to lie.

    `labels` tell settings apart. A limit or estimate that is NaN says that the claim does not cover the setting.
    """

    labels: Mapping[str, Any]
    interval: Interval
    at_least: float = -math.inf
    at_most: float = math.inf

    @property
    def result(self) -> Standing:
        estimate, low, high = self.interval
        if any(map(math.isnan, (estimate, self.at_least, self.at_most))):
            return Standing.NOT_COVERED
        if self.at_least <= low and high <= self.at_most:
            return Standing.PASSES
        return Standing.FAILS if high < self.at_least or low > self.at_most else Standing.OPEN

    @property
    def margin(self) -> float:
        """How far the interval stays within the limits, relative to them; negative where it does not."""
        _, low, high = self.interval
        pairs = ((low - self.at_least, self.at_least), (self.at_most - high, self.at_most))
        return min((room / (abs(limit) or 1.0) for room, limit in pairs if math.isfinite(limit)), default=math.inf)

    @property
    def severity(self) -> tuple[int, float]:
        """The smaller, the worse: what fails before what is open before what passes, then by margin."""
        return [Standing.FAILS, Standing.OPEN, Standing.PASSES, Standing.NOT_COVERED].index(self.result), self.margin

    def __str__(self) -> str:
        estimate, low, high = (f"{value:.4g}" for value in self.interval)
        place = ", ".join(f"{name} {_text(value)}" for name, value in self.labels.items())
        number = estimate if low == high else f"{estimate} [{low}, {high}]"
        return f"{place}: {number}, claimed {self._claimed()}"

    def _claimed(self) -> str:
        limits = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {limit:.4g}" for word, limit in limits if math.isfinite(limit))


@dataclass(frozen=True)
class Finding:
    """What one form of a claim comes to: its outcome, the settings behind it, and both in words."""

    outcome: Outcome
    summary: str
    settings: Sequence[Setting] = ()

    @classmethod
    def of(cls, settings: Sequence[Setting], measures: str) -> "Finding":
        """Holds if all settings pass, fails if one fails, undecided otherwise; those not covered do not count."""
        covered = [setting for setting in settings if setting.result is not Standing.NOT_COVERED]
        if not covered:
            return cls(Outcome.CANNOT_BE_JUDGED, "the theorem covers none of the settings", settings)
        counts = Counter(setting.result for setting in covered)
        worst = min(covered, key=lambda setting: setting.severity)
        total = f"{len(covered)} {'setting' if len(covered) == 1 else 'settings'}"
        beside = f" ({len(settings) - len(covered)} more are not covered)" if len(covered) < len(settings) else ""
        if counts[Standing.FAILS]:
            outcome, summary = Outcome.FAILS, f"fails in {counts[Standing.FAILS]} of {total}"
            summary += "".join(f", {counts[of]} {of}" for of in (Standing.PASSES, Standing.OPEN) if counts[of])
        elif counts[Standing.OPEN]:
            outcome, summary = Outcome.UNDECIDED, f"open in {counts[Standing.OPEN]} of {total}, fails in none"
        else:
            outcome, summary = Outcome.HOLDS, f"passes in {'all ' if len(covered) > 1 else ''}{total}"
        place = "worst" if outcome is Outcome.FAILS else "closest"
        return cls(outcome, f"{summary}{beside}; {place}, {measures} for {worst}", settings)


@dataclass(frozen=True)
class Verdict:
    """The judgement of one claim.

    Attributes
    ----------
    paper, id, where, claim: as in the file of the claim.
    outcome: see `experiments.claims`.
    under: the form or condition under which it holds, where the outcome is `HOLDS_UNDER`; else empty.
    evidence: the numbers in a sentence.
    findings: what each form of the claim came to, the main form first.
    command: what to type to judge it again.
    """

    paper: str
    id: str
    where: str
    claim: str
    outcome: Outcome
    under: str
    evidence: str
    findings: Mapping[str, Finding]
    command: str

    @property
    def shown(self) -> str:
        """The outcome in words, as in: holds under mishra2015."""
        return f"{self.outcome} {self.under}".strip()

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per form and setting: labels, estimate, interval, limits, result."""
        return pd.DataFrame(
            {
                "form": form,
                **setting.labels,
                **setting.interval._asdict(),
                "at_least": setting.at_least,
                "at_most": setting.at_most,
                "result": str(setting.result),
            }
            for form, finding in self.findings.items()
            for setting in finding.settings
        )


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
