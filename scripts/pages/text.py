"""How generated pages write numbers, commits, paths, identifiers, lists and tables."""

import re
from pathlib import Path

from experiments.config.compose import REPOSITORY
from scripts.drawing.numbers import quantity

PYTHON = re.compile(r"(?<![\w/])python -m\b")


def short_commit(commit: str | None) -> str:
    """The first twelve digits of a commit."""
    return commit[:12] if commit else "unknown"


def without_places(text: str) -> str:
    """`text` without the folders of this machine: paths in the repository or the working folder become relative."""
    for folder in sorted({str(REPOSITORY), str(Path.cwd())}, key=len, reverse=True):
        text = text.replace(f"{folder}/", "")
    return text


def runnable(text: str) -> str:
    """`text` with its commands as they run in a clone: by the Python of the environment that `make setup` makes."""
    return PYTHON.sub(".venv/bin/python -m", text)


def comment_of(file: Path) -> str:
    """The comment at the beginning of a YAML file of conf/."""
    lines = (REPOSITORY / file).read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.strip() != "# @package _global_"]
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# ").rstrip())
    return " ".join(comment)


def slug(text: str) -> str:
    """`text` as an identifier in the page."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def short(value: float) -> str:
    """A number with two digits, which are enough for a choice."""
    return quantity(float(f"{value:.2g}"))
