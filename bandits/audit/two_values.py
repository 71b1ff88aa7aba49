"""The probabilities with which either of two independent values is the larger, in closed form, many pairs at once.

Sums of positive terms, so that small probabilities keep their digits. As in `bandits.audit.decision_laws.largest_of`,
a probability is 0 only if it is impossible, and at least `FLOOR` otherwise. Parameters have the shape (pairs, 2), and
so have the probabilities.
"""

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.exponents import FLOOR
from bandits.mechanisms.truncated_laplace import TruncatedLaplace

_TERMS = 1 << 20  # of the sums for Beta laws, at a time
_NODES, _WEIGHTS = (points / 2 for points in np.polynomial.legendre.leggauss(20))
_EXPONENT = 8.0  # by which the density of either value changes within a panel, at most


def larger_gauss(means: FloatArray, deviations: FloatArray) -> FloatArray:
    """For Normal(mean, deviation^2): the difference is normal too."""
    ahead = (means[:, 0] - means[:, 1]) / np.hypot(deviations[:, 0], deviations[:, 1])
    return np.maximum(scipy.special.ndtr(np.stack([ahead, -ahead], axis=1)), FLOOR)


def larger_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    """For Beta(a, b) with whole a and b."""
    chances = np.empty(a.shape)
    step = max(1, _TERMS // int(max(a.max(), b.max())))
    for first in range(0, len(a), step):
        part = slice(first, first + step)
        for value in (0, 1):
            chances[part, value] = _beta_above(a[part, value], b[part, value], a[part, 1 - value], b[part, 1 - value])
    return np.maximum(chances, FLOOR)


def _beta_above(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """Pr[X > Y] for X of Beta(a, b) and Y of Beta(c, d), shapes (pairs,).

    For whole a, Pr[X > y] = sum over i < a of y^i (1 - y)^b / ((b + i) B(1 + i, b)). The mean over y has the terms
    B(c + i, b + d) / ((b + i) B(1 + i, b) B(c, d)). The event is also 1 - Y > 1 - X; the shorter sum is taken.
    """
    a, b, c, d = np.where(d < a, [d, c, b, a], [a, b, c, d])
    i = np.arange(int(a.max()) - 1)
    c_i, b_i, all_i = (parameter[:, None] + i for parameter in (c, b, b + c + d))
    ratios = np.where(i < a[:, None] - 1, c_i * b_i / (all_i * (1.0 + i)), 0.0)  # of a term to the one before
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(ratios), axis=1)
    first = scipy.special.betaln(c, b + d) - scipy.special.betaln(c, d)
    return np.asarray(np.exp(first) + np.exp(first[:, None] + logs).sum(axis=1))


def larger_truncated_laplace(epsilon: float, delta: float, counts: FloatArray, centers: FloatArray) -> FloatArray:
    """For `TruncatedLaplace(epsilon, delta, count, center)`."""
    if delta == 0:
        return _larger_laplace(1 / (epsilon * counts), centers)
    half_widths = TruncatedLaplace(epsilon, delta, 1.0, 0.0).half_width / counts
    possible = centers + half_widths > (centers - half_widths).max(axis=1, keepdims=True)
    chances = np.stack([_truncated_above(epsilon, delta, counts, centers, value) for value in (0, 1)], axis=1)
    return np.where(possible, np.maximum(chances, FLOOR), 0.0)


def _larger_laplace(scales: FloatArray, centers: FloatArray) -> FloatArray:
    """For Laplace laws. The value that is behind by t is ahead, for scales s < b, with probability

    (b^2 e^(-t/b) - s^2 e^(-t/s)) / (2 (b^2 - s^2)) = e^(-t/b) / 2 (1 + t s / (b (b + s)) (1 - e^-u) / u),

    u = t (b - s) / (b s).
    """
    behind = np.abs(centers[:, 0] - centers[:, 1])
    small, large = scales.min(axis=1), scales.max(axis=1)
    flat = scipy.special.exprel(-behind * (large - small) / (large * small))
    chance = np.exp(-behind / large) / 2 * (1 + behind * small / (large * (large + small)) * flat)
    ahead = centers == centers.max(axis=1, keepdims=True)
    return np.asarray(np.where(ahead, 1 - chance[:, None], np.maximum(chance, FLOOR)[:, None]))


def _truncated_above(epsilon: float, delta: float, counts: FloatArray, centers: FloatArray, value: int) -> FloatArray:
    """Pr[this value > the other one], shape (pairs,): Gauss-Legendre between the ends and centers of both laws.

    Above the support of the other law its distribution function is 1.
    """
    count, rival = counts[:, value, None], counts[:, 1 - value, None]
    unit = TruncatedLaplace(epsilon, delta, 1.0, 0.0)  # the law for one reward; for N rewards it is N times narrower
    width = unit.half_width
    own = centers[:, value, None] + width / count * np.array([-1.0, 0.0, 1.0])
    other = centers[:, 1 - value, None] + width / rival * np.array([-1.0, 0.0, 1.0])
    edges = np.sort(np.clip(np.concatenate([own, other], axis=1), own[:, :1], own[:, 2:]), axis=1)
    panels = max(1, int(np.ceil(epsilon * width / _EXPONENT)))
    inner = (np.arange(panels)[:, None] + 0.5 + _NODES).ravel() / panels
    lengths = np.diff(edges, axis=1)[:, :, None]
    nodes = (edges[:, :-1, None] + lengths * inner).reshape(len(edges), -1)
    weights = (lengths * np.tile(_WEIGHTS, panels) / panels).reshape(len(edges), -1)
    density = count * unit.pdf(count * (nodes - own[:, 1:2]))
    below = unit.cdf(rival * (nodes - other[:, 1:2]))
    return np.asarray((density * below * weights).sum(axis=1))
