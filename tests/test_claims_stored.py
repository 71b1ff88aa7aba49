"""Verdicts on the committed results, and what is generated from them."""

import re
from pathlib import Path

import pytest

from experiments.claims import Outcome, Results, claims, errata, judge_all
from experiments.config.compose import REPOSITORY, Composer
from scripts import docs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def verdicts():
    return judge_all(claims(), Results(Composer()))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("by-5x", "holds under mishra2015"),
        ("dpse-beats-dpucb", "holds under mishra2015"),
        ("dpse-regret-bound", "holds"),
        ("dpse-pulls-bound", "holds"),
        ("dpse-minimax", "holds"),
        ("dprse-beats-dprucb", "holds under scaled constants"),
        ("eps-monotone", "holds"),
        ("dprse-pulls-bound", "holds"),
        ("dprse-regret-bound", "holds"),
        ("ldp-rate", "holds under twice the printed power"),
        ("dpse-worst-in-fig5", "fails"),
        ("int-outperformed", "fails"),
        ("new-delta-slope", "fails"),
        ("new-eps-slope", "fails"),
        ("new-bound", "holds"),
        ("exponential-private", "fails"),
    ],
)
def test_what_became_of_claims(verdicts, name, shown):
    (verdict,) = (verdict for verdict in verdicts if verdict.id == name)
    assert verdict.shown == shown


def test_what_the_printed_constants_of_tao2022_break(verdicts):
    (verdict,) = (verdict for verdict in verdicts if verdict.id == "dprse-beats-dprucb")
    assert verdict.findings["printed constants"].outcome is Outcome.FAILS
    failing = verdict.table[verdict.table.result == "fails"]
    assert set(failing.v) == {0.5}
    assert set(failing.form) == {"printed constants"}


def test_every_claim_has_a_verdict_with_evidence(verdicts):
    assert len({(verdict.paper, verdict.id) for verdict in verdicts}) == len(verdicts) > 80
    for verdict in verdicts:
        assert verdict.evidence
        assert len(verdict.table) > 0 or verdict.outcome in (Outcome.NOT_JUDGED, Outcome.CANNOT_BE_JUDGED)


def test_the_readme_is_current(verdicts):
    text = docs.README.read_text()
    assert docs.replaced(text, docs.readme_part(verdicts)) == text, "python -m scripts.docs"
    assert docs.CLAIMS.read_text() == docs.claims_page(verdicts), "python -m scripts.docs"


def test_the_errata_page_is_current():
    assert docs.ERRATA.read_text() == docs.errata_page(errata()), "python -m scripts.docs"


def test_tests_that_show_errata_exist():
    for erratum in errata():
        for file, name in re.findall(r"(tests/\w+\.py)(?:::(\w+))?", erratum.shown_by):
            text = Path(REPOSITORY / file).read_text()
            assert not name or f"def {name}(" in text, f"{erratum.id}: {name}"
