"""Panels for quadrature and interpolation of functions of noisy sums that are smooth except at known points."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bandits.arrays import FloatArray

FAR = 1e4  # a threshold of a sum is within this distance, or infinite
HALVINGS = 0.2 ** np.arange(8.0)

TAIL = np.array([2.0, 4.0, 8.0, 16.0, 28.0, 44.0])
GRADED = np.concatenate([HALVINGS, TAIL])


class Tabulated:
    """Interpolation of a nondecreasing function, smooth between `ends`, by polynomials on panels that shrink there."""

    def __init__(self, function: Callable[[FloatArray], FloatArray], ends: list[float], scale: float) -> None:
        steps = scale * np.concatenate([[0.0], GRADED])
        edges = [part for value in ends or [0.0] for part in (value + steps, value - steps)]
        self.edges = np.unique(np.concatenate([[-FAR], *edges, [FAR]]))
        nodes = (1 - np.cos(np.pi * (np.arange(12) + 0.5) / 12)) / 2
        values = function((self.edges[:-1, None] + np.diff(self.edges)[:, None] * nodes).ravel())
        values = values.reshape(-1, len(nodes))
        self.constant = np.where(np.isfinite(values).all(axis=1), np.nan, values[:, 6])
        powers = np.vander(2 * nodes - 1, increasing=True)
        self.factors = np.linalg.solve(powers, np.where(np.isfinite(values), values, 0.0).T).T

    def __call__(self, x: FloatArray) -> FloatArray:
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.constant) - 1)
        local = 2 * (x - self.edges[panel]) / (self.edges[panel + 1] - self.edges[panel]) - 1
        values = np.zeros(x.shape)
        for power in range(self.factors.shape[1] - 1, -1, -1):
            values = values * local + self.factors[panel, power]
        constant = self.constant[panel]
        return np.where(np.isnan(constant), values, constant)


def edges_about(singular: list[float], kinks: list[float], scale: float) -> FloatArray:
    """Edges of panels that shrink towards singular points, end at kinks, and cover all non-negligible mass."""
    near, far = (scale * np.concatenate([[0.0], steps]) for steps in (GRADED, TAIL))
    around = [(value, near) for value in singular] + [(value, np.zeros(1)) for value in kinks]
    around += [(value, far) for value in (min([*kinks, 0.0]), max([*kinks, 0.0]))]
    return np.unique(np.concatenate([part for value, steps in around for part in (value + steps, value - steps)]))


def panels(singular: list[float], kinks: list[float], scale: float, order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on the panels of `edges_about`."""
    edges = edges_about(singular, kinks, scale)
    nodes, weights = legendre(order)
    widths = np.diff(edges)
    return (edges[:-1, None] + widths[:, None] * nodes).ravel(), (widths[:, None] * weights).ravel()


@lru_cache
def legendre(order: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return (nodes + 1) / 2, weights / 2


def finite(values: set[float]) -> list[float]:
    """The finite values, sorted."""
    return sorted(value for value in values if math.isfinite(value))
