"""Tables of stored results, and how their values are written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from experiments import intervals
from experiments.cells import RunValues
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.intervals import Interval
from experiments.store import stored_cells
from experiments.store.stored import Cells
from scripts.drawing.latex import escaped
from scripts.drawing.numbers import parameter, quantity
from scripts.pages.tables import markdown_table

ERROR = 0.05  # intervals are 95 % intervals
KIND = "approximate for means and ratios (Student, Fieller), right for every law for shares (Clopper and Pearson)"


@dataclass(frozen=True)
class Table:
    """A table of stored results.

    Attributes
    ----------
    frame: texts, parameters, and an `Interval` for every measured number.
    closing: lines below the table.
    """

    frame: pd.DataFrame
    closing: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], closing: Sequence[str] = ()) -> Self:
        """A table with one row for each mapping of column to value."""
        return cls(pd.DataFrame(list(rows), dtype=object), closing)

    def text(self, title: str) -> str:
        """The table as text for a terminal, with `title` as its first line."""
        shown = self.frame.map(written).to_string(index=False)
        about = f"{title} In brackets: 95 % intervals, {KIND}." if "[" in shown else title
        return "\n".join([about, shown, *self.closing])

    def latex(self, title: str) -> str:
        """The table as a `tabular` with the lines of booktabs; its title and closing lines are comments."""
        shown = self.frame.map(_in_latex)
        aligned = "".join("r" if _measured(values) else "l" for _, values in self.frame.items())
        lines = [
            " & ".join(row) + r" \\" for row in ([escaped(str(name)) for name in shown], *shown.to_numpy().tolist())
        ]
        body = [lines[0], r"\midrule", *lines[1:]]
        rules = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]
        comments = [f"% {line}" for text in (title, *self.closing) for line in text.splitlines()]
        return "\n".join([*comments, r"% \usepackage{booktabs}", *rules])

    def markdown(self, title: str) -> str:
        """The table as Markdown, with `title` above it."""
        numeric = [_measured(values) for _, values in self.frame.items()]
        table = markdown_table(list(map(str, self.frame)), self.frame.map(written).to_numpy().tolist(), numeric)
        return "\n".join([title, "", table.rstrip(), *(["", *self.closing] if self.closing else [])])

    def csv(self, title: str) -> str:
        """The `numbers` as comma-separated values; a table for programs has no title."""
        return str(self.numbers().to_csv(index=False)).rstrip("\n")

    def numbers(self) -> pd.DataFrame:
        """The table for programs: all digits; NAME_low and NAME_high are the ends of the intervals of NAME."""
        columns: dict[str, Any] = {}
        for name, column in self.frame.items():
            values = [getattr(value, "value", value) for value in column]
            columns[str(name)] = [getattr(value, "estimate", value) for value in values]
            if any(isinstance(value, Interval) and value.low != value.high for value in values):
                for end in ("low", "high"):
                    columns[f"{name}_{end}"] = [getattr(value, end, value) for value in values]
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Best:
    """A value of a table that is proved to be the best: bold in LaTeX, with a star elsewhere."""

    value: Any


def _in_latex(value: Any) -> str:
    return rf"\textbf{{{escaped(written(value.value))}}}" if isinstance(value, Best) else escaped(written(value))


def _measured(values: Iterable[Any]) -> bool:
    """Whether a column holds numbers."""
    return all(isinstance(getattr(value, "value", value), Interval | int | float) for value in values)


def written(value: Any) -> str:
    """A measured number with its interval, if that has a positive width; anything else as a parameter."""
    if isinstance(value, Best):
        return f"{written(value.value)} *"
    if not isinstance(value, Interval):
        return parameter(value)
    estimate, low, high = map(quantity, value)
    return estimate if estimate == low == high else f"{estimate} [{low} to {high}]"


def mean_with_interval(values: RunValues) -> Interval:
    """The mean over replications with its interval; of yes or no, the share of yes. `values`: shape (replications,)."""
    return intervals.estimate(values, ERROR)


def cells_of(*experiments: str) -> Cells:
    """The stored cells of experiments. Raises `UserError` if some are not stored."""
    composer = Composer()
    plans = [plan([[f"+experiment={experiment}"]], composer)[0] for experiment in experiments]
    return Cells.of(map(stored_cells, plans))
