"""Estimates with intervals, at any level: `error` is the probability with which an interval may miss, 0.05 for 95 %."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bandits.arrays import FloatArray


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    estimate: float
    low: float
    high: float


def exactly(value: float) -> Interval:
    """What is computed, not estimated."""
    return Interval(float(value), float(value), float(value))


def mean(values: FloatArray, error: float) -> Interval:
    """Student's interval of the mean of `values`, shape (runs,); of a single run it is infinite."""
    centre = float(values.mean())
    if len(values) == 1:
        return Interval(centre, -math.inf, math.inf)
    half = float(half_width(values.std(ddof=1), len(values), error))
    return Interval(centre, centre - half, centre + half)


def half_width(deviation: Any, runs: int, error: float) -> Any:
    """Half of Student's interval of a mean of `runs` >= 2 runs with this standard deviation, a number or an array."""
    return _student(error, runs - 1) * deviation / math.sqrt(runs)


def share(successes: NDArray[np.bool_], error: float) -> Interval:
    """Clopper and Pearson's interval of the probability of True, from runs, shape (runs,)."""
    count, runs = int(successes.sum()), len(successes)
    low, high = share_ends(runs, error)
    return Interval(count / runs, float(low[count]), float(high[count]))


@lru_cache(maxsize=100)
def share_ends(runs: int, error: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of Clopper and Pearson's interval for 0, 1, ... `runs` successes, shape (runs + 1,) each."""
    count = np.arange(runs + 1)
    low = special.betaincinv(np.maximum(count, 1), runs - count + 1, error / 2)
    high = special.betaincinv(count + 1, np.maximum(runs - count, 1), 1 - error / 2)
    return np.where(count == 0, 0.0, low), np.where(count == runs, 1.0, high)


def ratio(numerator: FloatArray, denominator: FloatArray, error: float) -> Interval:
    """Fieller's interval of mean(numerator) / mean(denominator), independent runs of positive means.

    It holds the values c for which Student's test does not tell the mean of numerator - c denominator from 0, with the
    degrees of freedom of the smaller sample, which is on the safe side. It ends at infinity where the denominator
    cannot be told from 0.
    """
    quantile = _student(error, min(len(numerator), len(denominator)) - 1)
    squares = [quantile**2 * float(values.var(ddof=1)) / len(values) for values in (numerator, denominator)]
    return _fieller(float(numerator.mean()), float(denominator.mean()), squares[0], squares[1], 0.0)


def paired_ratio(numerator: FloatArray, denominator: FloatArray, error: float) -> Interval:
    """The same where both are numbers of the same runs."""
    runs = len(numerator)
    covariance = _student(error, runs - 1) ** 2 * np.cov(numerator, denominator) / runs
    means = float(numerator.mean()), float(denominator.mean())
    return _fieller(*means, float(covariance[0, 0]), float(covariance[1, 1]), float(covariance[0, 1]))


def difference_ratio(
    above: tuple[FloatArray, FloatArray], below: tuple[FloatArray, FloatArray], error: float
) -> Interval:
    """Fieller's interval of (mean a - mean b) / (mean c - mean d), four independent samples, positive differences."""
    quantile = _student(error, min(len(values) for values in (*above, *below)) - 1)
    means = [float(first.mean() - second.mean()) for first, second in (above, below)]
    squares = [quantile**2 * sum(float(of.var(ddof=1)) / len(of) for of in pair) for pair in (above, below)]
    return _fieller(means[0], means[1], squares[0], squares[1], 0.0)


def _fieller(above: float, below: float, above2: float, below2: float, product: float) -> Interval:
    """The c with (above - c below)^2 <= above2 - 2 c product + c^2 below2, for positive means."""
    if above == below == 0:
        return Interval(math.nan, math.nan, math.nan)  # nothing to compare
    a, b, c = below**2 - below2, above * below - product, above**2 - above2
    estimate = above / below if below > 0 else math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        return Interval(estimate, min((b - root) / a, estimate), max((b + root) / a, estimate))
    low = c / (b + root) if b + root > 0 else -math.inf
    return Interval(estimate, min(low, estimate), math.inf)


def slope(x: FloatArray, y: FloatArray, error: float, deviations: FloatArray | None = None) -> Interval:
    """Least-squares slope of log(y) in log(x) and Student's interval, at least 3 points.

    `deviations` are standard errors of `y`, if it is measured: then the interval is not narrower than they make it,
    however well the points happen to lie on a line.
    """
    from scipy import stats

    line = stats.linregress(np.log(x), np.log(y))
    place = np.log(x) - np.log(x).mean()
    noise = 0.0 if deviations is None else float(np.sqrt(((place * deviations / y) ** 2).sum()) / (place**2).sum())
    bent = 0.0 if np.ptp(y) == 0 else float(line.stderr)  # linregress has no error for a constant
    half = _student(error, len(x) - 2) * max(bent, noise)
    return Interval(float(line.slope), float(line.slope) - half, float(line.slope) + half)


def growth_by_octave(x: FloatArray, y: FloatArray, error: float, deviations: FloatArray | None = None) -> Interval:
    """The mean of log2(y(2 x) / y(x)) over all such pairs of the grid `x`, and Student's interval over the pairs.

    The exponent of a y that moves in steps, one over an octave of x: a least-squares slope over few steps
    would be biased by where the grid begins and ends. `deviations` as in `slope`.
    """
    low, high = np.argwhere(np.isclose(x[None, :], 2 * x[:, None], rtol=1e-3)).T
    growth = np.log2(y[high] / y[low])
    weights = (np.bincount(high, minlength=len(x)) - np.bincount(low, minlength=len(x))) / len(growth)
    noise = 0.0 if deviations is None else float(np.sqrt(((weights * deviations / y) ** 2).sum())) / math.log(2)
    half = _student(error, len(growth) - 1) * max(float(growth.std(ddof=1)) / math.sqrt(len(growth)), noise)
    return Interval(float(growth.mean()), float(growth.mean()) - half, float(growth.mean()) + half)


def _student(error: float, freedom: int) -> float:
    if freedom < 1:
        raise ValueError("an interval needs at least 2 runs")
    return float(special.stdtrit(freedom, 1 - error / 2))


def estimate(values: NDArray[Any], error: float) -> Interval:
    """Of a mean: `share` for yes and no, the value itself where there is only one, `mean` otherwise."""
    if values.dtype == bool:
        return share(values, error)
    return exactly(float(values[0])) if len(values) == 1 else mean(values, error)
