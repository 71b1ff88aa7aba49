"""Pages written by hand: docs/, the theorems beside their code, and how to contribute."""

import re
from collections.abc import Iterator
from pathlib import Path

from experiments.config.command_line import CommandLine
from experiments.config.compose import REPOSITORY
from scripts.exhibits.collect import Collected
from scripts.pages.text import runnable
from scripts.site.page import Beside, linked

ELSEWHERE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
THEOREMS = "\n```{{toctree}}\n:hidden:\n\n{}\n```\n"  # at the end of the page that lists them
NUMBERS = re.compile(r"# (\d+)(?:\.(\d+))?")


def pages(command: CommandLine, collected: Collected) -> Iterator[Beside]:
    """Each file at the place that `linked` gives it."""
    theorems = sorted((REPOSITORY / "bandits").rglob("*.md"), key=_number)
    below = THEOREMS.format("\n".join(f"/{file.relative_to(REPOSITORY).as_posix()}" for file in theorems))
    for file in (*sorted((REPOSITORY / "docs").rglob("*.md")), *theorems, *(REPOSITORY / name for name in ELSEWHERE)):
        path = file.relative_to(REPOSITORY).as_posix()
        text = linked(runnable(file.read_text(encoding="utf-8")), path)
        yield Beside(path.removeprefix("docs/"), (text + below * (path == "docs/theorems.md")).encode())


def _number(file: Path) -> tuple[bool, int, int]:
    """The number that the heading of a theorem begins with; those without one come last."""
    match = NUMBERS.match(file.read_text(encoding="utf-8"))
    return (False, int(match[1]), int(match[2] or 0)) if match else (True, 0, 0)
