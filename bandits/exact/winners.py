"""Quadrature of the probabilities with which arms win, refined until halving the step does not change them.

Laplace and exponential noise have kinks at the sums of losses, so that panels of Gauss-Legendre rules end there.
Gumbel noise has none, and the trapezoidal rule converges exponentially (Trefethen and Weideman 2014).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bandits.arrays import FloatArray, IntArray
from bandits.exact.noisy_values import (
    LARGEST_WORK,
    Binomial,
    FixedValues,
    LatticeValues,
    LawAtNodes,
    QuadratureError,
    Values,
    require_work,
    winning_density,
)

TOLERANCE = 1e-9  # relative change by halving the step; the finer result is returned
_LEVELS = 6  # halvings before giving up
_CHUNK = 1 << 18  # evaluations at a time
_STRIDES_PER_DEVIATION = 16  # cells used per standard deviation of a sum, if not all are
_GENTLE = 8.0  # scale of noise, in cells, from which on a rule begins with two nodes per cell


@dataclass(frozen=True)
class Panels:
    """Intervals [start + left, start + left + width], each with weight `stride`; shapes (panels,)."""

    start: FloatArray
    left: FloatArray
    width: FloatArray
    order: int
    stride: int = 1

    def winners(self, values: Values) -> FloatArray:
        """Probabilities that an arm of a group has the largest value, shape (groups,)."""
        groups = len(values.counts)
        require_work(len(self.start) * self.order * groups, LARGEST_WORK, "evaluations")
        nodes, weights = _gauss_legendre(self.order)
        total = np.zeros(groups)
        step = max(1, _CHUNK // (groups * self.order))
        for first in range(0, len(self.start), step):
            part = slice(first, first + step)
            offset = self.left[part, None] + self.width[part, None] * nodes
            density = winning_density(values.at(self.start[part], offset), values.counts)
            total += (density @ weights) @ self.width[part]
        return total * self.stride


def refined(estimate: Callable[[int], FloatArray], floor: float) -> FloatArray:
    """The first of `estimate`(1), `estimate`(2), ... that is within tolerance and floor of its predecessor."""
    coarse = estimate(0)
    for level in range(1, _LEVELS):
        fine = estimate(level)
        change = np.abs(fine - coarse) - floor
        if np.all(change <= TOLERANCE * fine):
            return fine
        coarse = fine
    worst = float(np.max(change / np.maximum(fine, floor)))
    raise QuadratureError(f"halving the step {_LEVELS - 1} times still changes a probability by {worst:.2g} of itself")


def fixed_winners(values: FixedValues, floor: float) -> FloatArray:
    """Probabilities of the groups with deterministic sums of losses, shape (groups,)."""
    scale = values.scale
    low = 0.0 if values.one_sided else -scale * math.log(1 / floor)
    high = scale * (math.log(1 / floor) + math.log(values.counts.sum()))
    low, high = values.narrow(low, high, floor)
    kinks = np.concatenate([[low, high], -values.lags[(-values.lags > low) & (-values.lags < high)]])
    edges = np.unique(kinks)
    start, width = _divided(edges[:-1], np.diff(edges), scale)
    return refined(lambda level: Panels(start, 0 * start, width, 6 << level).winners(values), floor)


def lattice_winners(values: LatticeValues, floor: float) -> FloatArray:
    """Probabilities of the groups with Laplace, exponential or no noise on binomial sums, shape (groups,)."""
    scale = values.scale
    low, high = _window(values, floor)
    template = _graded(values, low, high, floor) if values.noise == "none" else _within_cell(scale)
    order, widest = (2, scale / _GENTLE) if scale >= _GENTLE else (6, scale)
    if values.noise == "none":
        order, widest = 6, math.inf  # no density between the sums
    panels = _panels(values, low, high, template, widest)
    deviation = math.sqrt(min(sums.variance for sums in values.sums))
    stride = 2 ** max(0, math.floor(math.log2(max(deviation, 1) / _STRIDES_PER_DEVIATION)))
    if (high - low) / stride * len(template[0]) >= len(panels[0]) / 2:
        return refined(lambda level: Panels(*panels, order << level).winners(values), floor)

    def strided(level: int) -> FloatArray:
        """The trapezoidal rule over cells: integrals over a cell depend smoothly on the cell."""
        every = max(1, stride >> level)
        cells = np.arange(low, high, every) + values.anchor
        return Panels(*_in_cells(cells, template), order << level, every).winners(values)

    return refined(strided, floor)


def gumbel_winners(all_sums: tuple[Binomial, ...], counts: FloatArray, scale: float, floor: float) -> FloatArray:
    """Probabilities of the groups with Gumbel(scale) noise on binomial sums, shape (groups,)."""
    # The largest value is near the largest -G or above: the arm with the largest -G has independent noise.
    window = _window(LatticeValues(all_sums, counts, "none", 1.0), floor)
    low = round(window[0]) - math.ceil(scale * math.log(math.log(1 / floor)))
    band = scale * math.log(float(counts.sum()) / floor)
    high = window[1] + band
    first_step = 2.0 ** math.floor(math.log2(scale / 2.5))

    def trapezoidal(level: int) -> FloatArray:
        step = first_step / 2**level
        require_work((high - low) / step * len(all_sums), LARGEST_WORK / 20, "points of the trapezoidal rule")
        points = math.ceil((high - low) / step)
        parts = [_gumbel_law(sums, low, step, points, level, scale, band) for sums in all_sums]
        law = LawAtNodes(*(np.stack([part[index] for part in parts]) for index in range(3)))
        return np.asarray(step * winning_density(law, counts).sum(axis=1))

    return refined(trapezoidal, floor)


def _window(values: LatticeValues, floor: float) -> tuple[float, float]:
    """A window of whole numbers that holds the largest value, except with a probability of a few `floor`."""
    low = float(max(sums.bottom for sums in values.sums) - 1)
    high = float(max(sums.top for sums in values.sums) + 1)
    if values.noise != "none":
        high += math.ceil(values.scale * math.log(float(values.counts.sum()) / floor))
    if values.noise == "laplace":
        low -= math.ceil(values.scale * math.log(1 / floor))
    for _ in range(2):
        low, high = values.narrow(low, high, floor)
    return low, high


def _gumbel_law(
    sums: Binomial, low: int, step: float, points: int, level: int, scale: float, band: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F, S and f of `sums` plus Gumbel noise at low, low + step, ..., shapes (points,); S is 0 beyond `band`."""
    stride = max(1, min(_smooth_stride(sums.variance) >> level, math.floor(step)))
    offset = (low - sums.bottom) % stride  # the sums that are used are on the lattice of the points
    mass = stride * sums.mass[offset::stride]
    bottom = sums.bottom + offset
    if step > stride or points * len(mass) <= 1 << 16:
        return _gumbel_directly(mass, low - bottom, stride, step, points, scale)
    phases = round(stride / step)
    law = [np.empty((math.ceil(points / phases), phases)) for _ in range(3)]
    for phase in range(phases):
        columns = _gumbel_convolved(mass, (bottom - low) // stride, stride, phase * step, len(law[0]), scale, band)
        for array, column in zip(law, columns, strict=True):
            array[:, phase] = column
    cdf, survival, density = (array.ravel()[:points] for array in law)
    return cdf, survival, density


def _gumbel_directly(
    mass: FloatArray, shift: int, stride: int, step: float, points: int, scale: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F, S and f by summation over all pairs of a point and a sum; the first point is `shift` from the first sum.

    `step` and `stride` are powers of two, so that differences of points and sums are on the lattice of the smaller one.
    """
    unit = min(step, stride)
    of_step, of_stride = round(step / unit), round(stride / unit)
    reach = of_stride * (len(mass) - 1)
    law = np.empty((3, points))
    chunk = max(1, _CHUNK // len(mass))
    for first in range(0, points, chunk):
        size = min(chunk, points - first)
        places = of_step * first - reach + np.arange(of_step * (size - 1) + reach + 1)
        kernel = sliding_window_view(_gumbel(np.asarray(shift + unit * places), scale), reach + 1, axis=1)
        law[:, first : first + size] = kernel[:, ::of_step, ::of_stride] @ mass[::-1]
    return law[0], law[1], law[2]


def _gumbel_convolved(
    mass: FloatArray, shift: int, stride: int, phase: float, points: int, scale: float, band: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F, S and f at `phase` + stride * (0, 1, ...) from the first point; the first sum is `shift` strides from it."""
    below = math.ceil(6.5 * scale / stride)  # F is less than exp(-exp(6.5)) < 1e-280 beyond
    above = math.ceil(band / stride)
    require_work(len(mass) * (below + above + 1.0), 10 * LARGEST_WORK, "products of a convolution")
    kernel = _gumbel(stride * np.arange(-below, above + 1.0) + phase, scale)
    wanted = np.arange(points, dtype=np.int64) - shift
    cdf, survival, density = (_taken(np.convolve(mass, row), wanted + below) for row in kernel)
    sums = np.concatenate([[0.0], np.cumsum(mass)])
    rest = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])
    cdf += sums[np.clip(wanted - above, 0, len(mass))]
    survival += rest[np.clip(wanted + below + 1, 0, len(mass))]
    return cdf, survival, density


def _taken(array: FloatArray, index: IntArray) -> FloatArray:
    """array[index], 0 outside of the array."""
    inside = (index >= 0) & (index < len(array))
    return np.where(inside, array[np.where(inside, index, 0)], 0.0)


def _gumbel(x: FloatArray, scale: float) -> FloatArray:
    """F, S and f of Gumbel(scale), shape (3, ...)."""
    z = np.exp(np.minimum(-x / scale, 700.0))
    cdf = np.exp(-z)
    return np.stack([cdf, -np.expm1(-z), z * cdf / scale])


def _smooth_stride(variance: float) -> int:
    """Largest power of two for which sums over every stride-th value alias by e^-40 only.

    The characteristic function of a binomial law is at most exp(-variance (1 - cos t)) in absolute value.
    """
    stride = 1
    while stride < 2**40 and variance * (1 - math.cos(math.pi / stride)) >= 40:
        stride *= 2
    return stride


def _panels(
    values: LatticeValues, low: float, high: float, template: tuple[FloatArray, FloatArray], widest: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Start, left and width of panels: as in the template for cells with sums, of equal width elsewhere."""
    cells: list[FloatArray] = []
    edge, empty = low, []
    for bottom, top in sorted((sums.bottom - 1, sums.top + 1) for sums in values.sums):
        begin, end = max(edge, bottom), min(high, top)
        if end > begin:
            empty.append((edge, begin - edge))
            cells.append(np.arange(begin, end))
            edge = end
    empty.append((edge, max(0.0, high - edge)))
    gaps = np.array(empty)[np.array(empty)[:, 1] > 0].reshape(-1, 2)
    start, width = _divided(gaps[:, 0], gaps[:, 1], widest)
    inner = _in_cells(np.concatenate([*cells, np.empty(0)]) + values.anchor, template)
    outer = (start, 0 * start, width)
    parts = [np.concatenate(pair) for pair in zip(inner, outer, strict=True)]
    return parts[0], parts[1], parts[2]


def _in_cells(cells: FloatArray, template: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The panels of `template` in every cell."""
    left, width = template
    return np.repeat(cells, len(left)), np.tile(left, len(cells)), np.tile(width, len(cells))


def _within_cell(scale: float) -> tuple[FloatArray, FloatArray]:
    """Left ends and widths of panels in a cell, not wider than the noise."""
    edges = np.linspace(0, 1, 1 + math.ceil(1 / scale))
    return edges[:-1], np.diff(edges)


def _graded(values: LatticeValues, low: float, high: float, floor: float) -> tuple[FloatArray, FloatArray]:
    """Panels in a cell that halve towards its right end, where with many arms all the probability is."""
    steepest = 1.0
    cells = np.arange(low, high)
    for part in np.array_split(cells, 1 + len(cells) * len(values.counts) // _CHUNK):
        law = values.at(part + values.anchor, np.zeros((len(part), 1)))
        possible = values.counts @ law.log_cdf()[:, :, 0] > math.log(floor)
        slope = values.counts @ (law.density / np.maximum(law.cdf, 1e-290))[:, :, 0]
        steepest = float(np.max(slope, initial=steepest, where=possible))
    halvings = math.ceil(math.log2(steepest))
    edges = np.concatenate([-(0.5 ** np.arange(halvings + 1)), [0.0]])
    return edges[:-1], np.diff(edges)


def _divided(start: FloatArray, width: FloatArray, largest: float) -> tuple[FloatArray, FloatArray]:
    """Intervals cut into equal parts not wider than `largest`."""
    parts = np.maximum(np.ceil(width / largest), 1).astype(np.int64)
    require_work(float(parts.sum()), LARGEST_WORK / 100, "panels")
    place = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    narrow = np.repeat(width / parts, parts)
    return np.repeat(start, parts) + place * narrow, narrow


@cache
def _gauss_legendre(order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2
