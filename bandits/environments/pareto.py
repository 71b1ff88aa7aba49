"""Pareto rewards drawn by a ziggurat (Marsaglia and Tsang 2000): exact in law, mostly without a power.

With Z = X - 1, X a Pareto reward of least value 1 and shape a, the density of Z is proportional to
g(z) = (1 + z)^-(a+1). The area under g is covered by LAYERS layers of the same area v. Layer 0 is the rectangle
[0, r] x [0, g(r)] with the tail beyond r under g; layer i >= 1 is the rectangle [0, x_i] x [g(x_i), g(x_(i+1))], of
which only the part under g is wanted. Here x_1 = r, g(x_(i+1)) = g(x_i) + v / x_i, and r is such that the last layer
ends at g(0) = 1.

Proof. A layer and a uniform point of it are drawn until the point is under g. As all layers have the same area, the
accepted point is uniform under g, and its z has the density of Z. In layer i >= 1 a point with z < x_(i+1) is under g.
In layer 0 let z be uniform in [0, v / g(r)]: it is below r with the probability r g(r) / v of the rectangle, where it
is uniform; otherwise the point is in the tail, where X / (1 + r) is a Pareto reward again. (Up to rounding: z is a
multiple of 2^-45 of the width of its layer.)
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import borrowing

LAYERS = 256
HALVINGS = 200  # of the interval in which log r is: until it has no number inside


class Ziggurat(NamedTuple):
    """The layers for one shape of Pareto rewards.

    Attributes
    ----------
    shape: of the rewards, a.
    widths: interval of z in each layer, x_i, and v / g(r) in layer 0, shape (LAYERS,).
    inner: a point with a smaller z is under g, x_(i+1), shape (LAYERS,).
    heights: g(x_i), shape (LAYERS + 1,), from which layer i >= 1 begins; of no meaning for layer 0.
    """

    shape: float
    widths: FloatArray
    inner: FloatArray
    heights: FloatArray


@lru_cache(maxsize=64)
def ziggurat(shape: float) -> Ziggurat:
    """The layers for Pareto rewards of this shape > 0."""
    low, high = 0.0, 700.0 / (shape + 1)  # of log(1 + r); with a larger r all layers end lower
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _edges(shape, middle) is None:
            low = middle
        else:
            high = middle
    edges = _edges(shape, high)
    assert edges is not None
    edges[-1] = 0.0
    heights = np.exp(-(shape + 1) * np.log1p(edges))
    widths = edges[:-1].copy()
    widths[0] = _area(shape, high) / heights[1]
    return Ziggurat(shape, widths, edges[1:].copy(), heights)


def _edges(shape: float, log_r: float) -> FloatArray | None:
    """x_1 = r up to x_LAYERS, after a place for layer 0; None if they get below 0, as r is too small."""
    edges = np.zeros(LAYERS + 1)
    edges[1] = math.expm1(log_r)
    height, area = math.exp(-(shape + 1) * log_r), _area(shape, log_r)
    for i in range(1, LAYERS):
        height += area / edges[i]
        if height > 1:
            return None
        edges[i + 1] = math.expm1(-math.log(height) / (shape + 1))
    return edges


def _area(shape: float, log_r: float) -> float:
    """v: of the rectangle below r, and of the tail beyond it."""
    return math.expm1(log_r) * math.exp(-(shape + 1) * log_r) + math.exp(-shape * log_r) / shape


@borrowing
def pareto(layers: Ziggurat, rng: np.random.Generator) -> float:
    """A Pareto reward whose least value is 1."""
    while True:
        point = rng.random() * LAYERS
        layer = np.uint64(point)  # which needs no check for a negative index
        z = (point - np.float64(layer)) * layers.widths[layer]
        if z < layers.inner[layer]:
            return float(1 + z)
        if layer == 0:
            return float((1 + layers.inner[0]) * math.exp(rng.standard_exponential() / layers.shape))
        low, high = layers.heights[layer], layers.heights[layer + np.uint64(1)]
        if low + rng.random() * (high - low) < math.exp(-(layers.shape + 1) * math.log1p(z)):
            return float(1 + z)
