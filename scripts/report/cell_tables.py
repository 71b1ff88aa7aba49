"""The numbers of every stored cell of an experiment, as tables of the report."""

import math

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.legend import names_behind
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import SYMBOLS
from scripts.pages.tables import Column, PageTable, TableEntry, count, is_number, number, of_parameter

KNOWN = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon", "record")
MOST = 10  # rows of a table; `load` has all
SUMMARY = ("mean", "95 % low", "95 % high", "median", "5 % of runs", "95 % of runs")


def of_cells(name: str, cells: Cells) -> list[PageTable]:
    """Tables of mean, interval, median and quantiles of every cell: one for each kind of cell, by its title."""
    groups = cells.grouped(lambda stored: stored.cell.title)
    return [_of_group(name, title, group) for title, group in groups.items()]


def _of_group(name: str, title: str, cells: Cells) -> PageTable:
    varying, answers, shown = _varying(cells), _answers(cells), cells[:MOST]
    headlines = [stored.headline for stored in shown]
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
            TableEntry(without_mathtext(words.legend_name(stored.cell.policy)) + behind[stored.cell.policy.name]),
            *(of_parameter(stored.columns.get(key)) for key in varying),
            *_summary(stored),
            *(_times(stored, field) for field in answers),
            TableEntry("exact", math.inf) if stored.exact else count(stored.replications),
            TableEntry(strips.draw(values), float(np.ptp(np.quantile(values, [0.05, 0.95])))),
        ]
        for stored, values in zip(shown, headlines, strict=True)
    ]
    said = f"{title}, {len(cells)} cells" + (f", the first {MOST}" if len(cells) > MOST else "")
    return PageTable(f"{name}-{cells[0].cell.record}", said, columns, rows, headed=True)


def _answers(cells: Cells) -> list[str]:
    """The stored columns that are yes or no for each run."""
    fields = dict.fromkeys(item for stored in cells for item in stored.cell.fields.items())
    return [name for name, kind in fields if pa.types.is_boolean(kind)]


def _times(stored: Stored, field: str) -> TableEntry:
    """The number of runs with yes; empty if the cell does not record this column."""
    return count(int(stored.rows[field].sum())) if field in stored.rows else TableEntry("")


def _summary(stored: Stored) -> list[TableEntry]:
    """Mean, its 95 % interval, median, 5 % and 95 % quantile; only the value if there is just one run."""
    values = stored.measure(stored.cell.headline)
    if len(values) == 1:
        return [number(float(values[0])), *[TableEntry("–", math.inf)] * 5]
    quantiles = np.quantile(values.astype(float), [0.5, 0.05, 0.95])
    return [number(float(value)) for value in (*intervals.estimate(values, 0.05), *quantiles)]


def _varying(cells: Cells) -> list[str]:
    """The columns of a table: instance, budget, horizon, and other columns that vary between cells."""
    several = [name for name in cells.columns if len(cells.values(name)) > 1]
    chosen = ["instance", *(["arms"] if "arms" in several else [])]
    chosen += [name for name in several if name not in KNOWN]
    return [*chosen, *(name for name in ("epsilon", "delta") if any(cells.values(name))), "horizon"]


def _numeric(cells: Cells, name: str) -> bool:
    return all(value is None or is_number(value) for value in cells.values(name))


class Strips:
    """Small box plots in the rows of a table, on a common axis; logarithmic if values vary by a factor over 50."""

    def __init__(self, values: FloatArray) -> None:
        self.low, self.high = float(values.min()), float(values.max())
        self.logarithmic = self.low > 0 and self.high > 50 * self.low

    def __str__(self) -> str:
        return f"{quantity(self.low)} to {quantity(self.high)}{', log' if self.logarithmic else ''}"

    def place(self, value: float) -> float:
        """The position of a value on the axis, from 2 to 118 of a width of 120."""
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
            f'<path d="M{first:.1f} 6H{third:.1f}"/><path d="M{median:.1f} 1V11"/></svg>'
        )
