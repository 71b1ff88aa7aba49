"""The page of errata, from `conf/errata/`."""

import itertools
from collections.abc import Iterable, Iterator

from experiments.claims import Erratum, errata
from experiments.config.papers import papers
from scripts.site.page import Page

HEADER = """# Errata

Errors found in the papers while their algorithms, theorems and figures were reproduced. *Printed* gives the text of the
paper in our words and symbols; *shown by* names the test or command of this repository that shows the error, or what to
compare. *Matters* is one of: harmless slip; omission (the statement is true, but something that a reader needs is
missing); constant (rates are right, constants change); statement falls (it is false as printed).
"""


def pages() -> Iterator[Page]:
    """One page."""
    yield Page("errata", errata_page(errata()))


def errata_page(several: Iterable[Erratum]) -> str:
    """The page, by paper."""
    parts = [HEADER]
    for name, some in itertools.groupby(several, key=lambda erratum: erratum.paper):
        parts.append(f"## {papers()[name].cited if name in papers() else name}\n")
        for erratum in some:
            lines = {"Where": erratum.where, "Printed": erratum.printed, "Found": erratum.finding}
            lines |= {"Matters": erratum.matters, "Shown by": erratum.shown_by}
            parts += [f"### {erratum.id}\n", *(f"- {word}: {text}" for word, text in lines.items()), ""]
    return "\n".join(parts)
