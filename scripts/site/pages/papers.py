"""A page for each paper. (A place for them: `papers` writes it.)"""

from collections.abc import Iterator

from scripts.site.page import Page


def pages() -> Iterator[Page]:
    """The index of papers, and a page for each."""
    yield Page("papers/index", "# Papers\n\n```{toctree}\n:glob:\n\n*\n```\n")
    yield Page("papers/sajed2019", "# Sajed and Sheffet (2019)\n\n[Privacy](../privacy.md)\n")
