"""A page of the site, a file beside it, and how links between files of the repository become links of the site."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from experiments.config.compose import REPOSITORY
from scripts.pages.text import runnable

LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]+)(#[^)\s]*)?")  # [text](file#anchor; [0, 1]: is no link
NOWHERE = re.compile(r"\[([^\[\]]*)\]\(/(?:paper\.md|(?:bandits|conf|experiments|scripts|tests)(?:/\w+)*/?)\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


class Wait(Enum):
    """What a kind of pages says if it is made after the figures and verdicts of papers, as its module's `WAIT`."""

    FOR_COLLECTED = "they are collected for it"
    IF_COLLECTED = "it takes those that are collected for others"


@dataclass(frozen=True)
class Page:
    """A page in MyST Markdown.

    Attributes
    ----------
    place: where it is in the site, without suffix, as in `papers/sajed2019`.
    text: MyST; relative links in it start from `docs/PLACE.md`, also if there is no such file. Its
        commands become those of a clone.
    """

    place: str
    text: str

    @property
    def name(self) -> str:
        """Its file among the sources of the site."""
        return f"{self.place}.md"

    @property
    def content(self) -> bytes:
        return linked(runnable(self.text), f"docs/{self.name}").encode()


@dataclass(frozen=True)
class Beside:
    """A file that pages show or link, such as a picture; `name` is its path, as `papers/sajed2019/fig01.svg`."""

    name: str
    content: bytes


@dataclass(frozen=True)
class AsItIs:
    """A file that Sphinx does not read, such as the explorer; `name` is its path in the site."""

    name: str
    content: bytes


def linked(text: str, file: str) -> str:
    """`text` with its relative links as those of the site; `file` is where it stands in the repository.

    A page in docs/ has its place there in the site; every other file has the path that it has in the repository. What
    the site does not have, such as a folder of the repository, is no link there.
    """
    inside = [match.span() for match in FENCE.finditer(text)]

    def link(match: re.Match[str]) -> str:
        shown, target, anchor = match[1], match[2], match[3] or ""
        if ":" in target or any(start <= match.start() < end for start, end in inside):
            return match[0]
        path = os.path.normpath(PurePosixPath(file).parent / target)
        return f"[{shown}](/{path.removeprefix('docs/')}{anchor}"

    return NOWHERE.sub(r"\1", LINK.sub(link, text))


def files_linked(text: str) -> Iterator[Path]:
    """Files of the repository, none of them a page, that a text links as paths of the site."""
    for _, target, _ in LINK.findall(text):
        if target.startswith("/") and not target.endswith(".md"):
            places = [folder / target[1:] for folder in (REPOSITORY / "docs", REPOSITORY)]
            yield from [file for file in places if file.is_file()][:1]
