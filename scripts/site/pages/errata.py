"""The page of errata: which there are and how much they matter; each stands whole on the page of its paper."""

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from experiments.claims import Erratum, errata
from experiments.config.command_line import CommandLine
from experiments.config.papers import papers
from scripts.exhibits.collect import Collected
from scripts.pages.tables import Column, Columns, Entries, TableEntry, page_table
from scripts.pages.text import slug
from scripts.site.page import Page

PAGE = """# Errata

Errors found in the papers while their algorithms, theorems and figures were reproduced. The page of a paper has each
whole: what is printed, in our words and symbols, what we found, and the test or command that shows it. *Matters* is one
of: harmless slip; omission (the statement is true, but something that a reader needs is missing); constant (rates are
right, constants change); statement falls (it is false as printed).

"""
COLUMNS: Columns = ["erratum", Column("paper", choices=True), "where", Column("matters", choices=True)]


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """One page."""
    yield Page("errata", errata_page(errata()))


def errata_page(several: Iterable[Erratum]) -> str:
    """The page: a table of all, each linked to its place on the page of its paper."""
    rows = [_row(erratum) for erratum in several]
    return PAGE + page_table("all-errata", "All errata", COLUMNS, rows).html


def _row(erratum: Erratum) -> Entries:
    page = f"papers/{erratum.paper}.html"
    paper = papers()[erratum.paper].cited if erratum.paper in papers() else erratum.paper
    return [
        Markup('<a href="{}#erratum-{}">{}</a>').format(page, slug(erratum.id), erratum.id),
        TableEntry(Markup('<a href="{}#errata">{}</a>').format(page, paper), choice=paper),
        erratum.where,
        erratum.matters,
    ]
