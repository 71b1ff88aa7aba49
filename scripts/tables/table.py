"""What a table is made of, and how its values are written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from experiments import intervals
from experiments.cells import Values
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.intervals import Interval
from experiments.store import stored_cells
from experiments.stored_cells import Cells
from scripts.drawing.numbers import parameter, quantity

ERROR = 0.05  # intervals are 95 % intervals


@dataclass(frozen=True)
class Table:
    """A table of stored results.

    Attributes
    ----------
    frame: texts, parameters, and an `Interval` for every measured number.
    closing: lines below it.
    """

    frame: pd.DataFrame
    closing: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], closing: Sequence[str] = ()) -> Self:
        """One row for each mapping of column to value, the values as they are."""
        return cls(pd.DataFrame(list(rows), dtype=object), closing)

    def text(self, title: str) -> str:
        """The table as a terminal shows it, `title` in the first line."""
        shown = self.frame.map(written).to_string(index=False)
        about = f"{title} In brackets: 95 % intervals." if "[" in shown else title
        return "\n".join([about, shown, *self.closing])

    def numbers(self) -> pd.DataFrame:
        """The table for a program: numbers in full; NAME_low and NAME_high are the ends of the intervals of NAME."""
        columns: dict[str, Any] = {}
        for name, values in self.frame.items():
            columns[str(name)] = [getattr(value, "estimate", value) for value in values]
            if any(isinstance(value, Interval) and value.low != value.high for value in values):
                for end in ("low", "high"):
                    columns[f"{name}_{end}"] = [getattr(value, end, value) for value in values]
        return pd.DataFrame(columns)


def written(value: Any) -> str:
    """A measured number with its interval, without where that has no width; anything else as a parameter."""
    if not isinstance(value, Interval):
        return parameter(value)
    estimate, low, high = map(quantity, value)
    return estimate if estimate == low == high else f"{estimate} [{low} to {high}]"


def measured(values: Values) -> Interval:
    """The mean of a number of each replication, shape (replications,); of yes and no the share."""
    return intervals.estimate(values, ERROR)


def cells_of(*experiments: str) -> Cells:
    """The stored cells of experiments. Raises `UserError` where some are not stored."""
    composer = Composer()
    plans = [plan([f"+experiment={experiment}"], composer) for experiment in experiments]
    return Cells.of(map(stored_cells, plans))
