"""Sums of many truncated Pareto rewards without drawing each of them.

Up to `WALKED` terms are drawn one by one. With more terms, the sum is drawn from its tabulated law, whose error
in total variation is below `TOTAL_VARIATION` for each sum; `tests/bandits/environments/test_pareto_sums.py`
checks this by halving every step, and by comparison with plain loops.
"""

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from bandits.arrays import FloatArray
from bandits.compiled import compiled
from bandits.environments.tabulated_sums import LawOfSum, log1p_minus, sine_minus_angle, tabulate

WALKED = 100_000
TOTAL_VARIATION = 1e-6

_RATIO = 0.1  # a panel of the integral over u ends at most this share above its begin,
_WIDTH = 0.5  # and at most this far
_NODES = 16  # Gauss-Legendre nodes in each panel


def truncated_pareto_sum(scale: float, shape: float, bound: float, terms: int, rng: np.random.Generator) -> float:
    """The sum of x 1{x <= bound} over `terms` independent Pareto(`shape`) rewards x >= `scale`."""
    if bound <= scale:
        return 0.0
    if terms <= WALKED or math.isinf(bound):
        return walked_sum(scale, shape, bound, terms, rng)
    law = law_of_pareto_sum(scale, shape, bound, terms)
    return float(law.draw(1, rng)[0]) if law.trusted else walked_sum(scale, shape, bound, terms, rng)


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


@lru_cache(maxsize=512)  # of 512 kB; a run of 20 corrupted arms over 10^8 steps needs 300
def law_of_pareto_sum(scale: float, shape: float, bound: float, terms: int) -> LawOfSum:
    """The law of the sum of x 1{x <= bound} over `terms` Pareto rewards."""
    first, second = truncated_moments(scale, shape, bound)
    return tabulate(first, second - first**2, terms, partial(_centred_log_transform, scale, shape, bound))


def _centred_log_transform(scale: float, shape: float, bound: float, frequencies: FloatArray) -> NDArray[np.complex128]:
    """log E exp(i f Y) - i f E Y of one truncated reward Y, without cancellation for small f.

    With Y = x 1{x <= bound}: E exp(i f Y) = 1 + i f E Y + w, where with u = f x

        w = E[exp(i f Y) - 1 - i f Y] = shape (f scale)^shape (G(f bound) - G(f scale)),

    G the integral of (exp(i u) - 1 - i u) u^(-shape - 1): one integral for all frequencies.
    """
    ends = np.concatenate([frequencies * scale, frequencies * bound])
    edges = _edges(ends)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    u = edges[:-1, None] + half * (1 + nodes)
    density = half * weights * u ** (-shape - 1)
    real, imaginary = -2 * np.sin(u / 2) ** 2, sine_minus_angle(u)
    panels = (real * density).sum(axis=1) + 1j * (imaginary * density).sum(axis=1)
    integral = np.concatenate([[0.0], np.cumsum(panels)])[np.searchsorted(edges, ends)]
    w = shape * (scale * frequencies) ** shape * (integral[len(frequencies) :] - integral[: len(frequencies)])
    z = w + 1j * frequencies * truncated_moments(scale, shape, bound)[0]
    return np.asarray(w + log1p_minus(z))


def _edges(ends: FloatArray) -> FloatArray:
    """Where panels begin and end, in increasing order: at all `ends` of integrals, and between them often enough."""
    corner = _WIDTH / _RATIO  # below it panels are as wide as `_RATIO` allows, above it as `_WIDTH` does
    first, last = (
        math.log(end / corner) / _RATIO if end < corner else (end - corner) / _WIDTH for end in (ends.min(), ends.max())
    )
    panel = np.arange(math.ceil(first), math.floor(last) + 1)
    between = np.where(panel < 0, corner * np.exp(_RATIO * np.minimum(panel, 0)), corner + _WIDTH * panel)
    return np.unique(np.concatenate([ends, between]))
