"""How the atlas writes numbers and tables."""

from collections.abc import Iterable

from scripts.drawing.numbers import quantity


def short(value: float) -> str:
    """A number with two digits, which are enough for a choice."""
    return quantity(float(f"{value:.2g}"))


def listed(words: Iterable[str]) -> str:
    """Words as a list, as in "1, 2 and 3"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
