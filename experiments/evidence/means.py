"""Whether the mean of a stored cell can be trusted, and what it rests on.

No interval of a mean holds for every law (Bahadur and Savage 1956). Student's is approximate, and wrong where rare runs
carry the mean. Two signs warn of that: the policy keeps its sums and the horizon is long, so that runs of probability
1e-6 may decide (`Learner.keeps_sums`), or the largest 1 % of the stored runs hold much of the sum. Intervals of
quantiles and shares (`experiments.intervals.quantile`, `share`) hold for every law.

Where rare runs decide, the mean rests on weighted runs of the same cell (`experiments.cells.weighted`) if such are
stored: the store reads them with the cell.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bandits.arrays import FloatArray
from experiments.cells.weighted import BLOCK, WeightedCell, plain_runs_suffice
from experiments.intervals import Interval, exactly
from experiments.intervals import mean as mean_interval
from experiments.store.stored import Stored

TOP = 0.01  # the share of runs that are called the largest
MOST = 0.5  # the share of the sum that the largest runs may hold
FEWEST = 100  # effective runs with which the mean of weighted runs is trusted


class Method(StrEnum):
    """What the estimate and the interval of a mean rest on."""

    EXACT = "exact"
    PLAIN = "Student, approximate"
    WEIGHTED = "weighted runs; Student, approximate"


@dataclass(frozen=True)
class Mean:
    """The mean of a quantity over all runs of a cell.

    Attributes
    ----------
    interval: the estimate with its ends; approximate unless the method is exact.
    method: what it rests on.
    doubt: why the mean is not to be trusted, in words; empty if it may be shown without a warning, compared or judged.
    """

    interval: Interval
    method: Method
    doubt: str = ""


def top_share(values: FloatArray) -> float:
    """The share of the sum of `values` >= 0, shape (runs,), that the largest 1 % of them hold, at least one run.

    NaN for fewer than 100 runs, of which 1 % is no run, and for a sum of 0.
    """
    runs = len(values)
    total = float(values.sum())
    if runs < 1 / TOP or total == 0:
        return math.nan
    return float(np.sort(values)[-math.ceil(runs * TOP) :].sum()) / total


def weighted_runs_of(stored: Stored, quantity: str | None) -> Stored | None:
    """The weighted runs on which the mean of a `quantity` rests, of the headline if it is None; None for plain runs."""
    if quantity not in (None, WeightedCell.headline):
        return None
    return stored if isinstance(stored.cell, WeightedCell) else stored.weighted


def values_of_mean(stored: Stored, quantity: str | None = None) -> FloatArray:
    """Independent values whose mean estimates that of a `quantity`: of blocks of weighted runs, else of the runs."""
    weighted = weighted_runs_of(stored, quantity)
    if weighted is not None:
        return weighted.headline
    return (stored.headline if quantity is None else stored.measure(quantity)).astype(float)


def effective_runs(weighted: Stored) -> float:
    """Effective number of all runs of a weighted cell: the squared sum of weight x regret over the sum of squares."""
    regret, squares = weighted.rows["regret"], weighted.rows["squares"]
    return BLOCK * float(regret.sum()) ** 2 / float(squares.sum())


def mean_of(stored: Stored, error: float, quantity: str | None = None) -> Mean:
    """The mean of a `quantity` of a cell, by default its headline, and whether it can be trusted.

    `error` is the probability with which the interval may miss, as far as it is right. The mean of regret rests on
    weighted runs if such are stored.
    """
    values = values_of_mean(stored, quantity)
    weighted = weighted_runs_of(stored, quantity)
    if weighted is not None:
        effective = effective_runs(weighted)
        doubt = f"its weighted runs are worth {effective:.0f} only" if effective < FEWEST else ""
        return Mean(mean_interval(values, error), Method.WEIGHTED, doubt)
    if stored.exact:
        return Mean(exactly(float(values[0])), Method.EXACT)
    return Mean(mean_interval(values, error), Method.PLAIN, _doubt(stored, top_share(values)))


def _doubt(stored: Stored, share: float) -> str:
    """Why the mean of plain runs is not to be trusted; empty if there is no reason."""
    if not plain_runs_suffice(stored.cell):
        long = f"at T = {stored.cell.horizon:.0e} runs too rare to be seen may carry the mean"
        return f"{stored.cell.policy.label} keeps its sums: {long}"
    if share > MOST:
        return f"the largest 1 % of runs hold {100 * share:.0f} % of the sum"
    return ""
