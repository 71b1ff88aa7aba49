"""Docstrings of this repository as the reStructuredText that autodoc reads."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

from experiments.config.compose import REPOSITORY
from scripts.pages.text import runnable

RULE = re.compile(r"-{3,}")
CODE = re.compile(
    r"(^::\n\n(?: {4}[^\n]*\n?|\n)+|(?<!\w)\*\*\w[^*]*\*\*(?!\w)|``.+?``|`[^`]+`)", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"([*|\\]|_(?!\w))")  # what would begin emphasis, a substitution or a link
# NDArray[float64], evaluated
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?numpy\.(\w+)\]\]")
ARRAY_LIKE = stringify_annotation(ArrayLike, "smart")
PROOF = re.compile(r"\b(?:bandits/(?:\w+/)*)?(\w+\.md)\b")


def process(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place, as the event `autodoc-process-docstring` asks."""
    lines[:] = runnable(in_rst(lines)).splitlines()


def signed(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """A signature with types of arrays as they are written, and dots for a default that is a nameless function."""
    return signature and as_written(signature.replace("<function <lambda>>", "...")), returns and as_written(returns)


def as_written(types: str) -> str:
    """Types that autodoc has evaluated, with those of arrays as the code has them."""
    return ARRAY.sub(r"NDArray[\1]", types.replace(ARRAY_LIKE, "ArrayLike"))


def skipped(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Not shown are methods that a function makes, as those of numpy which `bandits.audit.planted` wraps, and fields of
    named tuples without a text of their own, which the signature has.
    """
    made = "<locals>" in getattr(value, "__qualname__", "") or (value.__doc__ or "").startswith("Alias for field")
    return True if made else None


def in_rst(lines: Sequence[str]) -> str:
    """Headings underlined with dashes become rubrics, the items below them a list; other signs stand for themselves."""
    made: list[str] = []
    in_items = False
    for here, after in zip(lines, [*lines[1:], ""], strict=True):
        if RULE.fullmatch(after):
            made += [f"**{here}**", ""]
            in_items = True
        elif RULE.fullmatch(here):
            continue
        elif here and not here.startswith(" ") and (in_items or re.match(r"[A-Z]{2,}: ", here)):
            made.append(f"- {here}")
        else:
            in_items = in_items and bool(here)
            if here.startswith("    ") and not in_items and made and not made[-1] and not _is_code(made):
                made += ["::", ""]
            made.append(here.replace("    ", "  ", 1) if in_items else here)
    return _plain("\n".join(made))


def _is_code(made: Sequence[str]) -> bool:
    """Whether the last line that is not empty is one of code."""
    return next((line for line in reversed(made) if line), "").startswith("    ")


def _plain(text: str) -> str:
    """A text in which only code, what is bold and names of pages of theorems mean more than their signs."""
    parts = CODE.split(text)
    parts[::2] = [PROOF.sub(_proof, MARK.sub(r"\\\1", part)) for part in parts[::2]]
    parts[1::2] = [part if part.startswith(("**", "::")) else f"\\ ``{part.strip('`')}``\\ " for part in parts[1::2]]
    return "".join(parts)


def _proof(match: re.Match[str]) -> str:
    page = proofs().get(match[1])
    return match[0] if page is None else f":doc:`{match[1]} </{page}>`"


@cache
def proofs() -> dict[str, str]:
    """The pages of theorems by name, which only one has."""
    files = (REPOSITORY / "bandits").rglob("*.md")
    return {file.name: file.relative_to(REPOSITORY).with_suffix("").as_posix() for file in files}
