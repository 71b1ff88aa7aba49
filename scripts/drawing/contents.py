"""Hashes of what files say: of a module its bytecode, so that an edit of its comments or its layout is no change."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

LINES = ("co_filename", "co_firstlineno", "co_linetable", "co_lnotab", "co_lines", "co_positions")  # where code stands


def content_of(file: Path) -> str:
    """A hash of the bytes of a file; "gone" if it is missing."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"


def meaning_of(file: Path) -> str:
    """A hash of what a file says; "gone" if it is missing.

    Of a module these are its statements: comments, layout, docstrings and assertions do not count. Another file, and
    one that Python cannot read, says each of its bytes.
    """
    if file.suffix == ".py" and file.is_file():
        with suppress(SyntaxError, ValueError):
            code = compile(file.read_bytes(), file.name, "exec", dont_inherit=True, optimize=2)
            return hashlib.sha256(repr(_statements(code)).encode()).hexdigest()
    return content_of(file)


def code(files: Iterable[Path]) -> str:
    """A hash of files of this repository, as they were when this process first asked: it runs what it read."""
    return hashlib.sha256(b" ".join(map(_at_first, files))).hexdigest()


def name_and_meaning(file: Path) -> bytes:
    """The name of a file and its meaning."""
    return f"{file} {meaning_of(file)}".encode()


_at_first = cache(name_and_meaning)


def _statements(value: Any) -> Any:
    """Bytecode without the lines at which it stands; a set, which has no order, as a list that has one."""
    if isinstance(value, CodeType):
        names = (name for name in dir(value) if name.startswith("co_") and name not in LINES)
        return [(name, _statements(getattr(value, name))) for name in names if not callable(getattr(value, name))]
    if isinstance(value, tuple):
        return tuple(map(_statements, value))
    return ("set", sorted(map(repr, value))) if isinstance(value, frozenset) else value
