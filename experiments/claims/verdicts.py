"""Verdicts on claims and their forms, from settings that pass or fail."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import pandas as pd

from experiments.claims.power import power_of
from experiments.claims.settings import COUNTED, Setting, Standing

BESIDE = (Standing.NOT_COVERED, Standing.VACUOUS, Standing.SAME)  # settings that do not count


class Outcome(StrEnum):
    """The outcome of a claim, see `experiments.claims`."""

    PROVED = "proved"
    HOLDS = "holds"
    HOLDS_UNDER = "holds under"
    FAILS = "fails"
    VACUOUS = "vacuous here"
    UNDECIDED = "undecided"
    CANNOT_BE_JUDGED = "cannot be judged"
    NOT_JUDGED = "not judged"


IN_FAVOUR = (Outcome.PROVED, Outcome.HOLDS, Outcome.HOLDS_UNDER)
JUDGED = (*IN_FAVOUR, Outcome.FAILS, Outcome.UNDECIDED)


@dataclass(frozen=True)
class FormVerdict:
    """The verdict on one form of a claim: its outcome, the settings behind it, and both in words.

    `power` says what result would have turned it, see `experiments.claims.power`.
    """

    outcome: Outcome
    summary: str
    settings: Sequence[Setting] = ()
    power: str = ""

    @property
    def saying_nothing(self) -> tuple[int, int]:
        """Of the settings that count, those that say nothing, see `Setting.says_nothing`, and all."""
        counted = [setting for setting in self.settings if setting.result in COUNTED]
        return sum(setting.says_nothing for setting in counted), len(counted)

    @property
    def failing(self) -> float:
        """The share of the settings that count in which it fails; 0 if none counts."""
        counted = [setting for setting in self.settings if setting.result in COUNTED]
        return sum(setting.result is Standing.FAILS for setting in counted) / max(1, len(counted))

    @classmethod
    def of(cls, settings: Sequence[Setting], measures: str) -> "FormVerdict":
        """Holds if all settings pass, fails if one fails, undecided otherwise; only settings in `COUNTED` count."""
        standings = Counter(setting.result for setting in settings)
        counted = [setting for setting in settings if setting.result in COUNTED]
        if not counted and standings[Standing.SAME]:
            text = f"in {_settings(standings[Standing.SAME])} all runs that are compared come to one number"
            return cls(Outcome.VACUOUS, text + _beside(standings, BESIDE[:2]), settings)
        if not counted:
            vacuous = [setting for setting in settings if setting.result is Standing.VACUOUS]
            if not vacuous:
                return cls(Outcome.CANNOT_BE_JUDGED, "the theorem covers none of the settings", settings)
            nearest = min(vacuous, key=lambda setting: setting.reach)
            low, high = nearest.possible
            text = f"{measures}: {nearest}, while only {low:.4g} to {high:.4g} is possible: no result could have failed"
            text += f" in any of {_settings(len(vacuous))}{_beside(standings, [Standing.NOT_COVERED])}"
            return cls(Outcome.VACUOUS, _with_place(text, "closest", nearest, len(settings)), settings)
        worst = min(counted, key=lambda setting: setting.severity)
        total = _settings(len(counted))
        if standings[Standing.FAILS]:
            outcome, summary = Outcome.FAILS, f"fails in {standings[Standing.FAILS]} of {total}"
            summary += f", passes in {standings[Standing.PASSES]}" if standings[Standing.PASSES] else ""
            summary += f", open in {standings[Standing.OPEN]}" if standings[Standing.OPEN] else ""
        elif standings[Standing.OPEN]:
            outcome, summary = Outcome.UNDECIDED, f"open in {standings[Standing.OPEN]} of {total}, fails in none"
        else:
            outcome, summary = Outcome.HOLDS, f"passes in {'all ' if len(counted) > 1 else ''}{total}"
        text = f"{measures}: {worst}: {summary}{_beside(standings, BESIDE)}"
        place = "worst" if outcome is Outcome.FAILS else "closest"
        return cls(outcome, _with_place(text, place, worst, len(settings)), settings, power_of(counted))


def _with_place(text: str, which: str, setting: Setting, number: int) -> str:
    """`text`, and of several settings the one whose numbers it gives."""
    return f"{text}; {which}: {setting.place}" if number > 1 and setting.labels else text


def _settings(number: int) -> str:
    return f"{number} {'setting' if number == 1 else 'settings'}"


def _beside(standings: Mapping[Standing, int], which: Sequence[Standing]) -> str:
    """The settings that do not count, in brackets."""
    parts = [f"{standings[of]} more are {of}" for of in which if standings.get(of)]
    return f" ({', '.join(parts)})" if parts else ""


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on one claim.

    Attributes
    ----------
    paper, id, where, claim: as in the file of the claim.
    outcome: see `experiments.claims`.
    under: the condition to which it is limited, if the outcome is `HOLDS_UNDER`; else empty.
    evidence: the numbers in a sentence.
    power: which results would have changed the verdict, in a sentence; empty if no setting was judged.
    ours: whether the claim is ours and not the paper's.
    our_threshold: whether the claim is the paper's and the number that estimates are held to is ours.
    after_the_data: whether its condition, or the places of its variants, were chosen after the data.
    note: what else is to be known, as what the paper leaves open; may be empty.
    findings: the verdict on each form of the claim, the main form first.
    command: the command that judges it again.
    experiments: those whose cells decide it; none for a claim that is computed, or judged by audits.
    our_reading: whether the paper leaves open what is meant, or how far it reaches, and the main form is our reading.
    """

    paper: str
    id: str
    where: str
    claim: str
    outcome: Outcome
    under: str
    evidence: str
    power: str
    ours: bool
    our_threshold: bool
    after_the_data: bool
    note: str
    findings: Mapping[str, FormVerdict]
    command: str
    experiments: Sequence[str] = ()
    our_reading: bool = False

    @property
    def shown(self) -> str:
        """The outcome in words, as in: holds (threshold ours; tight: fails)."""
        words = f"{self.outcome} {self.under}".strip()
        return f"{words} ({'; '.join(self.remarks)})" if self.remarks else words

    @property
    def remarks(self) -> list[str]:
        """Remarks that weaken an outcome: what is ours, what was chosen after the data, what differs in a variant."""
        if self.outcome not in JUDGED:
            return ["claim of ours"] if self.ours else []
        remarks = ["claim of ours"] if self.ours else ["threshold ours"] if self.our_threshold else []
        remarks += ["reading ours"] if self.our_reading else []
        if self.outcome is Outcome.HOLDS_UNDER and self.after_the_data:
            remarks.append("chosen after the data")
        after = ", chosen after the data" if self.after_the_data else ""
        remarks += [f"{name}: {outcome}{after}" for name, outcome in self.elsewhere.items()]
        return remarks + ([self.says_nothing] if self.says_nothing else [])

    @property
    def elsewhere(self) -> dict[str, Outcome]:
        """The variants with another outcome than the main form, without those in which nothing could have failed."""
        (_, main), *variants = self.findings.items()
        return {name: of.outcome for name, of in variants if of.outcome in JUDGED and of.outcome is not main.outcome}

    @property
    def says_nothing(self) -> str:
        """Whether a verdict in favour says nothing, or in how many settings; empty if all settings say something."""
        if self.outcome not in IN_FAVOUR:
            return ""
        empty, counted = next(iter(self.findings.values())).saying_nothing
        if not empty:
            return ""
        return "says nothing" if empty == counted else f"says nothing in {empty} of {_settings(counted)}"

    @property
    def failing(self) -> float:
        """The share of the settings of the main form that count in which it fails."""
        return next(iter(self.findings.values())).failing

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
                "fails_below": setting.silent.low,
                "fails_above": setting.silent.high,
                "most_possible": setting.possible.high,
                "result": str(setting.result),
            }
            for form, finding in self.findings.items()
            for setting in finding.settings
        )
