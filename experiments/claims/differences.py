"""What a claim says of the difference of two numbers, as of the regret that privacy adds."""

import itertools
from dataclasses import dataclass
from typing import ClassVar

from bandits.arrays import FloatArray
from bandits.parameters import require
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.claims.forms import Form, limits, of_ratio
from experiments.claims.results import Conditions, Results, apart, groups, pick, values_of
from experiments.claims.settings import FAMILY, Setting
from experiments.stored import Stored, require_quantity

Samples = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class ExtraGrowth(Form):
    """The factor by which what `numerator` cells have beyond `denominator` cells grows along a column.

    Both are compared where they agree in `by` and in the column `along`: 1 is an extra that stays.
    """

    test: ClassVar[str] = "extra_growth"
    experiments: tuple[str, ...]
    numerator: Conditions
    denominator: Conditions
    along: str
    by: tuple[str, ...]
    at_least: float | None = None
    at_most: float | None = None
    quantity: str = "regret"

    def __post_init__(self) -> None:
        require_quantity(self.quantity)
        limits(self.at_least, self.at_most)

    @property
    def measures(self) -> str:
        return f"growth of what is added to {QUANTITIES[self.quantity]}"

    def settings(self, results: Results) -> list[Setting]:
        cells = results.cells(self.experiments)
        above = groups(pick(cells, self.numerator, "numerator"), self.by)
        below = groups(pick(cells, self.denominator, "denominator"), self.by)
        steps = []
        for key in (key for key in above if key in below):
            where = dict(zip(self.by, key, strict=True))
            more, less = self._samples(above[key]), self._samples(below[key])
            for first, second in itertools.pairwise(sorted(more.keys() & less.keys())):
                ends: tuple[Samples, Samples] = (more[second], less[second]), (more[first], less[first])
                steps.append(({**where, self.along: f"{first:g} to {second:g}"}, ends))
        require(bool(steps), "along", self.along, "a column in several values of which both agree")
        asked = limits(self.at_least, self.at_most)
        return [
            of_ratio(where, intervals.difference_ratio(*ends, FAMILY / len(steps)), *asked) for where, ends in steps
        ]

    def _samples(self, cells: list[Stored]) -> dict[float, FloatArray]:
        """The quantity of each run at each value of the column."""
        values = [cell.number(self.along) for cell in cells]
        apart(cells, values)
        return {value: values_of(cell, self.quantity).astype(float) for value, cell in zip(values, cells, strict=True)}
