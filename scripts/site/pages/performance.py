"""The page of what `make bench` measured."""

from collections.abc import Iterator

from scripts.pages.performance import performance_page, read_measured
from scripts.site.page import Page


def pages() -> Iterator[Page]:
    """One page, from `results/performance.json`."""
    yield Page("performance", performance_page(read_measured()))
