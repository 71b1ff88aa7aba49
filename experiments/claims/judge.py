"""From claims and stored results to verdicts."""

import shlex
from collections.abc import Iterable, Mapping

from bandits import ParameterError
from experiments.claims.files import Claim
from experiments.claims.forms import Form, NotJudged
from experiments.claims.results import CannotJudgeError, Results
from experiments.claims.verdicts import ClaimVerdict, FormVerdict, Outcome
from experiments.errors import UserError


def judge_claims(claims: Iterable[Claim], results: Results) -> list[ClaimVerdict]:
    """A verdict on each claim. Raises `UserError`, which names file, id and key, if a claim makes no sense."""
    return [judge_claim(claim, results) for claim in claims]


def judge_claim(claim: Claim, results: Results) -> ClaimVerdict:
    """The verdict on a claim from its main form and its variants."""
    findings = {name: _find(claim, name, form, results) for name, form in claim.forms.items()}
    outcome, under = _decide(claim, findings)
    asked = [f"paper={claim.paper}", f"id={claim.id}", *results.overrides]
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
        shlex.join(["python", "-m", "experiments.claims", *places, *asked]),
        claim.experiments,
        claim.reading == "ours",
    )


def _find(claim: Claim, name: str, form: Form, results: Results) -> FormVerdict:
    """The verdict on one form. Raises `UserError`."""
    if isinstance(form, NotJudged):
        return FormVerdict(Outcome.NOT_JUDGED, form.reason)
    try:
        return FormVerdict.of(form.settings(results, claim.error), form.measures)
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
