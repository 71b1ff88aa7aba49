"""Tables of the report: numbers per cell, run time and provenance."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bandits.arrays import FloatArray
from experiments.cells import BaseCell, Cell, StoppingCell, WorstProfileCell
from experiments.store import Result
from scripts.drawing.sweep import SYMBOLS, estimate
from scripts.report.text import parameter, quantity, seconds, short_commit, whole


@dataclass(frozen=True)
class Entry:
    """One place of a table: what it says, and the number it is sorted by (its text if None)."""

    text: str | Markup
    rank: float | None = None
    kind: str = ""  # a class of the style sheet


@dataclass(frozen=True)
class Column:
    """A column; `choices` offers its different values as a filter."""

    title: str
    numeric: bool = False
    choices: bool = False


@dataclass(frozen=True)
class Table:
    """A table that the page can sort and filter.

    Attributes
    ----------
    stacked: whether its rows become cards where the page is narrow, rather than scroll.
    headed: whether the first column names its row.
    """

    identifier: str
    caption: str
    columns: list[Column]
    rows: list[list[Entry]]
    stacked: bool = False
    headed: bool = False


def number(value: float) -> Entry:
    """A measured number."""
    return Entry(quantity(value), value)


def of_parameter(value: Any) -> Entry:
    """A parameter of a cell, empty where the cell has none of that name."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Entry("")
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return Entry("∞" if value == math.inf else parameter(value), float(value) if numeric else None)


def of_frame(identifier: str, caption: str, frame: pd.DataFrame) -> Table:
    """Any data frame."""
    columns = [Column(str(name).replace("_", " "), pd.api.types.is_numeric_dtype(frame[name])) for name in frame]
    rows = [[_of_item(value) for value in row] for row in frame.itertuples(index=False)]
    return Table(identifier, caption, columns, rows)


def _of_item(value: Any) -> Entry:
    if isinstance(value, bool | np.bool_):
        return Entry("yes" if value else "no")
    if isinstance(value, int | np.integer):
        return Entry(whole(int(value)), float(value))
    if isinstance(value, float | np.floating):
        return number(float(value))
    return Entry("" if value is None else str(value))


def values_of(cell: BaseCell, result: Result) -> FloatArray:
    """What a replication is summed up by: final regret, samples taken, or regret on the worst profile found."""
    if isinstance(cell, StoppingCell):
        return np.asarray(result.rows["samples"], dtype=float)
    if isinstance(cell, WorstProfileCell):
        return result.rows["worst_regret"]
    return result.regret[:, -1]


MEASURES = {
    "regret": "Regret at the horizon",
    "exact": "Regret at the horizon",
    "stopping": "Samples until the rule halts",
    "worst_profile": "Regret on the worst profile found",
}
KNOWN = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon", "record")
HEADS = {"v": "v", "constants": "constants", "start_phase": "start phase"} | SYMBOLS


def of_cells(name: str, cells: Sequence[tuple[BaseCell, Result]]) -> list[Table]:
    """A table for each measure among the cells: mean, interval, median and quantiles of every cell."""
    groups: dict[str, list[tuple[BaseCell, Result]]] = {}
    for cell, result in cells:
        groups.setdefault(MEASURES[cell.record], []).append((cell, result))
    return [_of_group(name, measure, group) for measure, group in groups.items()]


def _of_group(name: str, measure: str, cells: Sequence[tuple[BaseCell, Result]]) -> Table:
    varying = _varying([cell for cell, _ in cells])
    stopping = isinstance(cells[0][0], StoppingCell)
    samples = [values_of(*pair) for pair in cells]
    scale = Scale(np.concatenate(samples))
    columns = [
        Column("policy", choices=True),
        *(Column(HEADS.get(key, key.replace("_", " ")), numeric=_numeric(cells, key)) for key in varying),
        *(
            Column(title, numeric=True)
            for title in ("mean", "95 % low", "95 % high", "median", "5 % of runs", "95 % of runs")
        ),
        *([Column("expired", numeric=True)] if stopping else []),
        Column("runs", numeric=True),
        Column(f"spread of runs, {scale}"),
    ]
    rows = [
        [
            Entry(cell.policy.legend()),
            *(of_parameter(cell.columns.get(key)) for key in varying),
            *_summary(cell, values),
            *(
                [Entry(whole(int(result.rows["expired"].sum())), float(result.rows["expired"].sum()))]
                if stopping
                else []
            ),
            Entry(str(len(values)), len(values)) if cell.repeatable else Entry("exact", math.inf),
            Entry(scale.strip(values), float(np.ptp(np.quantile(values, [0.05, 0.95])))),
        ]
        for (cell, result), values in zip(cells, samples, strict=True)
    ]
    caption = f"{measure}, {len(rows)} cells"
    return Table(f"{name}-{cells[0][0].record}", caption, columns, rows, headed=True)


def _summary(cell: BaseCell, values: FloatArray) -> list[Entry]:
    """Mean, its 95 % interval, median, 5 % and 95 % quantile; only the value itself where it is exact."""
    if not cell.repeatable:
        return [number(float(values[0])), *[Entry("–", math.inf)] * 5]
    return [number(float(item)) for item in (*estimate(values), *np.quantile(values, [0.5, 0.05, 0.95]))]


def _varying(cells: Sequence[BaseCell]) -> list[str]:
    """The budget, and every other column that tells cells of the same policy apart."""
    columns = [cell.columns for cell in cells]
    names = dict.fromkeys(name for of in columns for name in of if name not in KNOWN)
    chosen = ["instance", *(["arms"] if _differ(columns, "arms") else [])]
    chosen += [name for name in names if _differ([of for of in columns if name in of], name)]
    return [*chosen, *(name for name in ("epsilon", "delta") if any(of[name] for of in columns)), "horizon"]


def _differ(columns: Sequence[dict[str, Any]], name: str) -> bool:
    return len({str(of.get(name)) for of in columns}) > 1


def _numeric(cells: Sequence[tuple[BaseCell, Result]], name: str) -> bool:
    values = [cell.columns.get(name) for cell, _ in cells]
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


class Scale:
    """A common axis for the small pictures in the rows of a table; logarithmic where the values need it."""

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

    def strip(self, values: FloatArray) -> Markup:
        """Whiskers from 5 % to 95 %, a box over the middle half, the median as a line."""
        low, first, median, third, high = (
            self.place(value) for value in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        )
        return Markup(
            f'<svg class="strip" viewBox="0 0 120 12" aria-hidden="true"><path d="M{low:.1f} 6H{high:.1f}"/>'
            f'<path class="box" d="M{first:.1f} 6H{third:.1f}"/><path class="mid" d="M{median:.1f} 1V11"/></svg>'
        )


@dataclass(frozen=True)
class Fact:
    """What the report says of a stored cell beyond its experiment."""

    key: str
    policy: str
    label: str
    replications: int
    steps: int
    runs: list[dict[str, Any]]

    @property
    def seconds(self) -> float:
        return sum(run["seconds"] for run in self.runs)


def fact_of(cell: BaseCell, result: Result) -> Fact:
    """Simulated steps are counted where something is simulated step by step: regret and stopping rules."""
    runs = result.footer["runs"]
    stored = runs[-1]["replications"][1]
    steps = 0
    if isinstance(cell, Cell):
        steps = cell.horizon * stored
    elif isinstance(cell, StoppingCell):
        steps = int(result.rows["samples"].sum())
    return Fact(cell.key, cell.policy.name, cell.policy.label, stored, steps, runs)


def run_times(facts: Iterable[Fact]) -> Table:
    """Time per policy, over all cells at hand."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault((fact.policy, fact.label), []).append(fact)
    columns = [Column("policy"), *(Column(title, True) for title in ("cells", "replications", "simulated steps"))]
    columns += [Column(title, True) for title in ("time", "per replication, median cell", "steps per second")]
    rows = []
    for (policy, label), group in sorted(groups.items()):
        replications, steps = sum(fact.replications for fact in group), sum(fact.steps for fact in group)
        total = sum(fact.seconds for fact in group)
        typical = float(np.median([fact.runs[-1]["typical_seconds"] for fact in group]))
        speed = steps / total if total and steps else math.nan
        rows.append(
            [
                Entry(Markup("{} <code>{}</code>").format(label, policy)),
                Entry(whole(len(group)), len(group)),
                Entry(f"{replications:,}", replications),
                Entry(quantity(steps) if steps else "–", steps),
                Entry(seconds(total), total),
                Entry(seconds(typical), typical),
                number(speed),
            ]
        )
    return Table("run-time", "Run time per policy, one core", columns, rows, headed=True)


def commits(facts: Iterable[Fact]) -> Table:
    """Which commits, machines and versions made the stored numbers."""
    groups: dict[tuple[str, bool, str, str], list[tuple[str, int, float]]] = {}
    for fact in facts:
        for run in fact.runs:
            versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
            first, last = run["replications"]
            group = (short_commit(run["commit"]), bool(run["dirty"]), run["platform"], versions)
            groups.setdefault(group, []).append((fact.key, last - first, run["seconds"]))
    columns = [Column("commit"), Column("uncommitted changes", choices=True), Column("platform"), Column("versions")]
    columns += [Column(title, True) for title in ("cells", "replications", "time")]
    rows = []
    for (commit, dirty, platform, versions), parts in groups.items():
        cells, replications = len({key for key, _, _ in parts}), sum(count for _, count, _ in parts)
        total = sum(spent for _, _, spent in parts)
        rows.append(
            [
                Entry(commit, kind="code"),
                Entry("yes" if dirty else "no"),
                Entry(platform),
                Entry(versions),
                Entry(f"{cells:,}", cells),
                Entry(f"{replications:,}", replications),
                Entry(seconds(total), total),
            ]
        )
    return Table("commits", "Commits that made the stored numbers", columns, rows, stacked=True, headed=True)
