"""paper.md cites exactly the entries of paper.bib, which agree with the papers and authors in the repository."""

import re

import yaml

from experiments.config.compose import CONF, REPOSITORY
from experiments.config.papers import papers
from scripts.docs import paper_part
from scripts.drawing.citation import own_entry
from scripts.tables.repository import numbers
from tests.rows import require_rows

PAPER = (REPOSITORY / "paper.md").read_text()
BIB = (REPOSITORY / "paper.bib").read_text()
ENTRIES = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", BIB, flags=re.MULTILINE | re.DOTALL))


def field(key, name):
    found = re.search(rf"^  {name} = \{{(.*?)\}},?$", ENTRIES[key], flags=re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else None


def test_what_is_cited_is_listed_and_the_other_way_round():
    require_rows(ENTRIES, re.findall(r"@(\w+)", PAPER.partition("# Summary")[2]), "paper.md", "the citation [@NAME]")


def test_the_papers_are_those_of_the_repository():
    known = papers()
    keys = {file.stem for file in (CONF / "papers").glob("*.yaml")} - {"atlas"}
    require_rows(
        keys, keys & ENTRIES.keys(), "paper.bib", "@article{NAME, author = ...}, and cite it in paper.md: [@NAME]"
    )
    for key in known.keys() & ENTRIES.keys():
        paper = known[key]
        assert (field(key, "title"), field(key, "year")) == (paper.title, str(paper.year))
        surnames = [name.partition(",")[0] for name in field(key, "author").split(" and ")]
        assert surnames == re.split(r", | and ", paper.authors), key


def test_authors_are_those_of_the_citation():
    head = yaml.safe_load(PAPER.split("---")[1])
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())["authors"]
    assert [author["name"] for author in head["authors"]] == [author["name"] for author in cited]
    assert (REPOSITORY / head["bibliography"]).exists()


def test_it_has_the_length_and_the_sections_of_the_journal():
    body = PAPER.split("---", 2)[2]
    assert 750 <= len(body.split()) <= 1000
    assert re.findall(r"^# (.*)$", body, re.MULTILINE) == [
        *("Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"),
        *("Limits", "AI usage disclosure", "Acknowledgements", "References"),
    ]


def test_every_number_is_printed_by_a_command():
    """`python -m scripts.docs cite` writes them; citations and code have others."""
    body = re.sub(r"\[@[^]]*\]|`[^`]*`|<!--.*?-->", "", PAPER.split("---", 2)[2])
    printed = set(numbers().frame["is"])
    assert paper_part() in PAPER, "paper.md has other numbers: run .venv/bin/python -m scripts.docs cite"
    assert set(re.findall(r"\d[\d,]*\d|\d", body)) == printed


def test_the_entry_in_the_readme_is_that_of_the_citation():
    readme = (REPOSITORY / "README.md").read_text()
    assert f"<!-- bibtex: begin -->\n```bibtex\n{own_entry()}\n```\n<!-- bibtex: end -->\n" in readme


def test_no_doi_is_given_that_nobody_checked():
    assert "doi" not in {name.lower() for entry in ENTRIES.values() for name in re.findall(r"^  (\w+) =", entry, re.M)}
