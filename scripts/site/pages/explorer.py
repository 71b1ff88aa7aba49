"""The explorer, as it is, with the same addresses as that of `python -m scripts.explore`."""

from collections.abc import Iterator

from experiments.config.command_line import CommandLine
from scripts.explore.explorer import explorer
from scripts.site.page import AsItIs


def pages_of(command: CommandLine) -> Iterator[AsItIs]:
    """One page. Raises `UserError` if no cell is stored."""
    text, _ = explorer(command, home="../index.html")
    yield AsItIs("explore/index.html", text.encode())
