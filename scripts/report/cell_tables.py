"""The numbers of every stored cell of an experiment, as tables of the report."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.stored import Stored
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.labels import names_behind
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import SYMBOLS
from scripts.report.tables import Column, Entry, PageTable, count, is_number, number, of_parameter

KNOWN = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon", "record")
SUMMARY = ("mean", "95 % low", "95 % high", "median", "5 % of runs", "95 % of runs")


def of_cells(name: str, cells: Sequence[Stored]) -> list[PageTable]:
    """A table for each title among the cells: mean, interval, median and quantiles of every cell."""
    groups: dict[str, list[Stored]] = {}
    for stored in cells:
        groups.setdefault(stored.cell.title, []).append(stored)
    return [_of_group(name, title, group) for title, group in groups.items()]


def _of_group(name: str, title: str, cells: Sequence[Stored]) -> PageTable:
    varying, answers = _varying([stored.columns for stored in cells]), _answers(cells)
    headlines = [stored.headline for stored in cells]
    behind = names_behind(cells)
    strips = Strips(np.concatenate(headlines))
    columns = [
        Column("policy", choices=True),
        *(Column(SYMBOLS.get(key, key.replace("_", " ")), numeric=_numeric(cells, key)) for key in varying),
        *(Column(heading, numeric=True) for heading in SUMMARY),
        *(Column(field.replace("_", " "), numeric=True) for field in answers),
        Column("runs", numeric=True),
        Column(f"spread of runs, {strips}"),
    ]
    rows = [
        [
            Entry(without_mathtext(words.legend(stored.cell.policy)) + behind[stored.cell.policy.name]),
            *(of_parameter(stored.columns.get(key)) for key in varying),
            *_summary(stored),
            *(_times(stored, field) for field in answers),
            Entry("exact", math.inf) if stored.exact else count(stored.replications),
            Entry(strips.draw(values), float(np.ptp(np.quantile(values, [0.05, 0.95])))),
        ]
        for stored, values in zip(cells, headlines, strict=True)
    ]
    return PageTable(f"{name}-{cells[0].cell.record}", f"{title}, {len(rows)} cells", columns, rows, headed=True)


def _answers(cells: Sequence[Stored]) -> list[str]:
    """What is stored of each run as yes or no."""
    fields = dict.fromkeys(item for stored in cells for item in stored.cell.fields.items())
    return [name for name, kind in fields if pa.types.is_boolean(kind)]


def _times(stored: Stored, field: str) -> Entry:
    """How many runs say yes, empty where nothing of the kind is recorded."""
    return count(int(stored.rows[field].sum())) if field in stored.rows else Entry("")


def _summary(stored: Stored) -> list[Entry]:
    """Mean, its 95 % interval, median, 5 % and 95 % quantile; the value alone where there is only one."""
    values = stored.measure(stored.cell.headline)
    if len(values) == 1:
        return [number(float(values[0])), *[Entry("–", math.inf)] * 5]
    quantiles = np.quantile(values.astype(float), [0.5, 0.05, 0.95])
    return [number(float(value)) for value in (*intervals.estimate(values, 0.05), *quantiles)]


def _varying(columns: Sequence[dict[str, Any]]) -> list[str]:
    """The budget, and every other column that tells cells of the same policy apart."""
    names = dict.fromkeys(name for of in columns for name in of if name not in KNOWN)
    chosen = ["instance", *(["arms"] if _differ(columns, "arms") else [])]
    chosen += [name for name in names if _differ([of for of in columns if name in of], name)]
    return [*chosen, *(name for name in ("epsilon", "delta") if any(of[name] for of in columns)), "horizon"]


def _differ(columns: Sequence[dict[str, Any]], name: str) -> bool:
    return len({str(of.get(name)) for of in columns}) > 1


def _numeric(cells: Sequence[Stored], name: str) -> bool:
    values = [stored.columns.get(name) for stored in cells]
    return all(value is None or is_number(value) for value in values)


class Strips:
    """Small pictures in the rows of a table, on a common axis; logarithmic where the values need it."""

    def __init__(self, values: FloatArray) -> None:
        self.low, self.high = float(values.min()), float(values.max())
        self.logarithmic = self.low > 0 and self.high > 50 * self.low

    def __str__(self) -> str:
        return f"{quantity(self.low)} to {quantity(self.high)}{', log' if self.logarithmic else ''}"

    def place(self, value: float) -> float:
        """From 2 to 118, the width of a picture."""
        if self.high <= self.low:
            return 60.0
        if self.logarithmic:
            return 2 + 116 * math.log(value / self.low) / math.log(self.high / self.low)
        return 2 + 116 * (value - self.low) / (self.high - self.low)

    def draw(self, values: FloatArray) -> Markup:
        """Whiskers from 5 % to 95 %, a box over the middle half, the median as a line."""
        low, first, median, third, high = (
            self.place(value) for value in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        )
        return Markup(
            f'<svg class="strip" viewBox="0 0 120 12" aria-hidden="true"><path d="M{low:.1f} 6H{high:.1f}"/>'
            f'<path class="box" d="M{first:.1f} 6H{third:.1f}"/><path class="mid" d="M{median:.1f} 1V11"/></svg>'
        )
