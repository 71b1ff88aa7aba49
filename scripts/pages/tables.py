"""Tables that the page can sort and filter, and how their values are written."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from scripts.drawing.numbers import parameter, quantity, whole

PLAIN = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


@dataclass(frozen=True)
class TableEntry:
    """One entry of a table: its text, and the number it is sorted by (by its text if None)."""

    text: str | Markup
    rank: float | None = None
    kind: str = ""  # a class of the style sheet

    @property
    def hidden_rank(self) -> str:
        """The number that it is sorted by; empty if there is none, or the text says it."""
        if self.rank is None or _says(self.text, self.rank):
            return ""
        return f"{self.rank:.6g}"


@dataclass(frozen=True)
class Column:
    """A column; `choices` offers its different values as a filter."""

    title: str
    numeric: bool = False
    choices: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table that the page can sort and filter.

    Attributes
    ----------
    stacked: whether rows become cards on a narrow screen, instead of scrolling.
    headed: whether the first column names its row.
    """

    identifier: str
    caption: str
    columns: list[Column]
    rows: list[list[TableEntry]]
    stacked: bool = False
    headed: bool = False


def _says(text: str, rank: float) -> bool:
    """Whether `text` is the number `rank`, up to the digits that it leaves out, in a form that report.js reads."""
    plain = text.replace(",", "").replace("−", "-")
    return PLAIN.fullmatch(plain) is not None and math.isclose(float(plain), rank, rel_tol=1e-3)


def number(value: float) -> TableEntry:
    """A measured number."""
    return TableEntry(quantity(value), value)


def count(value: int) -> TableEntry:
    """A count."""
    return TableEntry(f"{value:,}", value)


def of_parameter(value: Any) -> TableEntry:
    """A parameter of a cell; empty if the cell does not have it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return TableEntry("")
    return TableEntry("∞" if value == math.inf else parameter(value), float(value) if is_number(value) else None)


def is_number(value: Any) -> bool:
    """Whether `value` is a number; a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def of_frame(identifier: str, caption: str, frame: pd.DataFrame) -> PageTable:
    """A table from any data frame."""
    columns = [Column(str(name).replace("_", " "), pd.api.types.is_numeric_dtype(frame[name])) for name in frame]
    rows = [[_of_item(value) for value in row] for row in frame.itertuples(index=False)]
    return PageTable(identifier, caption, columns, rows)


def _of_item(value: Any) -> TableEntry:
    if isinstance(value, bool | np.bool_):
        return TableEntry("yes" if value else "no")
    if isinstance(value, int | np.integer):
        return TableEntry(whole(int(value)), float(value))
    if isinstance(value, float | np.floating):
        return number(float(value))
    return TableEntry("" if value is None else str(value))
