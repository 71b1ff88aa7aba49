"""Pages written by hand: docs/, the theorems beside their code, and how to contribute."""

from collections.abc import Iterator

from experiments.config.compose import REPOSITORY
from scripts.site.page import Beside, linked

ELSEWHERE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
BELOW = {"docs/theorems.md": "\n```{toctree}\n:hidden:\n:glob:\n\n/bandits/*\n/bandits/*/*\n```\n"}


def pages() -> Iterator[Beside]:
    """Each file at the place that `linked` gives it."""
    theorems = sorted((REPOSITORY / "bandits").rglob("*.md"))
    for file in (*sorted((REPOSITORY / "docs").rglob("*.md")), *theorems, *(REPOSITORY / name for name in ELSEWHERE)):
        path = file.relative_to(REPOSITORY).as_posix()
        text = linked(file.read_text(encoding="utf-8"), path)
        yield Beside(path.removeprefix("docs/"), (text + BELOW.get(path, "")).encode())
