"""Integrals of functions that are smooth between known breaks: Gauss-Legendre on every piece."""

from collections.abc import Callable

import numpy as np

from bandits.arrays import FloatArray

_NODES, _WEIGHTS = (points / 2 for points in np.polynomial.legendre.leggauss(64))
_NODES = _NODES + 0.5  # on [0, 1]


def nodes_between(breaks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights, shapes (64 pieces,), for an integral from the first of the sorted `breaks` to the last."""
    edges = np.unique(breaks)
    lengths = np.diff(edges)
    return (edges[:-1, None] + lengths[:, None] * _NODES).ravel(), (lengths[:, None] * _WEIGHTS).ravel()


def integral(function: Callable[[FloatArray], FloatArray], breaks: FloatArray) -> float:
    """The integral of `function` from the first of the sorted `breaks` to the last."""
    nodes, weights = nodes_between(breaks)
    return float(function(nodes) @ weights)
