"""Do stored and fresh replications of a cell follow one law, where bits may differ?

Fresh replications have numbers beyond those stored, so the two samples are independent, and an exact two-sample
Kolmogorov-Smirnov test at the level `LEVEL` for each cell needs no law. Values that agree to `ROUNDING` are equal.
A cell that is computed rather than simulated must agree to `ROUNDING`, or to the `resolution` of its kind.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from bandits.arrays import FloatArray
from experiments.cells import Cell, Rows
from experiments.stored import Stored

LEVEL = 1e-9
ROUNDING = 1e-9
FRESH = 20  # replications


@dataclass(frozen=True)
class Comparison:
    """Whether the law of a cell is another one, and in words what was compared."""

    different: bool
    evidence: str


def replications_for(cell: Cell) -> int:
    """How many replications `compare` simulates."""
    return FRESH if cell.repeatable else 1


def compare(cell: Cell, rows: Rows, headline: FloatArray, time_left: bool) -> Comparison:
    """Compare what is stored of a cell with fresh replications, if there is time left to simulate them.

    `headline` is that of every stored replication; of a cell that is computed, `rows` are compared.
    """
    if not time_left:
        return Comparison(False, "not compared, no time left")
    if not cell.repeatable:
        return _rounded(rows, _fresh(cell, 0, 1).rows, cell.resolution)
    if least_probability(len(headline), FRESH) >= LEVEL:
        return Comparison(False, f"not compared, {len(headline)} stored replications are too few")
    fresh = _fresh(cell, len(headline), len(headline) + FRESH)
    probability = same_law(headline, fresh.headline)
    evidence = f"{FRESH} fresh replications beside {len(headline)} stored: p = {probability:.2g}, level {LEVEL:g}"
    return Comparison(probability < LEVEL, f"{'another' if probability < LEVEL else 'the same'} law; {evidence}")


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


def _rounded(stored: Rows, fresh: Rows, resolution: float) -> Comparison:
    """Whether every computed number agrees to `ROUNDING` or, in absolute value, to the `resolution`."""
    worst = max(_apart(values, fresh[name], resolution) for name, values in stored.items())
    return Comparison(
        not worst <= ROUNDING, f"computed values differ by a relative {worst:.1e}, {ROUNDING:g} is allowed"
    )


def _apart(stored: FloatArray, fresh: FloatArray, resolution: float) -> float:
    """The largest relative difference; none between infinities, and none within the `resolution`."""
    apart = np.zeros(stored.shape)
    np.subtract(fresh, stored, out=apart, where=fresh != stored)
    apart[np.abs(apart) <= resolution] = 0.0
    return float(np.max(np.abs(apart) / np.maximum(np.abs(stored), 1e-300)))


def _fresh(cell: Cell, first: int, last: int) -> Stored:
    rows = [cell.replicate(number) for number in range(first, last)]
    return Stored({name: np.array([row[name] for row in rows]) for name in cell.fields}, {}, cell)
