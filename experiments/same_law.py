"""Do stored and fresh replications of a cell follow one law, where bits may differ?

Fresh replications have numbers beyond those stored, so the two samples are independent, and an exact two-sample
Kolmogorov-Smirnov test at the level `LEVEL` for each cell needs no law. Values that agree to `ROUNDING` are equal.
A cell that is computed rather than simulated must agree to `ROUNDING`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from experiments.cells import BaseCell

LEVEL = 1e-9
ROUNDING = 1e-9
FRESH = 20  # replications


@dataclass(frozen=True)
class Verdict:
    """Whether the law of a cell is another one, and in words what was compared."""

    different: bool
    told: str


def replications_for(cell: BaseCell) -> int:
    """How many replications `judge` simulates."""
    return FRESH if cell.repeatable else 1


def judge(cell: BaseCell, stored: Any, time_left: bool) -> Verdict:
    """Compare the `stored` headlines of a cell with fresh ones, if there is time left to simulate them."""
    if not time_left:
        return Verdict(False, "not judged, no time left")
    if not cell.repeatable:
        return _compared(stored, cell.headline(_rows(cell, 0, 1)))
    if least_probability(len(stored), FRESH) >= LEVEL:
        return Verdict(False, f"not judged, {len(stored)} stored replications are too few")
    fresh = cell.headline(_rows(cell, len(stored), len(stored) + FRESH))
    probability = same_law(stored, fresh)
    told = f"{FRESH} fresh replications beside {len(stored)} stored: p = {probability:.2g}, level {LEVEL:g}"
    return Verdict(probability < LEVEL, f"{'another' if probability < LEVEL else 'the same'} law; {told}")


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


def _compared(stored: Any, fresh: Any) -> Verdict:
    agree = bool(np.allclose(fresh, stored, rtol=ROUNDING, atol=0))
    worst = float(np.max(np.abs(fresh - stored) / np.maximum(np.abs(stored), 1e-300)))
    return Verdict(not agree, f"computed values differ by a relative {worst:.1e}, {ROUNDING:g} is allowed")


def _rows(cell: BaseCell, first: int, last: int) -> dict[str, Any]:
    rows = [cell.replicate(number) for number in range(first, last)]
    return {name: np.array([row[name] for row in rows]) for name in cell.fields}
