"""Errors that are the user's to mend: one line, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user asked for cannot be done; the message is one line that names it and what is allowed."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The words of `known` that `word` may have meant, or all of them, as the end of a sentence."""
    words = sorted(set(known))
    close = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(words)}"
