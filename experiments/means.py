"""Whether the mean of a stored cell can be trusted, and what it rests on.

No interval of a mean holds for every law (Bahadur and Savage 1956). Student's is approximate, and wrong where rare runs
carry the mean. Two signs warn of that: the policy keeps its sums and the horizon is long, so that runs of probability
1e-6 may decide (`Learner.keeps_sums`), or the largest 1 % of the stored runs hold much of the sum. Intervals of
quantiles and shares (`experiments.intervals.quantile`, `share`) hold for every law.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.intervals import Interval
from experiments.store.stored import Stored

LONG = 10**9  # the horizon from which on no number of plain runs shows the mean of a policy that keeps its sums
TOP = 0.01  # the share of runs that are called the largest
MOST = 0.5  # the share of the sum that the largest runs may hold


class Method(StrEnum):
    """What the estimate and the interval of a mean rest on."""

    EXACT = "exact"
    PLAIN = "Student, approximate"


@dataclass(frozen=True)
class Mean:
    """The mean of a quantity over all runs of a cell.

    Attributes
    ----------
    interval: the estimate with its ends; approximate unless the method is exact.
    method: what it rests on.
    doubt: why the mean is not to be trusted, in words; empty if it is.
    top_share: the share of the sum that the largest 1 % of the stored runs hold; NaN for other methods.
    """

    interval: Interval
    method: Method
    doubt: str = ""
    top_share: float = math.nan

    @property
    def trusted(self) -> bool:
        """Whether the mean may be shown without a warning, compared or judged."""
        return not self.doubt


def top_share(values: FloatArray) -> float:
    """The share of the sum of `values` >= 0, shape (runs,), that the largest 1 % of them hold, at least one run.

    NaN for fewer than 100 runs, of which 1 % is no run, and for a sum of 0.
    """
    runs = len(values)
    total = float(values.sum())
    if runs < 1 / TOP or total == 0:
        return math.nan
    return float(np.sort(values)[-math.ceil(runs * TOP) :].sum()) / total


def plain_mean_suffices(stored: Stored) -> bool:
    """Whether plain runs can show the mean of this cell at all, by what is known before they are seen."""
    return stored.exact or not (stored.cell.policy.keeps_sums and stored.cell.horizon >= LONG)


def mean_of(stored: Stored, error: float, quantity: str | None = None) -> Mean:
    """The mean of a `quantity` of a cell, by default its headline, and whether it can be trusted.

    `error` is the probability with which the interval may miss, as far as it is right.
    """
    values = (stored.headline if quantity is None else stored.measure(quantity)).astype(float)
    if stored.exact:
        return Mean(intervals.exactly(float(values[0])), Method.EXACT)
    share = top_share(values)
    return Mean(intervals.mean(values, error), Method.PLAIN, _doubt(stored, share), share)


def _doubt(stored: Stored, share: float) -> str:
    """Why the mean of plain runs is not to be trusted; empty if there is no reason."""
    if not plain_mean_suffices(stored):
        long = f"at T = {stored.cell.horizon:.0e} runs too rare to be seen may carry the mean"
        return f"{stored.cell.policy.label} keeps its sums: {long}"
    if share > MOST:
        return f"the largest 1 % of runs hold {100 * share:.0f} % of the sum"
    return ""
