"""Verdicts on claims and their forms, from settings that pass or fail, and how many there are of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import pandas as pd

from experiments.claims.power import power_of
from experiments.claims.settings import COUNTED, Setting, SettingOutcome

BESIDE = (SettingOutcome.NOT_COVERED, SettingOutcome.VACUOUS, SettingOutcome.SAME)  # settings that do not count


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

    `power` says what result would have turned it, see `experiments.claims.power`, and `judged_by` has digests of its
    form and of the results behind it, see `experiments.claims.written`.
    """

    outcome: Outcome
    summary: str
    settings: Sequence[Setting] = ()
    power: str = ""
    judged_by: tuple[str, ...] = ("", "")

    @property
    def saying_nothing(self) -> tuple[int, int]:
        """Of the settings that count, those that say nothing, see `Setting.says_nothing`, and all."""
        counted = [setting for setting in self.settings if setting.result in COUNTED]
        return sum(setting.says_nothing for setting in counted), len(counted)

    @property
    def failing(self) -> float:
        """The share of the settings that count in which it fails; 0 if none counts."""
        counted = [setting for setting in self.settings if setting.result in COUNTED]
        return sum(setting.result is SettingOutcome.FAILS for setting in counted) / max(1, len(counted))

    @classmethod
    def of(cls, settings: Sequence[Setting], measures: str) -> "FormVerdict":
        """Holds if all settings pass, fails if one fails, undecided otherwise; only settings in `COUNTED` count."""
        standings = Counter(setting.result for setting in settings)
        counted = [setting for setting in settings if setting.result in COUNTED]
        vacuous = [setting for setting in settings if setting.result is SettingOutcome.VACUOUS]
        if counted:
            outcome, summary = _counted(standings)
            worst = min(counted, key=lambda setting: setting.severity)
            text = f"{measures}: {worst}: {summary}{_beside(standings, BESIDE)}"
            place = "worst" if outcome is Outcome.FAILS else "closest"
            return cls(outcome, _with_place(text, place, worst, len(settings)), settings, power_of(counted))
        if standings[SettingOutcome.SAME]:
            text = f"in {_settings(standings[SettingOutcome.SAME])} all runs that are compared come to one number"
            return cls(Outcome.VACUOUS, text + _beside(standings, BESIDE[:2]), settings)
        if vacuous:
            return cls(Outcome.VACUOUS, _vacuous(vacuous, standings, measures), settings)
        return cls(Outcome.CANNOT_BE_JUDGED, "the theorem covers none of the settings", settings)


def _counted(standings: Counter[SettingOutcome]) -> tuple[Outcome, str]:
    """The outcome of a form, and in how many of the settings that count it fails, passes or is open."""
    passes, fails, still_open = (
        standings[result] for result in (SettingOutcome.PASSES, SettingOutcome.FAILS, SettingOutcome.OPEN)
    )
    total = _settings(passes + fails + still_open)
    if fails:
        others = f", passes in {passes}" if passes else ""
        others += f", open in {still_open}" if still_open else ""
        return Outcome.FAILS, f"fails in {fails} of {total}{others}"
    if still_open:
        return Outcome.UNDECIDED, f"open in {still_open} of {total}, fails in none"
    return Outcome.HOLDS, f"passes in {'all ' if passes > 1 else ''}{total}"


def _vacuous(vacuous: Sequence[Setting], standings: Counter[SettingOutcome], measures: str) -> str:
    """That no result could have failed, with the numbers of the setting that comes closest."""
    nearest = min(vacuous, key=lambda setting: setting.reach)
    low, high = nearest.possible
    text = f"{measures}: {nearest}, while only {low:.4g} to {high:.4g} is possible: no result could have failed"
    text += f" in any of {_settings(len(vacuous))}{_beside(standings, [SettingOutcome.NOT_COVERED])}"
    return _with_place(text, "closest", nearest, standings.total())


def _with_place(text: str, which: str, setting: Setting, number: int) -> str:
    """`text`, and of several settings the one whose numbers it gives."""
    return f"{text}; {which}: {setting.place}" if number > 1 and setting.labels else text


def _settings(number: int) -> str:
    return f"{number} {'setting' if number == 1 else 'settings'}"


def _beside(standings: Mapping[SettingOutcome, int], which: Sequence[SettingOutcome]) -> str:
    """The settings that do not count, in brackets."""
    parts = [f"{standings[outcome]} more are {outcome}" for outcome in which if standings.get(outcome)]
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
    cause: why it fails, in a sentence; empty if it does not.
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
    cause: str = ""

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
        return {
            name: verdict.outcome
            for name, verdict in variants
            if verdict.outcome in JUDGED and verdict.outcome is not main.outcome
        }

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


IN_WORDS = {
    Outcome.PROVED: "proved",
    Outcome.HOLDS: "hold",
    Outcome.HOLDS_UNDER: "hold under a condition",
    Outcome.FAILS: "fail",
    Outcome.VACUOUS: "vacuous here",
    Outcome.UNDECIDED: "undecided",
    Outcome.CANNOT_BE_JUDGED: "without results",
    Outcome.NOT_JUDGED: "not judged",
}
NOTHING = "says nothing"


def counts_in_words(verdicts: Sequence[ClaimVerdict]) -> str:
    """The count of each outcome, with remarks, and of verdicts that say nothing."""
    ours = sum(verdict.ours for verdict in verdicts)
    counted = (
        (words, [verdict for verdict in verdicts if verdict.outcome is outcome]) for outcome, words in IN_WORDS.items()
    )
    counts = ", ".join(
        f"{len(of_outcome)} {words}{_remarks(of_outcome)}" for words, of_outcome in counted if of_outcome
    )
    return f"{len(verdicts)} claims, {ours} of them ours: {counts}.{_says_nothing(verdicts)}"


def _remarks(verdicts: Sequence[ClaimVerdict]) -> str:
    """How many of one outcome have a threshold or reading of ours, a condition chosen after the data, and so on."""
    counts = {
        "at a threshold of ours": sum("threshold ours" in verdict.remarks for verdict in verdicts),
        "in a reading of ours": sum("reading ours" in verdict.remarks for verdict in verdicts),
        "chosen after the data": sum("chosen after the data" in verdict.remarks for verdict in verdicts),
    }
    if any(verdict.outcome is Outcome.FAILS for verdict in verdicts):
        counts["with a variant that holds"] = sum(Outcome.HOLDS in verdict.elsewhere.values() for verdict in verdicts)
    counted = ", ".join(f"{number} {words}" for words, number in counts.items() if number)
    return f" ({counted})" if counted else ""


def _says_nothing(verdicts: Sequence[ClaimVerdict]) -> str:
    """How many verdicts in favour say nothing, in all settings or in some."""
    wholly = sum(verdict.says_nothing == NOTHING for verdict in verdicts)
    partly = sum(bool(verdict.says_nothing) for verdict in verdicts) - wholly
    if not wholly and not partly:
        return ""
    return f" Verdicts in favour that say nothing: {wholly} in all settings, {partly} in some."
