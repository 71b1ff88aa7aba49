"""A page for each paper."""

from collections.abc import Iterator

from experiments.config.papers import papers
from scripts.site.page import Page


def pages() -> Iterator[Page]:
    """The index of papers, and a page for each."""
    yield Page("papers/index", "# Papers\n\n```{toctree}\n:glob:\n\n*\n```\n")
    for name, paper in papers().items():
        yield Page(f"papers/{name}", f"# {paper.cited}\n\n[Claims](../claims.md) and [errata](../errata.md).\n")
