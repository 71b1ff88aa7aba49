"""Build a large table in little memory: values that all rows of a cell share are kept once until the end."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bandits.arrays import IntArray

SHORT = {"arms": np.int32}  # columns of cells whose numbers stay far below 2**31


class GrowingTable:
    """A table to which the rows of one cell after the other are added; only their columns `kept` are kept."""

    def __init__(self, kept: Iterable[str]) -> None:
        self._kept = tuple(kept)
        self._columns: dict[str, NDArray[Any]] = {}  # with space for more rows at the end
        self._cells: list[Mapping[str, Any]] = []
        self._counts: list[int] = []
        self._rows = 0

    def add(self, cell: Mapping[str, Any], rows: Mapping[str, NDArray[Any]]) -> None:
        """Add the `rows` of one cell, by column; `cell` has the columns that are the same in all of them."""
        self._cells.append(cell)
        self._counts.append(len(next(iter(rows.values()))))
        first, self._rows = self._rows, self._rows + self._counts[-1]
        for name in self._kept:
            column = self._columns.setdefault(name, np.empty(0, rows[name].dtype))
            if len(column) < self._rows:
                column.resize(self._rows * 5 // 4, refcheck=False)  # in place: a large array is not copied
            np.copyto(column[first : self._rows], rows[name], casting="safe")

    @property
    def of_cells(self) -> list[str]:
        """The columns of the cells, in the order in which they were first added."""
        return list(dict.fromkeys(name for cell in self._cells for name in cell))

    def finish(self, columns: Sequence[str]) -> pd.DataFrame:
        """The table with these columns; can be called only once, as the rows are moved out to save memory."""
        if not self._cells:
            return pd.DataFrame(columns=list(columns))
        counts = np.array(self._counts)
        for column in self._columns.values():
            column.resize(self._rows, refcheck=False)
        made: dict[str, Any] = self._columns
        of_cells = {name: [cell.get(name) for cell in self._cells] for name in columns if name not in made}
        for name in sorted(of_cells, key=lambda name: None not in of_cells[name]):  # columns that lack values first
            made[name] = repeated(of_cells[name], counts, SHORT.get(name))
        return pd.DataFrame({name: made[name] for name in columns}, copy=False)


def repeated(values: Sequence[Any], counts: IntArray, kind: type[np.generic] | None = None) -> Any:
    """A column in which each value is repeated as often as `counts` says; None is a missing value.

    Numbers without missing values have the type `of`, if given; with missing values they are sparse. Texts and lists
    (as text) become categories, and so do booleans if some are missing.
    """
    kinds = {type(value) for value in values}
    if kinds in ({int}, {float}, {int, float}, {bool}):
        return _spread(np.array(values, kind), counts)
    if kinds <= {int, float, type(None)}:
        return _sparse(values, counts)
    return _categories([str(value) if isinstance(value, list) else value for value in values], counts)


def _sparse(values: Sequence[Any], counts: IntArray) -> "pd.Series[Any]":
    """A sparse column of numbers; missing values take no memory, not even while it is built."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    there = ~np.isnan(numbers)
    ends = np.cumsum(counts)
    parts = [np.arange(end - count, end, dtype=np.int32) for end, count in zip(ends[there], counts[there], strict=True)]
    rows = np.concatenate(parts) if parts else np.empty(0, np.int32)
    kept = _spread(numbers[there], counts[there])
    made = pd.arrays.SparseArray.from_indices  # type: ignore[attr-defined]  # its stubs do not know it yet
    return pd.Series(made(kept, rows, int(counts.sum()), np.nan, kind="block"))


def _categories(values: Sequence[Any], counts: IntArray) -> "pd.Categorical[Any]":
    """A column of categories in the order of their values."""
    distinct = sorted({value for value in values if value is not None}, key=lambda value: (type(value).__name__, value))
    of_cells = pd.Categorical(values, categories=pd.Index(distinct))  # its codes have the smallest integer type
    return pd.Categorical.from_codes(_spread(of_cells.codes, counts), dtype=of_cells.dtype)


def _spread(values: NDArray[Any], counts: IntArray) -> NDArray[Any]:
    """`np.repeat(values, counts)`, but much faster for large counts."""
    spread = np.empty(counts.sum(), values.dtype)
    ends = np.cumsum(counts)
    for value, start, end in zip(values, ends - counts, ends, strict=True):
        spread[start:end] = value
    return spread
