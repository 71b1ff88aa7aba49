"""When one policy beats another, for the atlas and for maps of winners.

A policy beats another if the mean, the median and an upper quantile of its regret are all smaller, and the intervals of
both quantiles are disjoint. These intervals are of order statistics and valid for every law, however skewed. No
interval of a mean is (Bahadur and Savage 1956), so a smaller mean is necessary but never sufficient. All intervals of a
table or figure hold simultaneously with probability 95 %, so that comparisons may be chosen after seeing the results.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bandits.arrays import FloatArray
from bandits.guarantees import Guarantee
from bandits.learner import Learner
from experiments import intervals
from experiments.intervals import Interval
from experiments.store.stored import Stored
from experiments.store.stored_cells import Cells
from scripts.drawing.spec import measured

ERROR = 0.05  # the probability that any of the intervals misses
MIDDLE = 0.5
BUDGET = ("epsilon", "delta", "rho")  # parameters of policies
UPPER = (0.95, 0.8)  # the upper quantile is the first that has a finite interval; few runs have none for 0.95


@dataclass(frozen=True)
class Standing:
    """The result of a cell: the mean of a quantity, and intervals of its quantiles, by their probability."""

    stored: Stored
    mean: float
    quantiles: Mapping[float, Interval]

    def beats(self, other: "Standing") -> bool:
        """Whether it beats the other, as the docstring of this module defines."""
        if self.mean >= other.mean:
            return False
        upper = next((at for at in UPPER if self._below(other, at) is not None), None)
        return upper is not None and bool(self._below(other, upper) and self._below(other, MIDDLE))

    def _below(self, other: "Standing", at: float) -> bool | None:
        """Whether the interval of its quantile is below the other's; None if there are too few runs for intervals."""
        high, low = self.quantiles[at].high, other.quantiles[at].low
        return high < low if math.isfinite(high) and math.isfinite(low) else None


def error_of_each(cells: int) -> float:
    """The error probability of each interval with which the intervals of all cells hold simultaneously."""
    return ERROR / (cells * (1 + len(UPPER)))


def standings(cells: Cells, value: str = "regret", together: int | None = None) -> dict[str, Standing]:
    """The standing of each cell, by its key. Raises `UserError` if a cell does not record the `value`.

    `together` is the number of cells whose intervals hold simultaneously, if there are more than these.
    """
    error = error_of_each(len(cells) if together is None else together)
    values = measured(cells, value)
    return {of.cell.key: standing(of, each.astype(float), error) for of, each in zip(cells, values, strict=True)}


def standing(stored: Stored, values: FloatArray, error: float) -> Standing:
    """The standing of a cell by the `values` of its runs; each of its intervals misses with probability `error`."""
    if stored.exact:
        quantiles = {at: intervals.exactly(float(values[0])) for at in (MIDDLE, *UPPER)}
    else:
        quantiles = {at: intervals.quantile(values, at, error) for at in (MIDDLE, *UPPER)}
    return Standing(stored, float(values.mean()), quantiles)


def unbeaten(rivals: Iterable[Standing]) -> list[Standing]:
    """Those that no other beats, in order of their mean; if there is only one, it is the winner."""
    ordered = sorted(rivals, key=lambda standing: standing.mean)
    return [one for one in ordered if not any(other.beats(one) for other in ordered)]


def entitled(cells: Cells, asked: Guarantee) -> Cells:
    """The cells whose guarantee implies `asked`, of each policy only those with the largest such epsilon."""
    able = cells.only(lambda stored: stored.cell.policy.guarantee.implies(asked))
    found = able.grouped(_without_budget).values()
    return Cells(stored for kin in found for stored in kin if _epsilon(stored) == max(map(_epsilon, kin)))


def _epsilon(stored: Stored) -> float:
    return stored.cell.policy.guarantee.epsilon


def _without_budget(stored: Stored) -> str:
    """A key of a cell without its budget: policy, its other parameters, instance and horizon."""
    return repr((form_of(stored.cell.policy), stored.cell.instance, stored.cell.horizon))


def form_of(policy: Learner[Any]) -> str:
    """A key of a policy without its budget: its name and other parameters."""
    return repr((policy.name, {name: value for name, value in vars(policy).items() if name not in BUDGET}))
