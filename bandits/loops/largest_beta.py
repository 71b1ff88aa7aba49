"""The probability of each of several independent Beta variables to be the largest, by quadrature.

On the scale y = log(x / (1 - x)) a Beta(a, b) variable has the mode c = log(a / b), the spread s = sqrt(1/a + 1/b)
there, and the density

    peak exp(-n D(y - c)),   D(u) = log(1 + p (e^u - 1)) - p u,   n = a + b,   p = a / n,
    peak = exp(r(a + b) - r(a) - r(b)) / (s sqrt(2 pi)),   r the error of Stirling's formula for log Gamma,

without cancellation for any n. It is log-concave and falls to a negligible part of its peak within a few spreads.
The range is cut into panels, each as narrow as the narrowest density there needs. On a panel every density is
interpolated by a polynomial at Gauss-Legendre nodes, and integrals of this polynomial up to a node are exact.
Probabilities have errors of about 1e-13.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from bandits.arrays import FloatArray, IntArray
from bandits.compiled import borrowing, compiled

NODES = 10  # of a panel
PANEL = 1.25  # largest width of a panel, in spreads
NEGLIGIBLE = 40.0  # a density below exp(-40) times its peak counts as 0
SMALL = 16.0  # below, Stirling's series is not used


def _rule() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1], and integrals from every node to 1 of the Lagrange polynomials, a row for each."""
    nodes, weights = legendre.leggauss(NODES)
    values = legendre.legvander(nodes, NODES)  # P_k at every node
    above = np.empty((NODES, NODES))  # the integral of P_k from every node to 1
    above[:, 0] = 1 - nodes
    for k in range(1, NODES):
        above[:, k] = (values[:, k - 1] - values[:, k + 1]) / (2 * k + 1)
    basis = weights * (values[:, :NODES] * (np.arange(NODES) + 0.5)).T  # each Lagrange polynomial in terms of P_k
    return nodes, weights, np.ascontiguousarray((above @ basis).T)


POINTS, WEIGHTS, ABOVE = _rule()


class Betas(NamedTuple):
    """Beta variables on the logit scale, shapes (variables,): n, p, c, s and peak of the docstring of this module.

    Attributes
    ----------
    low, high: the ends of the range outside which the density counts as 0.
    """

    sizes: FloatArray
    shares: FloatArray
    centers: FloatArray
    spreads: FloatArray
    peaks: FloatArray
    low: FloatArray
    high: FloatArray


class Grid(NamedTuple):
    """The quadrature grid.

    Attributes
    ----------
    points: on the logit scale, shape (panels, NODES).
    halves: half the width of every panel, shape (panels,).
    panels: the number of panels that each variable can reach, shape (variables,); 0 if it is never the largest.
    """

    points: FloatArray
    halves: FloatArray
    panels: IntArray


@compiled
def stirling_rest(z: float) -> float:
    """log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2)."""
    if z < SMALL:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2 * math.pi))
    inverse = 1 / (z * z)
    return (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / z


@compiled
def fall(size: float, share: float, offset: float) -> float:
    """n D(u): by how much the log density at the distance u = `offset` from the mode is below its peak."""
    return size * (math.log1p(share * math.expm1(offset)) - share * offset)


@compiled
def peak(a: float, b: float) -> float:
    """The density of a Beta(a, b) variable at its mode on the logit scale."""
    rest = stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b)
    return math.exp(rest) * math.sqrt(a * b / (a + b) / (2 * math.pi))


@compiled
def betas(first: FloatArray, second: FloatArray) -> Betas:
    """Variables with these parameters, all at least 1."""
    count = len(first)
    made = Betas(
        first + second,
        first / (first + second),
        np.log(first / second),
        np.sqrt(1 / first + 1 / second),
        np.empty(count),
        np.empty(count),
        np.empty(count),
    )
    for i in range(count):
        made.peaks[i] = peak(first[i], second[i])
        made.low[i] = made.centers[i] - _reach(made, i, -9 * made.spreads[i])
        made.high[i] = made.centers[i] + _reach(made, i, 9 * made.spreads[i])
    return made


@borrowing
def _reach(betas: Betas, i: int, far: float) -> float:
    """A distance from the mode, on the side of `far`, from which on the density counts as 0.

    For a normal density it is sqrt(80) spreads. n D is convex: it grows at least in proportion to the distance.
    """
    drop = fall(betas.sizes[i], betas.shares[i], far)
    if drop < NEGLIGIBLE:
        return abs(far * NEGLIGIBLE / drop)
    while fall(betas.sizes[i], betas.shares[i], 0.8 * far) > NEGLIGIBLE:
        far *= 0.8
    return abs(far)


@compiled
def grid(betas: Betas) -> Grid:
    """Panels from the largest `low`, which the largest variable exceeds, to the largest `high`."""
    bottom, top = betas.low.max(), betas.high.max()
    edges = np.empty(2 + int(np.ceil((betas.high - betas.low) / (PANEL * betas.spreads)).sum()) + len(betas.low))
    edges[0] = bottom
    count = 0
    while edges[count] < top:
        here = edges[count]
        nearest = top
        for i in range(len(betas.low)):
            if here < betas.high[i]:
                nearest = min(nearest, here + PANEL * betas.spreads[i])
        edges[count + 1] = nearest
        count += 1
    points = np.empty((count, NODES))
    halves = np.empty(count)
    for j in range(count):
        halves[j] = (edges[j + 1] - edges[j]) / 2
        points[j] = edges[j] + halves[j] * (1 + POINTS)
    panels = np.zeros(len(betas.low), dtype=np.int64)
    for i in range(len(betas.low)):
        panels[i] = np.searchsorted(edges[:count], betas.high[i])
    return Grid(points, halves, panels)


@compiled
def densities(betas: Betas, on: Grid) -> FloatArray:
    """The density of every variable at every point that it can reach, shape (variables, panels, NODES)."""
    values = np.zeros((len(betas.low), *on.points.shape))
    for i in range(len(betas.low)):
        for j in range(on.panels[i]):
            for g in range(NODES):
                drop = fall(betas.sizes[i], betas.shares[i], on.points[j, g] - betas.centers[i])
                values[i, j, g] = betas.peaks[i] * math.exp(-drop)
    return values


@compiled
def winning_chances(values: FloatArray, on: Grid) -> FloatArray:
    """The probability of each variable to be the largest, shape (variables,), from the densities on the grid."""
    count = len(values)
    chances = np.zeros(count)
    add_chances(
        values, on, chances, np.zeros(count), np.ones((count, NODES)), np.empty((count, NODES)), np.empty(NODES)
    )
    return chances


@borrowing
def add_chances(
    values: FloatArray,
    on: Grid,
    chances: FloatArray,
    beyond: FloatArray,
    below: FloatArray,
    others: FloatArray,
    product: FloatArray,
) -> None:
    """Add the probability of each variable to be the largest to `chances`, panel by panel from the highest.

    `beyond`, shape (variables,), are the probabilities to be above the panel, at first 0, and `below`, shape
    (variables, NODES), those to be below each of its points, at first 1. `others`, of the same shape, and `product`,
    shape (NODES,), are scratch.
    """
    count = len(values)
    for j in range(len(on.halves) - 1, -1, -1):
        for i in range(count):
            if j < on.panels[i]:
                beyond[i] = integrate(values[i, j], on.halves[j], beyond[i], below[i])
        products_of_others(below, others, product)
        for i in range(count):
            if j < on.panels[i]:
                for g in range(NODES):
                    chances[i] += on.halves[j] * WEIGHTS[g] * values[i, j, g] * others[i, g]


@borrowing
def integrate(density: FloatArray, half: float, beyond: float, below: FloatArray) -> float:
    """Set `below` for the points of a panel, shapes (NODES,); returns the probability to be above its lower edge."""
    for h in range(NODES):
        below[h] = 1 - beyond
    for g in range(NODES):
        share = half * density[g]
        beyond += WEIGHTS[g] * share
        for h in range(NODES):
            below[h] -= ABOVE[g, h] * share
    return beyond


@borrowing
def products_of_others(rows: FloatArray, others: FloatArray, product: FloatArray) -> None:
    """Set each row of `others` to the product of all other `rows`; `product`, shape (NODES,), is scratch."""
    count = len(rows)
    for g in range(NODES):
        others[0, g] = product[g] = 1.0
    for i in range(1, count):
        for g in range(NODES):
            others[i, g] = others[i - 1, g] * rows[i - 1, g]
    for i in range(count - 1, -1, -1):
        for g in range(NODES):
            others[i, g] *= product[g]
            product[g] *= rows[i, g]
