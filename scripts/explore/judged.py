"""Claims with their verdicts and the cells that decide them, and audits, as plain values for the page."""

import dataclasses
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.audit.rows import NO_PROMISE, AuditRow
from experiments.audit.table import AUDITS, cases, cases_behind, cases_of, picked
from experiments.claims import Claim, ClaimVerdict, Results, claims, judge_claims
from experiments.claims.forms import Form
from experiments.claims.promises import Audited
from experiments.claims.results import CannotJudgeError
from experiments.store.stored import meets
from scripts.explore.about import plain
from scripts.pages.audits import set_parameters
from scripts.pages.text import without_places

CONDITIONS = ("filter", "numerator", "denominator")  # the keys of a form that choose cells
DIGITS = 5  # of the numbers of settings and audits
INFINITE = "∞"


@dataclasses.dataclass(frozen=True)
class Judged:
    """Everything that is judged, in plain values.

    Attributes
    ----------
    claims: each a mapping; `cells` are the keys of the cells that it is judged by, `audits` the places of its audits.
    audits: each a mapping of the fields of `AuditRow`, and the verdicts of an audit.
    """

    claims: list[dict[str, Any]]
    audits: list[dict[str, Any]]


def all_judged(results: Results, papers: Collection[str] | None) -> Judged:
    """Judge the claims of `papers`, or all. Raises `UserError`."""
    config_dirs = results.composer.config_dirs
    audits = results.audits
    chosen = [claim for claim in claims(config_dirs) if papers is None or claim.paper in papers]
    return Judged(
        claims=[
            _claim(claim, verdict, results, audits)
            for claim, verdict in zip(chosen, judge_claims(chosen, results), strict=True)
        ],
        audits=[_audit(row, words) for row, words in zip(audits, asked_of(audits, config_dirs), strict=True)],
    )


def asked_of(audits: Sequence[AuditRow], config_dirs: Sequence[Path]) -> list[str]:
    """The overrides that `experiments.audit` made each row from.

    Empty for a row that no file of audits lists, or whose class promises nothing, which the command refuses.
    """
    listed = [*cases(AUDITS), *(case for folder in config_dirs for case in cases_of(folder))]
    behind = cases_behind(audits, listed)
    return [
        "" if case is None or row.verdict == NO_PROMISE else " ".join(f"{key}={value}" for key, value in case.items())
        for row, case in zip(audits, behind, strict=True)
    ]


def _claim(claim: Claim, verdict: ClaimVerdict, results: Results, audits: list[AuditRow]) -> dict[str, Any]:
    forms = claim.forms.values()
    return {
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "claim": claim.claim,
        "outcome": str(verdict.outcome),
        "shown": verdict.shown,
        "evidence": without_places(verdict.evidence),
        "power": verdict.power,
        "cause": claim.cause,
        "note": claim.note,
        "proof": claim.proof,
        "command": without_places(verdict.command),
        "experiments": list(dict.fromkeys(name for form in forms for name in getattr(form, "experiments", ()))),
        "cells": list(dict.fromkeys(key for form in forms for key in keys_of(form, results))),
        "audits": sorted({place for form in forms for place in _deciding(form, audits)}),
        "settings": _settings(verdict),
    }


def keys_of(form: Form, results: Results) -> list[str]:
    """The keys of the cells that a form chooses; none if it needs none, or they are not stored."""
    try:
        cells = [kept.cell for kept in results.kept(getattr(form, "experiments", ()))]
    except CannotJudgeError:
        return []
    conditions = [getattr(form, name) for name in CONDITIONS if hasattr(form, name)] or [{}]
    return list(dict.fromkeys(cell.key for one in conditions for cell in cells if meets(cell.columns, one)))


def _deciding(form: Form, audits: list[AuditRow]) -> list[int]:
    """The places of the audits that a form chooses."""
    if not isinstance(form, Audited):
        return []
    chosen = {id(row) for row in picked(audits, form.rows)}
    return [place for place, row in enumerate(audits) if id(row) in chosen]


def _settings(verdict: ClaimVerdict) -> dict[str, Any]:
    """The table of settings, by columns; columns that are empty are left out."""
    table: pd.DataFrame = verdict.table
    if table.empty:
        return {"columns": [], "rows": []}
    kept = [name for name in table.columns if any(_known(value) for value in table[name])]
    rows = [[_short(value) for value in row] for row in table[kept].itertuples(index=False)]
    return {"columns": [str(name) for name in kept], "rows": rows}


def _known(value: Any) -> bool:
    return _short(value) not in (None, "")


def _short(value: Any) -> Any:
    """A value with few digits; a number that is infinite as a text, one that is undefined as None."""
    if isinstance(value, float) and math.isinf(value):
        return INFINITE if value > 0 else f"-{INFINITE}"
    value = plain(value)
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _audit(row: AuditRow, words: str) -> dict[str, Any]:
    bounds, kept, shown = row.deciding
    values = {**dataclasses.asdict(row), "parameters": set_parameters(row), "asked": words}
    values |= {"bounds": bounds, "kept": kept, "shown": shown}
    return {name: _short(value) for name, value in values.items()}
