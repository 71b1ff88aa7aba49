"""Errors that the user can fix: one line, exit code 2, no traceback; and checks of values that raise them."""

import difflib
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any

MOST_WORKERS = 1024  # processes


class UserError(Exception):
    """An impossible request of the user; the message is one line that names it and says what is allowed."""


class FailedRunsError(Exception):
    """Runs that failed, each in a line; exit code 1. All other requested cells are complete and stored."""


def nearest(word: str, names: Iterable[str]) -> str:
    """The end of an error message: the `names` nearest to `word`, and all if they are few."""
    words = sorted(set(names))
    close = difflib.get_close_matches(word, words, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(close)}?" if close else ""
    return meant if meant and len(words) > 8 else f"{meant} known: {', '.join(words)}".strip()


class NotRepeatableError(Exception):
    """The numbers of a policy or instance do not depend on the seed alone; the message says what it did."""


def shown(value: Any) -> str:
    """A value as errors show it; a text that looks like a number, true, false or null is called a text."""
    if isinstance(value, int) and not is_number(int(value)):
        return "a number of more than 308 digits"
    if not isinstance(value, str):
        return "nothing" if value is None else str(value)
    try:
        float(value)
    except ValueError:
        return f"the text '{value}'" if value in ("true", "false", "null") else value
    return f"the text '{value}'"


def flag(config: Mapping[Any, Any], key: str) -> bool:
    """The value of a key that must be true or false. Raises `UserError`."""
    try:
        return truth(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None


def whole_of(config: Mapping[Any, Any], key: str) -> int:
    """The whole number that a key has. Raises `UserError`."""
    try:
        return whole_number(config[key])
    except ValueError as error:
        raise UserError(f"{key}: must be {error}") from None


def whole_in(config: Mapping[Any, Any], key: str, least: int, most: int) -> int:
    """The whole number that a key has, in least..most. Raises `UserError`."""
    value = whole_of(config, key)
    if value < least:
        raise UserError(f"{key}: must be at least {least}, got {value}")
    if value > most:
        raise UserError(f"{key}: must be at most {most}, got {value}")
    return value


def number_above_0(config: Mapping[Any, Any], key: str) -> float:
    """The number above 0 that a key has, infinity included. Raises `UserError`."""
    value = config[key]
    if not is_number(value) or not value > 0:
        raise UserError(f"{key}: must be a number above 0, got {shown(value)}")
    return float(value)


def truth(value: Any) -> bool:
    """`value` if it is true or false. Raises `ValueError` for anything else, even 1 and 0."""
    if not isinstance(value, bool):
        raise ValueError(f"true or false, got {shown(value)}")
    return value


def list_of_texts(given: Any, key: str, kinds: type[Any] | UnionType = str) -> list[Any]:
    """The texts in `given`, or what else `kinds` are. Raises `UserError` for others, as a text, a list of letters."""
    if isinstance(given, str | Path):
        raise UserError(f"{key}: must be a list, got {given!r}; write {key}=[{str(given)!r}]")
    if not isinstance(given, Iterable):
        raise UserError(f"{key}: must be a list of texts, got {given!r}")
    texts = list(given)
    for text in texts:
        if not isinstance(text, kinds):
            raise UserError(f"{key}: must be a list of texts, got {text!r} in it")
    return texts


def number_of_workers(value: Any) -> int:
    """A number of processes, -1 for one per core. Raises `ValueError` for others."""
    workers = whole_number(value)
    if workers < 1 and workers != -1:
        raise ValueError(f"at least 1, or -1 for one per core, got {workers}")
    if workers > MOST_WORKERS:
        raise ValueError(f"at most {MOST_WORKERS}, got {workers}")
    return workers


def is_number(value: Any) -> bool:
    """Whether `value` is a number, infinity and NaN included, but no bool and not too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) <= sys.float_info.max


def whole_number(value: Any) -> int:
    """`value` as an int; 1e6 is allowed. Raises `ValueError` for others, as 1.5, true, infinity and 10**400."""
    if not is_number(value) or not math.isfinite(value) or value != int(value):
        raise ValueError(f"a whole number, got {shown(value)}")
    return int(value)
