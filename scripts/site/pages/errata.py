"""The page of errata: which there are and how much they matter; each stands whole on the page of its paper."""

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from experiments.claims import Erratum, errata
from experiments.config.papers import papers
from scripts.pages.tables import Column, PageTable, TableEntry
from scripts.pages.text import slug
from scripts.site.page import Page

PAGE = """# Errata

Errors found in the papers while their algorithms, theorems and figures were reproduced. The page of a paper has each
whole: what is printed, in our words and symbols, what we found, and the test or command that shows it. *Matters* is one
of: harmless slip; omission (the statement is true, but something that a reader needs is missing); constant (rates are
right, constants change); statement falls (it is false as printed).

"""
COLUMNS = [Column("erratum"), Column("paper", choices=True), Column("where"), Column("matters", choices=True)]


def pages() -> Iterator[Page]:
    """One page."""
    yield Page("errata", errata_page(errata()))


def errata_page(several: Iterable[Erratum]) -> str:
    """The page: a table of all, each linked to its place on the page of its paper."""
    rows = [_row(erratum) for erratum in several]
    return PAGE + PageTable("all-errata", "All errata", COLUMNS, rows).html


def _row(erratum: Erratum) -> list[TableEntry]:
    page = f"papers/{erratum.paper}.html"
    paper = papers()[erratum.paper].cited if erratum.paper in papers() else erratum.paper
    return [
        TableEntry(Markup('<a href="{}#erratum-{}">{}</a>').format(page, slug(erratum.id), erratum.id)),
        TableEntry(Markup('<a href="{}#errata">{}</a>').format(page, paper), choice=paper),
        TableEntry(erratum.where),
        TableEntry(erratum.matters),
    ]
