"""Estimates with intervals, at any level: `error` is the probability with which an interval may miss, 0.05 for 95 %."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from bandits.arrays import FloatArray

ROUNDING = 1e-12  # relative error of a sum of regrets


class Interval(NamedTuple):
    """An estimate and the ends of its interval."""

    estimate: float
    low: float
    high: float


class Approximate(Interval):
    """An interval that rests on the normal limit of means, Student's or Fieller's: it does not hold for every law."""

    __slots__ = ()


def exactly(value: float) -> Interval:
    """The interval of a number that is computed, not estimated: the number itself."""
    return Interval(float(value), float(value), float(value))


def mean(values: FloatArray, error: float) -> Interval:
    """Student's interval of the mean of `values`, shape (runs,); of a single run it is infinite."""
    centre = float(values.mean())
    if len(values) == 1:
        return Approximate(centre, -math.inf, math.inf)
    half = float(half_width(values.std(ddof=1), len(values), error))
    return Approximate(centre, centre - half, centre + half)


def half_width(deviation: Any, runs: int, error: float) -> Any:
    """Half the width of Student's interval of a mean of `runs` >= 2 runs; `deviation` is a number or an array."""
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
    low = scipy.special.betaincinv(np.maximum(count, 1), runs - count + 1, error / 2)
    high = scipy.special.betaincinv(count + 1, np.maximum(runs - count, 1), 1 - error / 2)
    return np.where(count == 0, 0.0, low), np.where(count == runs, 1.0, high)


def quantile(values: FloatArray, probability: float, error: float) -> Interval:
    """An interval of the quantile at `probability` between two order statistics, which holds for every law.

    Of n independent runs, shape (n,), the r-th smallest is above the quantile with a probability of at most that of
    fewer than r successes in n trials; an end is infinite where even the extreme run would miss too often.
    """
    return quantiles(values, [probability], error)[probability]


def quantiles(values: FloatArray, probabilities: Sequence[float], error: float) -> dict[float, Interval]:
    """`quantile` at several probabilities, each with this `error`; the values are sorted once."""
    ordered = np.sort(values)
    intervals = {}
    for probability, estimate in zip(probabilities, np.quantile(ordered, probabilities).tolist(), strict=True):
        first, last = _ranks(len(values), probability, error)
        low = float(ordered[first - 1]) if first >= 1 else -math.inf
        high = float(ordered[last - 1]) if last <= len(values) else math.inf
        intervals[probability] = Interval(estimate, low, high)
    return intervals


@lru_cache(maxsize=1000)
def _ranks(runs: int, probability: float, error: float) -> tuple[int, int]:
    """The ranks of both ends; 0 and runs + 1 stand for infinite ends."""
    at_most = scipy.special.bdtr(np.arange(runs), runs, probability)  # successes <= 0, 1, ..., runs - 1
    more = scipy.special.bdtrc(np.arange(runs), runs, probability)  # successes > 0, 1, ...
    return int((at_most <= error / 2).sum()), int((more > error / 2).sum()) + 1


def share_at_most(samples: Sequence[FloatArray], values: FloatArray, error: float) -> tuple[FloatArray, ...]:
    """The share of runs with at most each of `values`, mean over independent samples, and both ends of its interval.

    A performance profile (Agarwal et al. 2021, section 4.2, as run-score distribution). The interval is the normal one
    of a mean of shares, in place of their bootstrap. Shapes (values,).
    """
    counts = [np.searchsorted(np.sort(sample), values, side="right") for sample in samples]
    shares = np.array([count / len(sample) for count, sample in zip(counts, samples, strict=True)])
    sizes = np.array([len(sample) for sample in samples])[:, None]
    deviation = np.sqrt((shares * (1 - shares) / sizes).sum(axis=0)) / len(samples)
    centre, half = shares.mean(axis=0), _normal(error) * deviation
    return centre, np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def probability_of_less(first: Sequence[FloatArray], second: Sequence[FloatArray], error: float) -> Interval:
    """The probability that a run of `first` has less than one of `second`, ties counted half, mean over the pairs.

    Agarwal et al. (2021), section 4.3: Mann and Whitney's statistic. The interval is the normal one with the variance
    of DeLong, DeLong and Clarke-Pearson (1988), in place of their bootstrap. At least 2 runs each.
    """
    estimates, variances = [], []
    for above, below in zip(first, second, strict=True):
        of_above, of_below = _chances(above, below), 1 - _chances(below, above)
        estimates.append(float(of_above.mean()))
        variances.append(float(of_above.var(ddof=1)) / len(above) + float(of_below.var(ddof=1)) / len(below))
    centre = float(np.mean(estimates))
    half = _normal(error) * math.sqrt(sum(variances)) / len(estimates)
    return Approximate(centre, max(centre - half, 0.0), min(centre + half, 1.0))


def _chances(values: FloatArray, others: FloatArray) -> FloatArray:
    """The share of `others` above each of `values`, ties counted half."""
    ordered = np.sort(others)
    at_most, below = (np.searchsorted(ordered, values, side=side) for side in ("right", "left"))
    return np.asarray(1 - (at_most + below) / 2 / len(others))


def _normal(error: float) -> float:
    return float(-scipy.special.ndtri(error / 2))


def ratio(numerator: FloatArray, denominator: FloatArray, error: float) -> Interval:
    """Fieller's interval of mean(numerator) / mean(denominator), independent runs of positive means: none is below 0.

    It holds the values c for which Student's test does not distinguish the mean of numerator - c denominator from 0,
    with the degrees of freedom of the smaller sample, which is conservative. It ends at infinity where the denominator
    may be 0.
    """
    quantile = _student(error, min(len(numerator), len(denominator)) - 1)
    squares = [quantile**2 * float(values.var(ddof=1)) / len(values) for values in (numerator, denominator)]
    estimate, low, high = _fieller(float(numerator.mean()), float(denominator.mean()), squares[0], squares[1], 0.0)
    return Approximate(estimate, max(low, 0.0), high)


def paired_ratio(numerator: FloatArray, denominator: FloatArray, error: float) -> Interval:
    """As `ratio`, if numerator and denominator are measured in the same runs."""
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
    squares = [quantile**2 * sum(float(sample.var(ddof=1)) / len(sample) for sample in pair) for pair in (above, below)]
    return _fieller(means[0], means[1], squares[0], squares[1], 0.0)


def _fieller(above: float, below: float, above2: float, below2: float, product: float) -> Interval:
    """The c with (above - c below)^2 <= above2 - 2 c product + c^2 below2, for positive means."""
    if above == below == 0:
        return Approximate(math.nan, math.nan, math.nan)  # nothing to compare
    a, b, c = below**2 - below2, above * below - product, above**2 - above2
    estimate = above / below if below > 0 else math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        return Approximate(estimate, min((b - root) / a, estimate), max((b + root) / a, estimate))
    low = c / (b + root) if b + root > 0 else -math.inf
    return Approximate(estimate, min(low, estimate), math.inf)


def slope(x: FloatArray, y: FloatArray, error: float, deviations: FloatArray | None = None) -> Interval:
    """Least-squares slope of log(y) in log(x) and Student's interval, at least 3 points.

    `deviations` are standard errors of `y`, if it is measured: then the interval is not narrower than they make it,
    however well the points happen to lie on a line.
    """
    line = scipy.stats.linregress(np.log(x), np.log(y))
    place = np.log(x) - np.log(x).mean()
    noise = 0.0 if deviations is None else float(np.sqrt(((place * deviations / y) ** 2).sum()) / (place**2).sum())
    bent = 0.0 if np.ptp(y) == 0 else float(line.stderr)  # linregress has no error for a constant
    half = _student(error, len(x) - 2) * max(bent, noise)
    return Approximate(float(line.slope), float(line.slope) - half, float(line.slope) + half)


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
    return Approximate(float(growth.mean()), float(growth.mean()) - half, float(growth.mean()) + half)


def _student(error: float, freedom: int) -> float:
    if freedom < 1:
        raise ValueError("an interval needs at least 2 runs")
    return float(scipy.special.stdtrit(freedom, 1 - error / 2))


def estimate(values: NDArray[Any], error: float) -> Interval:
    """The interval of a mean: by `share` for booleans, the value itself if there is only one, else by `mean`."""
    if values.dtype == bool:
        return share(values, error)
    return exactly(float(values[0])) if len(values) == 1 else mean(values, error)
