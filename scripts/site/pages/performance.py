"""The page of what `make bench` measured."""

from collections.abc import Iterator

from experiments.config.command_line import CommandLine
from scripts.exhibits.collect import Collected
from scripts.pages.performance import performance_page, read_measured
from scripts.site.page import Page


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """One page, from `results/performance.json`."""
    yield Page("performance", performance_page(read_measured()))
