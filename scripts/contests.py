"""Which policies are told apart: what tables and maps of winners count as a win.

A policy beats another where the mean, the median and an upper quantile of its regret are all less, and the quantiles by
more than their intervals. These are of order statistics and hold for every law, however skewed; no interval of a mean
does (Bahadur and Savage 1956), so a mean must be less and decides nothing alone. All intervals of a table or figure
hold at once with probability 95 %: whom to compare may be chosen after seeing them.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bandits.arrays import FloatArray
from bandits.guarantees import Guarantee
from experiments import intervals
from experiments.intervals import Interval
from experiments.stored import Stored
from experiments.stored_cells import Cells
from scripts.drawing.spec import measured

ERROR = 0.05  # the probability that any of the intervals misses
MIDDLE = 0.5
UPPER = (0.95, 0.8)  # the upper quantile: the first with an interval, since few runs have none of a high one


@dataclass(frozen=True)
class Standing:
    """How a cell did: the mean of a quantity, and intervals of its quantiles by their probability."""

    stored: Stored
    mean: float
    quantiles: Mapping[float, Interval]

    def beats(self, other: "Standing") -> bool:
        """Whether it is told apart from the other, and has less."""
        if self.mean >= other.mean:
            return False
        upper = next((at for at in UPPER if self._below(other, at) is not None), None)
        return upper is not None and bool(self._below(other, upper) and self._below(other, MIDDLE))

    def _below(self, other: "Standing", at: float) -> bool | None:
        """Whether its quantile is surely less; None where there are too few runs to say."""
        high, low = self.quantiles[at].high, other.quantiles[at].low
        return high < low if math.isfinite(high) and math.isfinite(low) else None


def error_of_each(cells: int) -> float:
    """With which probability each interval may miss so that those of so many cells hold at once."""
    return ERROR / (cells * (1 + len(UPPER)))


def standings(cells: Cells, value: str = "regret") -> dict[str, Standing]:
    """How each cell did, by its key. Raises `UserError` where nothing of the `value` is recorded."""
    error = error_of_each(len(cells))
    values = measured(cells, value)
    return {of.cell.key: _standing(of, each.astype(float), error) for of, each in zip(cells, values, strict=True)}


def _standing(stored: Stored, values: FloatArray, error: float) -> Standing:
    if stored.exact:
        quantiles = {at: intervals.exactly(float(values[0])) for at in (MIDDLE, *UPPER)}
    else:
        quantiles = {at: intervals.quantile(values, at, error) for at in (MIDDLE, *UPPER)}
    return Standing(stored, float(values.mean()), quantiles)


def unbeaten(rivals: Iterable[Standing]) -> list[Standing]:
    """Those that no other beats, by their mean, the least first: one alone has won."""
    ordered = sorted(rivals, key=lambda standing: standing.mean)
    return [one for one in ordered if not any(other.beats(one) for other in ordered)]


def entitled(cells: Cells, asked: Guarantee) -> Cells:
    """The cells whose promise implies what is asked for, of each policy those of the largest epsilon that does."""
    able = cells.only(lambda stored: stored.cell.policy.guarantee.implies(asked))
    found = able.grouped(_without_budget).values()
    return Cells(stored for kin in found for stored in kin if _epsilon(stored) == max(map(_epsilon, kin)))


def _epsilon(stored: Stored) -> float:
    return stored.cell.policy.guarantee.epsilon


def _without_budget(stored: Stored) -> str:
    """What a policy is apart from its budget, where it plays and for how long."""
    policy = stored.cell.policy
    parameters = {name: value for name, value in vars(policy).items() if name not in ("epsilon", "delta")}
    return repr((policy.name, parameters, stored.cell.instance, stored.cell.horizon))
