"""Errors that are the user's to mend: one line, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user asked for cannot be done; the message is one line that names it and what is allowed."""


class FailedRunsError(Exception):
    """Runs that failed, each in a line; exit code 1. What else was asked for is complete and stored."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The words of `known` that `word` may have meant, and all of them if they are few, as the end of a sentence."""
    words = sorted(set(known))
    close = difflib.get_close_matches(word, words, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(close)}?" if close else ""
    return meant if meant and len(words) > 8 else f"{meant} known: {', '.join(words)}".strip()
