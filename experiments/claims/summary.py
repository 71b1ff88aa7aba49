"""A summary of verdicts in a few sentences: how many claims have each outcome."""

from collections.abc import Sequence

from experiments.claims.verdicts import ClaimVerdict, Outcome

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


def summary(verdicts: Sequence[ClaimVerdict]) -> str:
    """The count of each outcome, with remarks, and of verdicts that say nothing."""
    ours = sum(verdict.ours for verdict in verdicts)
    each = ((words, [verdict for verdict in verdicts if verdict.outcome is of]) for of, words in IN_WORDS.items())
    counts = ", ".join(f"{len(found)} {words}{_remarks(found)}" for words, found in each if found)
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
