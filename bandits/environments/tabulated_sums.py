"""The law of a sum of many independent rewards, tabulated from the characteristic function of one of them.

The density of the sum is a Fourier sum, interpolated linearly on a fine grid.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bandits.arrays import FloatArray

_SPAN = 48.0  # standard deviations over which the density is tabulated
_BELOW = 16.0  # of these, the standard deviations below the mean
_FREQUENCIES = 512  # multiples of 2 pi / _SPAN at which the characteristic function is taken
_POINTS = 2**15  # of the table


@dataclass(frozen=True)
class LawOfSum:
    """The tabulated law of a sum: linear density between equally spaced points.

    Attributes
    ----------
    mean, deviation: of the sum.
    density: of the standardised sum, shape (points,).
    trusted: whether the characteristic function and the density are close to 0 at the ends of their
        tables, so that nothing was truncated.
    """

    mean: float
    deviation: float
    density: FloatArray
    trusted: bool

    @cached_property
    def cumulative(self) -> FloatArray:
        """Mass up to the end of each cell between two points, shape (points - 1,)."""
        return np.asarray(np.cumsum((self.density[:-1] + self.density[1:]) / 2))

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws of the sum, shape (size,)."""
        cell = np.searchsorted(self.cumulative, rng.random(size) * self.cumulative[-1], side="right")
        left, right = self.density[cell], self.density[cell + 1]
        share = rng.random(size)
        # The share of a cell with a linear density, from `left` to `right`, solves a quadratic equation.
        inside = share * (left + right) / (left + np.sqrt(left**2 + share * (right**2 - left**2)))
        return np.asarray(self.mean + self.deviation * (_SPAN / _POINTS * (cell + inside) - _BELOW))


def tabulate(
    mean: float, variance: float, terms: int, centred_log_transform: Callable[[FloatArray], NDArray[np.complex128]]
) -> LawOfSum:
    """The law of the sum of `terms` rewards Y with this mean and variance, by a Fourier series on the table's span.

    `centred_log_transform(f)` is log E exp(i f Y) - i f E Y.
    """
    deviation = math.sqrt(terms * variance)
    frequencies = np.asarray(2 * math.pi / _SPAN * np.arange(1, _FREQUENCIES + 1), dtype=np.float64)
    transform = np.exp(terms * centred_log_transform(frequencies / deviation))
    coefficients = np.zeros(_POINTS, dtype=complex)
    coefficients[0] = 1.0
    coefficients[1 : _FREQUENCIES + 1] = 2 * transform * np.exp(1j * frequencies * _BELOW)
    density = np.maximum(np.fft.fft(coefficients).real / _SPAN, 0.0)
    trusted = bool(abs(transform[-1]) < 1e-12 and max(density[0], density[-1]) < 1e-12)
    return LawOfSum(terms * mean, deviation, density, trusted)


def sine_minus_angle(angles: FloatArray) -> FloatArray:
    """sin(a) - a, by its series where the difference would cancel."""
    difference = np.asarray(np.sin(angles) - angles)
    small = np.abs(angles) < 0.5
    a = angles[small]
    square = a**2
    series = 1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    difference[small] = -a * square / 6 * series
    return difference


def log1p_minus(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """log(1 + z) - z, by its series where the difference would cancel."""
    series = np.zeros_like(z)
    for order in range(24, 1, -1):
        series = z * series + (-1) ** (order + 1) / order
    return np.where(np.abs(z) < 0.1, z**2 * series, np.log1p(z) - z)
