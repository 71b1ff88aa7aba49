"""Build a large table in little memory: values that all rows of a cell share are kept once until the end."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bandits.arrays import IntArray

BLOCK = 2**20  # rows
SHORT = {"arms": np.int32, "replication": np.int32}  # columns whose numbers stay far below 2**31


class GrowingTable:
    """A table to which the rows of one cell after the other are added; only their columns `kept` are kept."""

    def __init__(self, kept: Iterable[str]) -> None:
        self._pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in kept}
        self._blocks: dict[str, list[NDArray[Any]]] = {name: [] for name in self._pieces}
        self._cells: list[Mapping[str, Any]] = []
        self._counts: list[int] = []
        self._waiting = 0  # rows in pieces, not yet in a block

    def add(self, cell: Mapping[str, Any], rows: Mapping[str, NDArray[Any]]) -> None:
        """Add the `rows` of one cell, by column; `cell` has the columns that are the same in all of them."""
        self._cells.append(cell)
        self._counts.append(len(next(iter(rows.values()))))
        self._waiting += self._counts[-1]
        for name, pieces in self._pieces.items():
            pieces.append(rows[name].astype(SHORT.get(name, rows[name].dtype), copy=False))
        if self._waiting > BLOCK:
            self._join_pieces()

    def _join_pieces(self) -> None:
        """Join small arrays to large ones, whose memory goes back to the system when they are freed."""
        for name, pieces in self._pieces.items():
            self._blocks[name].append(np.concatenate(pieces))
            pieces.clear()
        self._waiting = 0

    @property
    def of_cells(self) -> list[str]:
        """The columns of the cells, in the order in which they were first added."""
        return list(dict.fromkeys(name for cell in self._cells for name in cell))

    def finish(self, columns: Sequence[str]) -> pd.DataFrame:
        """The table with these columns; can be called only once, as the rows are moved out to save memory."""
        if not self._cells:
            return pd.DataFrame(columns=list(columns))
        counts = np.array(self._counts)
        for name, pieces in self._pieces.items():
            self._blocks[name] += pieces
        made = {name: np.concatenate(self._blocks.pop(name)) for name in self._pieces}
        of_cells = {name: [cell.get(name) for cell in self._cells] for name in columns if name not in made}
        for name in sorted(of_cells, key=lambda name: None not in of_cells[name]):  # columns that lack values first
            made[name] = repeated(of_cells[name], counts, SHORT.get(name))
        return pd.DataFrame({name: made[name] for name in columns}, copy=False)


def repeated(values: Sequence[Any], counts: IntArray, of: type[np.generic] | None = None) -> Any:
    """A column in which each value is repeated as often as `counts` says; None is a missing value.

    Numbers without missing values have the type `of`, if given; with missing values they are sparse. Texts and lists
    (as text) become categories, and so do booleans if some are missing.
    """
    kinds = {type(value) for value in values}
    if kinds in ({int}, {float}, {int, float}, {bool}):
        return np.repeat(np.array(values, of), counts)
    if kinds <= {int, float, type(None)}:
        return _sparse(values, counts)
    return _categories([str(value) if isinstance(value, list) else value for value in values], counts)


def _sparse(values: Sequence[Any], counts: IntArray) -> "pd.Series[Any]":
    """A sparse column of numbers; missing values take no memory, not even while it is built."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    there = ~np.isnan(numbers)
    rows = np.flatnonzero(np.repeat(there, counts)).astype(np.int32)
    kept = np.repeat(numbers[there], counts[there])
    made = pd.arrays.SparseArray.from_indices  # type: ignore[attr-defined]  # its stubs do not know it yet
    return pd.Series(made(kept, rows, int(counts.sum()), np.nan, kind="block"))


def _categories(values: Sequence[Any], counts: IntArray) -> "pd.Categorical[Any]":
    """A column of categories in the order of their values."""
    known = sorted({value for value in values if value is not None}, key=lambda value: (type(value).__name__, value))
    of_cells = pd.Categorical(values, categories=pd.Index(known))  # its codes have the smallest integer type
    return pd.Categorical.from_codes(np.repeat(of_cells.codes, counts), dtype=of_cells.dtype)
