"""From claims and stored results to verdicts."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from bandits import ParameterError
from experiments.claims.files import Claim
from experiments.claims.forms import Form, NotJudged
from experiments.claims.results import CannotJudgeError, Results
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome
from experiments.claims.written import digests_of
from experiments.errors import UserError


def judge_claims(claims: Iterable[Claim], results: Results, wrong: list[str] | None = None) -> Iterator[ClaimVerdict]:
    """A verdict on each claim, written or judged now, see `Results.written`.

    If a claim makes no sense, or its computation fails, the error, which names file and id, is added to `wrong`; raises
    it, as `UserError`, without such a list.
    """
    for claim in claims:
        try:
            yield judge_claim(claim, results)
        except Exception as error:  # any error of a user's computation
            where = "" if isinstance(error, UserError) else f"{claim.file}: {claim.id}: {type(error).__name__}: "
            problem = f"{where}{error}"
            if wrong is None:
                raise UserError(problem) from error
            wrong.append(problem)


def judge_claim(claim: Claim, results: Results) -> ClaimVerdict:
    """The verdict on a claim from its main form and its variants."""
    findings = {name: _find(claim, name, form, results) for name, form in claim.forms.items()}
    outcome, under = _decide(claim, findings)
    words = [f"paper={claim.paper}", f"id={claim.id}", *results.overrides]
    places = [word for folder in results.composer.config_dirs for word in ("--config-dir", str(folder))]
    return ClaimVerdict(
        claim.paper,
        claim.id,
        claim.where,
        claim.claim,
        outcome,
        under,
        _joined(". ", {name: finding.summary for name, finding in findings.items()}),
        _joined("; ", {name: finding.power for name, finding in findings.items()}),
        claim.ours,
        claim.by_our_threshold,
        claim.condition_chosen == "after the data",
        claim.note,
        findings,
        shlex.join(["python", "-m", "experiments.claims", *places, *words]),
        claim.experiments,
        claim.reading == "ours",
        claim.cause,
    )


def _find(claim: Claim, name: str, form: Form, results: Results) -> FormVerdict:
    """The verdict on one form. Raises `UserError`."""
    if isinstance(form, NotJudged):
        return FormVerdict(Outcome.NOT_JUDGED, form.reason)
    try:
        digests = digests_of(form, claim.error, results)
        written = results.written.get((claim.paper, claim.id, name))
        if written is not None and written.judged_by == digests:
            return written
        return replace(FormVerdict.of(form.settings(results, claim.error), form.measures), judged_by=digests)
    except CannotJudgeError as lacking:
        return FormVerdict(Outcome.CANNOT_BE_JUDGED, str(lacking))
    except ParameterError as error:
        place = f"{claim.id}: {name}" if name in list(claim.forms)[1:] else claim.id
        raise UserError(f"{claim.file}: {place}: {error}") from None


def _joined(between: str, texts: Mapping[str, str]) -> str:
    """The texts of all forms, each after its name; forms without a text are left out."""
    return between.join(f"{name}: {text}" if name else text for name, text in texts.items() if text)


def _decide(claim: Claim, findings: Mapping[str, FormVerdict]) -> tuple[Outcome, str]:
    """The outcome of a claim, that of its main form, and the condition under which it holds, if it has one.

    A variant does not change it: what differs there is a remark, see `ClaimVerdict.elsewhere`.
    """
    outcome = next(iter(findings.values())).outcome
    if outcome is not Outcome.HOLDS:
        return outcome, ""
    if claim.proof:
        return Outcome.PROVED, ""
    return (Outcome.HOLDS_UNDER, claim.condition) if claim.condition else (outcome, "")
