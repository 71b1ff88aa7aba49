"""Forms of claims about differences of two numbers, such as the regret that privacy adds."""

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

from bandits.arrays import FloatArray
from bandits.parameters import require
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.claims.forms import TwoSides, limits, of_ratio
from experiments.claims.results import Results, apart, values_for_mean
from experiments.claims.settings import Setting
from experiments.store.stored import Cells

Samples = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class ExtraGrowth(TwoSides):
    """The factor by which the difference of `numerator` and `denominator` cells grows along a column.

    The difference is that of their mean quantities, for cells that agree in `by` and in the column `along`, between
    neighbouring values of `along`. 1 is a constant difference.
    """

    test: ClassVar[str] = "extra_growth"
    along: str = field(kw_only=True)

    @property
    def measures(self) -> str:
        return f"growth of what is added to {QUANTITIES[self.quantity]}"

    def settings(self, results: Results, error: float) -> list[Setting]:
        steps = []
        for key, (above, below) in self.sides(results).items():
            where = dict(zip(self.by, key, strict=True))
            more, less = self._samples(above), self._samples(below)
            for first, second in itertools.pairwise(sorted(more.keys() & less.keys())):
                ends: tuple[Samples, Samples] = (more[second], less[second]), (more[first], less[first])
                steps.append(({**where, self.along: f"{first:g} to {second:g}"}, ends))
        require(bool(steps), "along", self.along, "a column in several values of which both agree")
        allowed = limits(self.at_least, self.at_most)
        return [
            of_ratio(where, intervals.difference_ratio(*ends, error / len(steps)), *allowed) for where, ends in steps
        ]

    def _samples(self, cells: Cells) -> dict[float, FloatArray]:
        """The quantity of each run at each value of the column."""
        values = [cell.number(self.along) for cell in cells]
        apart(cells, values)
        return {
            value: values_for_mean(cell, self.quantity).astype(float) for value, cell in zip(values, cells, strict=True)
        }
