"""Whether replications that were simulated again agree with what is stored: bit by bit, by value or in law.

The same platform gives the same bits. Another processor or mathematical library may round a logarithm differently; the
footer of a results file names the platform that made it. Bits may differ for cells that were stored on another
platform, for instances that are not `portable`, and for cells that are computed rather than simulated, as the rounding
of their sums depends on the processor, which the platform does not name. `compare` compares these by value or in law.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import stats

from bandits.arrays import FloatArray
from experiments.cells import Cell, Rows
from experiments.store.stored import Replications, Stored

LEVEL = 1e-9
ROUNDING = 1e-9
FRESH = 20  # replications


def difference(stored: Replications, fresh: Replications) -> str | None:
    """Where the same replications, stored and simulated again, first differ, in words; None if they do not.

    Where some numbers differ by more than `ROUNDING`, it is the first of these; computed ones may all be rounded
    differently.
    """
    for name, values in stored.rows.items():
        now = fresh.rows[name]
        same = (values == now) | ((values != values) & (now != now))  # NaN
        if same.all():
            continue
        far = ~same & ~np.isclose(values, now, rtol=ROUNDING, atol=0.0)
        replication, *at = np.argwhere(far if far.any() else ~same)[0]
        place = f"replication {stored.numbers[replication]} differs"
        then, computed = values[replication, *at].item(), now[replication, *at].item()
        change = f"{name} {then!r} stored, {computed!r} now"
        return f"{place} from t = {stored.t[at[0]]} on: {change}" if at and name == "regret" else f"{place}: {change}"
    return None


class Agreement(StrEnum):
    """The result of a comparison."""

    SAME = "the same"
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Comparison:
    """Whether a cell as simulated now agrees with what is stored, and in words what was compared."""

    agreement: Agreement
    evidence: str


@dataclass(frozen=True)
class Replayed:
    """The rows of one replication whose bits differ: as stored, and as simulated now."""

    stored: Rows
    fresh: Rows


def replications_for(cell: Cell) -> int:
    """How many replications `compare` may simulate for a cell."""
    return FRESH if cell.repeatable and not cell.spread else 0


def compare(cell: Cell, pair: Replayed, headline: FloatArray, time_left: bool) -> Comparison:
    """Compare what is stored of a cell with what is simulated now: `pair`, or a fresh sample if `time_left`.

    Values that agree to a relative `ROUNDING`, or to the absolute `resolution` of the kind of cell, are equal. A cell
    that is computed rather than simulated must be equal; the headline of a search must agree to a relative `spread`.
    For other cells, `FRESH` new replications are simulated, whose numbers follow those stored, so that the two samples
    are independent, and compared by the exact two-sample Kolmogorov-Smirnov test, at level `LEVEL` for each cell.
    Columns that can be computed from the rest of a stored row must agree with it on every platform.

    Parameters
    ----------
    headline: of every stored replication, shape (replications,).
    """
    apart = _farthest(cell.implied(pair.stored), pair.stored, 0.0)
    if apart > ROUNDING:
        return Comparison(Agreement.DIFFERENT, f"its numbers contradict one another, by a relative {apart:.1e}")
    apart = _farthest(pair.fresh, pair.stored, cell.resolution)
    if apart <= ROUNDING:
        return Comparison(Agreement.SAME, f"values differ by a relative {apart:.1e}, {ROUNDING:g} is allowed")
    if not cell.repeatable:
        return Comparison(
            Agreement.DIFFERENT, f"computed values differ by a relative {apart:.1e}, {ROUNDING:g} is allowed"
        )
    if cell.spread:
        apart = _apart(_headline(cell, pair.fresh), _headline(cell, pair.stored), 0.0)
        agreement = Agreement.SAME if apart <= cell.spread else Agreement.DIFFERENT
        return Comparison(agreement, f"what is found differs by a relative {apart:.1e}, {cell.spread:g} is allowed")
    if least_probability(len(headline), FRESH) >= LEVEL:
        return Comparison(Agreement.NOT_COMPARED, f"not compared, {len(headline)} stored replications are too few")
    if not time_left:
        return Comparison(Agreement.NOT_COMPARED, "not compared, no time left")
    fresh = _fresh(cell, len(headline), len(headline) + FRESH)
    probability = same_law(headline, fresh.headline)
    evidence = f"{FRESH} fresh replications beside {len(headline)} stored: p = {probability:.2g}, level {LEVEL:g}"
    if probability < LEVEL:
        return Comparison(Agreement.DIFFERENT, f"another law; {evidence}")
    return Comparison(Agreement.SAME, f"the same law; {evidence}")


def least_probability(first: int, second: int) -> float:
    """The smallest p-value that samples of these sizes can have."""
    return 2 / math.comb(first + second, first)


def same_law(first: Any, second: Any) -> float:
    """The p-value of the exact two-sample Kolmogorov-Smirnov test; values that agree to `ROUNDING` are ties."""
    values = np.concatenate([first, second]).astype(float)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    steps = np.diff(ordered) > ROUNDING * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])
    return float(stats.ks_2samp(ranks[: len(first)], ranks[len(first) :], method="exact").pvalue)


def _farthest(values: Rows, others: Rows, resolution: float) -> float:
    """The largest relative difference of `values` from the columns of `others` with the same names, 0 without any."""
    return max((_apart(column, others[name], resolution) for name, column in values.items()), default=0.0)


def _apart(values: FloatArray, others: FloatArray, resolution: float) -> float:
    """The largest relative difference; 0 between equal infinities, two NaN, and values within `resolution`."""
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
