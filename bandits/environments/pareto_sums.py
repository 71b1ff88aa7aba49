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

_PIECES = 48  # of the integrals over the reward x, equally long in log x
_NODES = 64  # Gauss-Legendre nodes in each piece
_ROWS = 16  # frequencies at a time: their angles, 24 kB a row, stay in the cache of the processor


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


@lru_cache(maxsize=512)  # of 256 kB; a run of 20 corrupted arms over 10^8 steps needs 300
def law_of_pareto_sum(scale: float, shape: float, bound: float, terms: int) -> LawOfSum:
    """The law of the sum of x 1{x <= bound} over `terms` Pareto rewards."""
    first, second = truncated_moments(scale, shape, bound)
    return tabulate(first, second - first**2, terms, partial(_centred_log_transform, scale, shape, bound))


def _centred_log_transform(scale: float, shape: float, bound: float, frequencies: FloatArray) -> NDArray[np.complex128]:
    """log E exp(i f Y) - i f E Y of one truncated reward Y, without cancellation for small f.

    With Y = x 1{x <= bound}: E exp(i f Y) = 1 + i f E Y + w, w = E[cos(f Y) - 1] + i E[sin(f Y) - f Y].
    """
    log_x, weights = _log_nodes(scale, bound)
    x = np.exp(log_x)
    probability = weights * shape * scale**shape * x**-shape  # of the node: density times dx, dx = x dlog x
    w = np.empty(len(frequencies), dtype=np.complex128)
    for start in range(0, len(frequencies), _ROWS):
        rows = slice(start, start + _ROWS)
        angles = frequencies[rows, None] * x
        w.real[rows] = -2 * np.sin(angles / 2) ** 2 @ probability
        w.imag[rows] = sine_minus_angle(angles) @ probability
    z = w + 1j * frequencies * (x @ probability)
    return np.asarray(w + log1p_minus(z))


def _log_nodes(scale: float, bound: float) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre nodes and weights in log x between `scale` and `bound`."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(math.log(scale), math.log(bound), _PIECES + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
