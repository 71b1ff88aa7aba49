"""The numbers of a stored cell that the page shows."""

from dataclasses import dataclass

import numpy as np

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from experiments import intervals
from experiments.evidence.contests import Standing, began, standing
from experiments.evidence.means import Method, mean_of
from experiments.store.stored import Stored

QUANTILES = (0.05, 0.5, 0.95)
ERROR = 0.05  # of each interval of a mean that the page shows
COMPARED = ("regret", "exact", "identification")  # the records whose headline is the better the smaller it is


@dataclass(frozen=True)
class Curve:
    """Regret at the checkpoints `t`: mean, deviation and `QUANTILES`, shape (5, checkpoints)."""

    t: IntArray
    rows: FloatArray


@dataclass(frozen=True)
class Summary:
    """The numbers of a cell.

    Attributes
    ----------
    final: of the headline: mean, deviation and `QUANTILES`, shape (5,). If the mean rests on weighted runs, the
        deviation is chosen so that Student's interval for this number of runs is the interval of the mean.
    method: what the mean rests on.
    doubt: why the mean is not to be trusted; empty if it is.
    standing: what decides contests; None if smaller headlines are not better.
    curve: None for a single checkpoint, or none.
    began: whether every run pulled every arm.
    others: by name of a further quantity, its mean and both ends of its interval.
    """

    key: str
    replications: int
    final: FloatArray
    method: Method
    doubt: str
    standing: Standing | None
    curve: Curve | None
    began: bool
    others: dict[str, intervals.Interval]


def summary(stored: Stored, error: float, more: tuple[str, ...] = ()) -> Summary:
    """The summary of a cell.

    Parameters
    ----------
    error: probability with which each interval of a contest may miss, see `experiments.evidence.contests`.
    more: quantities besides the headline; those that the cell does not record are left out.
    """
    final, mean = _moments(stored.headline[:, None])[:, 0], mean_of(stored, ERROR)
    if mean.method is Method.WEIGHTED:
        half = mean.interval.high - mean.interval.estimate
        final[:2] = mean.interval.estimate, half / intervals.half_width(1.0, stored.replications, ERROR)
    return Summary(
        key=stored.cell.key,
        replications=stored.replications,
        final=final,
        method=mean.method,
        doubt=mean.doubt,
        standing=standing(stored, error) if stored.record in COMPARED else None,
        curve=_curve(stored),
        began=began(stored),
        others=_others(stored, more),
    )


def _moments(values: FloatArray) -> FloatArray:
    """Mean, deviation and quantiles over the runs of `values`, shape (runs, places), as shape (5, places)."""
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return np.stack([values.mean(axis=0), deviation, *np.quantile(values, QUANTILES, axis=0)])


def _curve(stored: Stored) -> Curve | None:
    if "t" not in stored.rows or len(stored.t) < 2:
        return None
    return Curve(stored.t, _moments(stored.regret))


def _others(stored: Stored, names: tuple[str, ...]) -> dict[str, intervals.Interval]:
    estimates = {}
    for name in names:
        try:
            estimates[name] = intervals.estimate(stored.measure(name), ERROR)
        except ParameterError:
            continue
    return estimates
