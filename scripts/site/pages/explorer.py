"""The explorer, as `python -m scripts.explore` writes it, with the same addresses, and a page that leads to it."""

from collections.abc import Iterator

from experiments.config.command_line import CommandLine
from scripts.exhibits.collect import Collected
from scripts.explore.explorer import explorer
from scripts.site.page import AsItIs, Page

PAGE = """# Explorer

All stored results on one page, with its own tabs: regret curves of any policies beside each other, two policies
compared cell by cell, which policy to take, and every claim. An address holds all that is shown.

<p><a class="sd-btn sd-btn-primary" href="explore/index.html">Open the explorer</a></p>
"""


def pages(command: CommandLine, collected: Collected) -> Iterator[AsItIs | Page]:
    """Both pages. Raises `UserError` if no cell is stored."""
    text, _ = explorer(command, home="../index.html")
    yield Page("explorer", PAGE)
    yield AsItIs("explore/index.html", text.encode())
