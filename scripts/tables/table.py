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
from experiments.stored import Stored, matches
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


def cells_of(*experiments: str) -> list[Stored]:
    """The stored cells of experiments, each once. Raises `UserError` where some are not stored."""
    composer = Composer()
    found: dict[str, Stored] = {}
    for experiment in experiments:
        found |= {stored.cell.key: stored for stored in stored_cells(plan([f"+experiment={experiment}"], composer))}
    return list(found.values())


def where(cells: Iterable[Stored], **columns: Any) -> list[Stored]:
    """The cells with these values, or any of a list of values, in their columns."""
    return [
        stored for stored in cells if all(matches(stored.columns.get(name), wanted) for name, wanted in columns.items())
    ]


def by(cells: Iterable[Stored], *columns: str) -> list[tuple[tuple[Any, ...], list[Stored]]]:
    """The cells grouped by what is in these columns, in increasing order."""
    groups: dict[tuple[Any, ...], list[Stored]] = {}
    for stored in cells:
        groups.setdefault(tuple(stored.columns[name] for name in columns), []).append(stored)
    return sorted(groups.items())
