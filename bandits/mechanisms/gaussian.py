"""Gaussian differential privacy (Dong, Roth and Su 2022).

A release is `level`-GDP if neighbouring inputs are no easier to distinguish than Normal(0, 1) and Normal(level, 1). The
squares of the levels of several releases add up. A level implies a curve of pairs (epsilon, delta), with delta > 0 for
every epsilon: Gaussian noise is never purely private.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.parameters import ParameterError, require

_DEPTH = 45.0  # integrals end where the integrand has fallen by e^-_DEPTH
_NODES, _WEIGHTS = (points / 2 for points in np.polynomial.legendre.leggauss(80))
_NODES = _NODES + 0.5  # Gauss-Legendre on [0, 1]
LEVELS = (1e-100, 1e100)


def require_level(level: float) -> None:
    """A level of GDP is a number above zero."""
    require(LEVELS[0] <= level <= LEVELS[1], "level", level, "a finite number > 0 (in 1e-100..1e100)")


def require_one(delta: float | None, other: float | None, name: str) -> None:
    """Raise `ParameterError` unless exactly one is given: delta, or the parameter called `name`."""
    if delta is None and other is None:
        raise ParameterError(
            "delta", f"must be a number in (0, 1), or {name} given: Gaussian noise is purely private for no epsilon"
        )
    if delta is not None and other is not None:
        raise ParameterError(name, f"must be null where delta is given, got {other:g}: delta sets it")


def gaussian_delta(level: float, epsilon: float) -> float:
    """The smallest delta for which `level`-GDP implies (`epsilon`, delta)-privacy.

    Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m), m the level (Balle and Wang 2018, Theorem 8; Dong, Roth and
    Su 2022, Corollary 2.13). With z = epsilon/m - m/2 the second term is phi(z) times the integral over s > 0 of
    e^{-(z + m)s - s^2/2}. Where the difference would cancel, it is computed as one integral.
    """
    z = epsilon / level - level / 2
    if z > 1e8:
        return 0.0
    if z < -1:
        return math.erfc(z / math.sqrt(2)) / 2 - _tail(z, z + level, lambda s: np.ones_like(s))
    return _tail(z, z, lambda s: -np.expm1(-level * s))


def level_of_pure(epsilon: float) -> float:
    """The least level of GDP that pure `epsilon`-privacy implies: 2 Phi^-1(e^epsilon / (1 + e^epsilon)).

    Randomised response has exactly this level, and every other epsilon-private mechanism is a post-processing of it
    (bandits/guarantees.md, 6.3). It is about sqrt(pi / 2) epsilon for a small epsilon. Raises `ParameterError` for an
    epsilon below 0 or above 1e50.
    """
    require(0 <= epsilon <= 1e50, "epsilon", epsilon, "a finite number >= 0 (and at most 1e50)")
    if epsilon < 1:
        return float(math.sqrt(8) * scipy.special.erfinv(math.tanh(epsilon / 2)))  # exact where both are near 0
    return float(-2 * scipy.special.ndtri_exp(scipy.special.log_expit(-epsilon)))


def _tail(z: float, slope: float, factor: Callable[[FloatArray], FloatArray]) -> float:
    """phi(z) times the integral over s > 0 of e^{-slope s - s^2/2} factor(s), for a slope of at least -1."""
    end = 2 * _DEPTH / (slope + math.sqrt(slope * slope + 2 * _DEPTH))
    s = end * _NODES
    integral = end * float(np.exp(-slope * s - s * s / 2) * factor(s) @ _WEIGHTS)
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * integral


def gaussian_level(epsilon: float, delta: float) -> float:
    """The largest level of GDP that implies (`epsilon`, `delta`)-privacy, at most a relative 1e-12 too small.

    Raises `ParameterError` for delta = 0, which no level implies.
    """
    require(0 <= epsilon <= 1e50, "epsilon", epsilon, "a finite number >= 0 (and at most 1e50)")
    allowed = "a number in (0, 1) (and at least 1e-100): Gaussian noise is never purely private"
    require(1e-100 <= delta < 1, "delta", delta, allowed)
    return _largest_level(float(epsilon), float(delta))


@cache
def _largest_level(epsilon: float, delta: float) -> float:
    """See `gaussian_level`; cached, as the cells of a sweep ask for the same few pairs many times."""
    low, high = LEVELS
    while high > low * (1 + 1e-13):
        middle = math.sqrt(low) * math.sqrt(high)
        if gaussian_delta(middle, epsilon) > delta:
            high = middle
        else:
            low = middle
    return low
