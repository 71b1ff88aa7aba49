"""Errors that the user can fix: one line, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """An impossible request of the user; the message is one line that names it and says what is allowed."""


class FailedRunsError(Exception):
    """Runs that failed, each in a line; exit code 1. All other requested cells are complete and stored."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the `known` words nearest to `word`, and all known ones if they are few."""
    words = sorted(set(known))
    close = difflib.get_close_matches(word, words, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(close)}?" if close else ""
    return meant if meant and len(words) > 8 else f"{meant} known: {', '.join(words)}".strip()


class NotRepeatableError(Exception):
    """The numbers of a policy or instance do not depend on the seed alone; the message says what it did."""
