"""The failing claims that README.md names; the glossary agrees with the code."""

import re
from types import SimpleNamespace

from experiments.claims import Outcome
from experiments.claims.__main__ import verdict_as_text
from experiments.claims.settings import FAMILY, SAYS_NOTHING
from experiments.config.compose import REPOSITORY
from scripts.docs import FEW, readme_part, worst_failures


def failing(paper, name, share, outcome=Outcome.FAILS, ours=False, threshold=False, reading=False):
    fields = {"paper": paper, "id": name, "failing": share, "outcome": outcome, "claim": f"{name} is so."}
    whose = {"ours": ours, "our_threshold": threshold, "our_reading": reading}
    return SimpleNamespace(**fields, **whose, remarks=[], says_nothing="", elsewhere={})


def test_of_each_paper_the_claim_that_fails_most_is_named():
    verdicts = [
        failing("a", "little", 0.1),
        failing("a", "much", 0.5),
        failing("a", "as-much", 0.5),
        failing("a", "at-our-number", 1.0, threshold=True),
        failing("a", "in-our-reading", 1.0, reading=True),
        failing("b", "ours", 1.0, ours=True),
        failing("b", "not-failing", 0.9, Outcome.UNDECIDED),
        failing("c", "one", 0.2),
    ]
    assert [verdict.id for verdict in worst_failures(verdicts)] == ["much", "one"]
    text = readme_part(verdicts)
    assert "- a `much`, in 50 % of its settings: much is so.\n- c `one`, in 20 %" in text
    assert "- " not in readme_part(verdicts[6:7])


def test_only_a_few_papers_are_named_in_the_order_of_the_claims():
    verdicts = [failing(paper, "x", share) for paper, share in zip("abcde", (0.1, 0.2, 0.3, 0.4, 0.5), strict=True)]
    assert [verdict.paper for verdict in worst_failures(verdicts)] == list("abcde")[-FEW:]


GLOSSARY = REPOSITORY / "docs" / "glossary.md"


def glossary():
    """Each word and what it means."""
    items = re.findall(r"(?ms)^- \*\*(.+?)\*\*: (.+?)(?=\n- |\Z)", GLOSSARY.read_text())
    return {word: re.sub(r"[*]", "", " ".join(meaning.split())) for word, meaning in items}


def test_the_glossary_is_short_and_has_the_numbers_of_the_code():
    words = glossary()
    assert len(words) <= 26
    for word in ("weakest setting", "open", "vacuous here", "power", "undecided", "threshold ours"):
        assert word in words
    assert f"{100 * FAMILY:g} %" in words["interval"]
    assert f"{SAYS_NOTHING:,.0f}" in words["says nothing"]
    assert "docs/glossary.md" in (REPOSITORY / "README.md").read_text()
    assert not re.search(r"[*\[\]]", " ".join(words.values())), "the glossary has marks that would be printed"


def test_the_note_of_a_claim_is_printed():
    fields = {
        "claim": "It is so.",
        "evidence": "All.",
        "power": "",
        "cause": "It is not known.",
        "note": "As far as is known.",
    }
    verdict = SimpleNamespace(paper="a", id="b", shown="holds", **fields)
    assert verdict_as_text(verdict).splitlines() == [
        "a b: holds",
        "  It is so.",
        "  All.",
        "  Cause: It is not known.",
        "  Note: As far as is known.",
    ]
