"""Do stored and fresh replications of a cell follow one law, where bits may differ?

Values that agree to `ROUNDING` are equal. A cell that is computed rather than simulated must agree to `ROUNDING`, or
to the `resolution` of its kind; a search, to its `spread`. For others, fresh replications have numbers beyond those
stored, so the two samples are independent, and an exact two-sample Kolmogorov-Smirnov test at the level `LEVEL` for
each cell needs no law. What can be computed from the rest of a stored row must agree with it, on every platform.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import stats

from bandits.arrays import FloatArray
from experiments.cells import Cell, Rows
from experiments.stored import Stored

LEVEL = 1e-9
ROUNDING = 1e-9
FRESH = 20  # replications


class Outcome(StrEnum):
    """Of a comparison."""

    SAME = "the same"
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Comparison:
    """Whether what is simulated now of a cell is what is stored of it, and in words what was compared."""

    outcome: Outcome
    evidence: str


@dataclass(frozen=True)
class Replayed:
    """One stored replication whose bits differ from what is simulated now, both as rows with that replication alone."""

    stored: Rows
    fresh: Rows


def replications_for(cell: Cell) -> int:
    """How many replications `compare` simulates."""
    return FRESH if cell.repeatable and not cell.spread else 0


def compare(cell: Cell, pair: Replayed, headline: FloatArray, time_left: bool) -> Comparison:
    """Compare what is stored of a cell with what is simulated now: `pair`, or a sample if there is time left.

    `headline` is that of every stored replication.
    """
    apart = _farthest(cell.implied(pair.stored), pair.stored, 0.0)
    if apart > ROUNDING:
        return Comparison(Outcome.DIFFERENT, f"its numbers contradict one another, by a relative {apart:.1e}")
    apart = _farthest(pair.fresh, pair.stored, cell.resolution)
    if apart <= ROUNDING:
        return Comparison(Outcome.SAME, f"values differ by a relative {apart:.1e}, {ROUNDING:g} is allowed")
    if not cell.repeatable:
        return Comparison(
            Outcome.DIFFERENT, f"computed values differ by a relative {apart:.1e}, {ROUNDING:g} is allowed"
        )
    if cell.spread:
        apart = _apart(_headline(cell, pair.fresh), _headline(cell, pair.stored), 0.0)
        outcome = Outcome.SAME if apart <= cell.spread else Outcome.DIFFERENT
        return Comparison(outcome, f"what is found differs by a relative {apart:.1e}, {cell.spread:g} is allowed")
    if least_probability(len(headline), FRESH) >= LEVEL:
        return Comparison(Outcome.NOT_COMPARED, f"not compared, {len(headline)} stored replications are too few")
    if not time_left:
        return Comparison(Outcome.NOT_COMPARED, "not compared, no time left")
    fresh = _fresh(cell, len(headline), len(headline) + FRESH)
    probability = same_law(headline, fresh.headline)
    evidence = f"{FRESH} fresh replications beside {len(headline)} stored: p = {probability:.2g}, level {LEVEL:g}"
    if probability < LEVEL:
        return Comparison(Outcome.DIFFERENT, f"another law; {evidence}")
    return Comparison(Outcome.SAME, f"the same law; {evidence}")


def least_probability(first: int, second: int) -> float:
    """The smallest p-value that samples of these sizes can have."""
    return 2 / math.comb(first + second, first)


def same_law(first: Any, second: Any) -> float:
    """The p-value of the exact two-sample Kolmogorov-Smirnov test, values within rounding taken as equal."""
    values = np.concatenate([first, second]).astype(float)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    steps = np.diff(ordered) > ROUNDING * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])
    return float(stats.ks_2samp(ranks[: len(first)], ranks[len(first) :], method="exact").pvalue)


def _farthest(values: Rows, others: Rows, resolution: float) -> float:
    """The largest relative difference of `values` from the columns of the same names, 0 without any."""
    return max((_apart(of, others[name], resolution) for name, of in values.items()), default=0.0)


def _apart(values: FloatArray, others: FloatArray, resolution: float) -> float:
    """The largest relative difference; none between infinities, and none within the `resolution`."""
    if values.shape != others.shape:
        return math.inf
    one, other = np.asarray(values, dtype=np.float64), np.asarray(others, dtype=np.float64)  # yes or no as 1 or 0
    apart = np.zeros(one.shape)
    np.subtract(one, other, out=apart, where=(one != other) & ~(np.isnan(one) & np.isnan(other)))
    apart[np.abs(apart) <= resolution] = 0.0
    return float(np.max(np.abs(apart) / np.maximum(np.abs(other), 1e-300), initial=0.0))


def _headline(cell: Cell, rows: Rows) -> FloatArray:
    return Stored(dict(rows), {}, cell).headline


def _fresh(cell: Cell, first: int, last: int) -> Stored:
    rows = [cell.replicate(number) for number in range(first, last)]
    return Stored({name: np.array([row[name] for row in rows]) for name in cell.fields}, {}, cell)
