"""Sums of many truncated Pareto rewards without drawing each of them.

Up to `WALKED` terms are drawn one by one. Beyond, the sum is drawn from its density, found from its
characteristic function by a Fourier sum and interpolated linearly on a fine grid. What this costs in
total variation is below `TOTAL_VARIATION` for each sum; `tests/test_pareto_sums.py` checks it by
halving every step and against plain loops.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bandits.compiled import compiled
from bandits.types import FloatArray

WALKED = 100_000
TOTAL_VARIATION = 1e-6

_SPAN = 48.0  # the density is tabulated over so many standard deviations ...
_BELOW = 16.0  # ... beginning so many below the mean
_FREQUENCIES = 512  # multiples of 2 pi / _SPAN at which the characteristic function is taken
_POINTS = 2**15  # of the table
_NODES = 64  # Gauss-Legendre nodes in each of
_PIECES = 48  # pieces, equally long in log x, of the integrals over the reward


def truncated_pareto_sum(scale: float, shape: float, bound: float, terms: int, rng: np.random.Generator) -> float:
    """The sum of x 1{x <= bound} over `terms` independent Pareto(`shape`) rewards x >= `scale`."""
    if bound <= scale:
        return 0.0
    if terms <= WALKED or math.isinf(bound):
        return walked_sum(scale, shape, bound, terms, rng)
    law = law_of_sum(scale, shape, bound, terms)
    return law.draw(rng) if law.trusted else walked_sum(scale, shape, bound, terms, rng)


@compiled
def walked_sum(scale: float, shape: float, bound: float, terms: int, rng: np.random.Generator) -> float:
    """The same sum, reward by reward."""
    total = 0.0
    for _ in range(terms):
        reward = scale * math.exp(rng.standard_exponential() / shape)
        if reward <= bound:
            total += reward
    return total


def truncated_moments(scale: float, shape: float, bound: float) -> tuple[float, float]:
    """E x 1{x <= bound} and E x^2 1{x <= bound} of a Pareto reward."""

    def moment(order: float) -> float:
        power = order - shape
        integral = math.log(bound / scale) if abs(power) < 1e-9 else (bound**power - scale**power) / power
        return float(shape * scale**shape * integral)

    return moment(1), moment(2)


@dataclass(frozen=True)
class LawOfSum:
    """The tabulated law of a sum: linear density between equally spaced points.

    Attributes
    ----------
    mean, deviation: of the sum.
    density: of the standardised sum, shape (points,).
    cumulative: mass of the table up to the end of each cell, shape (points - 1,).
    trusted: whether the characteristic function and the density have died out at the ends of their
        tables, so that nothing was cut off.
    """

    mean: float
    deviation: float
    density: FloatArray
    cumulative: FloatArray
    trusted: bool

    def draw(self, rng: np.random.Generator) -> float:
        """One draw of the sum."""
        cell = int(np.searchsorted(self.cumulative, rng.random() * self.cumulative[-1], side="right"))
        left, right = self.density[cell], self.density[cell + 1]
        share = rng.random()
        # The share of a cell with a linear density, from `left` to `right`, solves a quadratic equation.
        inside = share * (left + right) / (left + math.sqrt(left**2 + share * (right**2 - left**2)))
        return self.mean + self.deviation * (_SPAN / _POINTS * (cell + float(inside)) - _BELOW)


@lru_cache(maxsize=256)
def law_of_sum(scale: float, shape: float, bound: float, terms: int) -> LawOfSum:
    """The law of the sum of x 1{x <= bound} over `terms` Pareto rewards, by a Fourier series on the table's span."""
    first, second = truncated_moments(scale, shape, bound)
    deviation = math.sqrt(terms * (second - first**2))
    frequencies = np.asarray(2 * math.pi / _SPAN * np.arange(1, _FREQUENCIES + 1), dtype=np.float64)
    transform = np.exp(terms * _centred_log_transform(scale, shape, bound, frequencies / deviation))
    coefficients = np.zeros(_POINTS, dtype=complex)
    coefficients[0] = 1.0
    coefficients[1 : _FREQUENCIES + 1] = 2 * transform * np.exp(1j * frequencies * _BELOW)
    density = np.maximum(np.fft.fft(coefficients).real / _SPAN, 0.0)
    trusted = bool(abs(transform[-1]) < 1e-12 and max(density[0], density[-1]) < 1e-12)
    return LawOfSum(terms * first, deviation, density, np.cumsum((density[:-1] + density[1:]) / 2), trusted)


def _centred_log_transform(scale: float, shape: float, bound: float, frequencies: FloatArray) -> NDArray[np.complex128]:
    """log E exp(i f Y) - i f E Y of one truncated reward Y, without cancellation for small f.

    With Y = x 1{x <= bound}: E exp(i f Y) = 1 + i f E Y + w, w = E[cos(f Y) - 1] + i E[sin(f Y) - f Y].
    """
    log_x, weights = _log_nodes(scale, bound)
    x = np.exp(log_x)
    probability = weights * shape * scale**shape * x**-shape  # of the node: density times dx, dx = x dlog x
    angles = frequencies[:, None] * x
    w = -2 * np.sin(angles / 2) ** 2 @ probability + 1j * (_sine_minus_angle(angles) @ probability)
    z = w + 1j * frequencies * (x @ probability)
    return np.asarray(w + _log1p_minus(z))


def _log_nodes(scale: float, bound: float) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre nodes and weights in log x between `scale` and `bound`."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(math.log(scale), math.log(bound), _PIECES + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def _sine_minus_angle(angles: FloatArray) -> FloatArray:
    """sin(a) - a, by its series where the difference would cancel."""
    square = angles**2
    series = -angles * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110))))
    return np.where(np.abs(angles) < 0.5, series, np.sin(angles) - angles)


def _log1p_minus(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """log(1 + z) - z, by its series where the difference would cancel."""
    series = np.zeros_like(z)
    for order in range(24, 1, -1):
        series = z * series + (-1) ** (order + 1) / order
    return np.where(np.abs(z) < 0.1, z**2 * series, np.log1p(z) - z)
