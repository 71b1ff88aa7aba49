"""Exact laws of single decisions, and divergences between two laws."""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.gauss_legendre import nodes_between
from bandits.exponents import FLOOR, grown
from bandits.mechanisms.truncated_laplace import TruncatedLaplace


class Law(Protocol):
    """The law of a real number: density, distribution function, points between which both are smooth, and support."""

    @property
    def breaks(self) -> FloatArray: ...

    @property
    def support(self) -> tuple[float, float]: ...

    def pdf(self, x: FloatArray) -> FloatArray: ...

    def cdf(self, x: FloatArray) -> FloatArray: ...


class GaussLaw:
    """Normal with this mean and standard deviation."""

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean, self.deviation = mean, deviation

    @property
    def breaks(self) -> FloatArray:
        return self.mean + self.deviation * np.array([-38.0, -12, -9, -6, -4, -2, 0, 2, 4, 6, 9, 12, 38])

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def pdf(self, x: FloatArray) -> FloatArray:
        z = (x - self.mean) / self.deviation
        return np.asarray(np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * self.deviation))

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.ndtr((x - self.mean) / self.deviation))


class BetaLaw:
    """Beta(a, b)."""

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b

    @property
    def breaks(self) -> FloatArray:
        return np.concatenate(
            [[0.0, 1.0], scipy.special.betaincinv(self.a, self.b, [1e-15, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6])]
        )

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    def pdf(self, x: FloatArray) -> FloatArray:
        log = scipy.special.xlogy(self.a - 1, x) + scipy.special.xlog1py(self.b - 1, -x)
        log -= scipy.special.betaln(self.a, self.b)
        return np.where((x >= 0) & (x <= 1), np.exp(log), 0.0)

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.betainc(self.a, self.b, np.clip(x, 0, 1)))


class TruncatedLaw:
    """A `TruncatedLaplace` law."""

    def __init__(self, law: TruncatedLaplace) -> None:
        self.law = law

    @property
    def breaks(self) -> FloatArray:
        law = self.law
        far = min(law.half_width, 720 / (law.count * law.epsilon) if law.epsilon > 0 else math.inf)
        return law.center + far * np.linspace(-1.0, 1.0, 41)

    @property
    def support(self) -> tuple[float, float]:
        return self.law.center - self.law.half_width, self.law.center + self.law.half_width

    def pdf(self, x: FloatArray) -> FloatArray:
        return self.law.pdf(x)

    def cdf(self, x: FloatArray) -> FloatArray:
        return self.law.cdf(x)


def largest_of(laws: Sequence[Law]) -> FloatArray:
    """The probability of each of independent values to be the largest, shape (arms,): int f_a prod F_b.

    It is 0 only if that is impossible: a smaller probability than `FLOOR` becomes `FLOOR`, so that log ratios to it are
    too small and lower bounds stay valid.
    """
    chances = np.empty(len(laws))
    lowest = max(law.support[0] for law in laws)
    for arm, law in enumerate(laws):
        low, high = law.breaks.min(), law.breaks.max()
        inside = np.concatenate([np.clip(other.breaks, low, high) for other in laws])
        nodes, weights = nodes_between(inside)
        below = np.prod([other.cdf(nodes) for rival, other in enumerate(laws) if rival != arm], axis=0)
        chance = float((law.pdf(nodes) * below) @ weights)
        chances[arm] = max(chance, FLOOR) if law.support[1] > lowest else 0.0
    return chances


def epsilon_between(first: FloatArray, second: FloatArray) -> float:
    """The largest absolute log ratio of two laws on the same outcomes, infinite if only one of them is 0 somewhere."""
    possible = (first > 0) | (second > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.abs(np.log(first[possible]) - np.log(second[possible]))))


def delta_between(first: FloatArray, second: FloatArray, epsilon: float) -> float:
    """The smallest delta for which two laws are (epsilon, delta)-close in both directions: hockey-stick divergence."""
    return max(float(np.maximum(p - grown(q, epsilon), 0).sum()) for p, q in ((first, second), (second, first)))
