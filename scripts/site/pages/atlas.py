"""The page on what privacy costs."""

from collections.abc import Iterator

from experiments.config.command_line import CommandLine
from experiments.config.compose import Composer
from scripts.atlas.field import published_field
from scripts.atlas.page import atlas_page
from scripts.exhibits.collect import Collected
from scripts.site.page import Page


def pages(command: CommandLine, collected: Collected) -> Iterator[Page]:
    """One page, from stored results."""
    yield Page("atlas", atlas_page(published_field(Composer())))
