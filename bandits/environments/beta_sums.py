"""Sums of many Beta losses without drawing each of them."""

from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from bandits.arrays import FloatArray
from bandits.environments.tabulated_sums import LawOfSum, log1p_minus, sine_minus_angle, tabulate

WALKED = 64
_NODES = 200  # of the Gauss-Jacobi rule for the characteristic function of one loss
_BLOCK = 1 << 20


def beta_sums(mean: float, concentration: float, terms: int, size: int, rng: np.random.Generator) -> FloatArray:
    """`size` independent sums of `terms` Beta(mean c, (1 - mean) c) losses, c the `concentration`.

    Up to `WALKED` terms, and where the law of the sum is not smooth enough for a table (few terms or
    losses close to 0 or 1), losses are drawn one by one.
    """
    if terms > WALKED:
        law = law_of_beta_sum(mean, concentration, terms)
        if law.trusted:
            return law.draw(size, rng)
    sums, left = np.zeros(size), terms
    while left > 0:
        steps = min(left, max(1, _BLOCK // size))
        sums += rng.beta(mean * concentration, (1 - mean) * concentration, size=(steps, size)).sum(axis=0)
        left -= steps
    return sums


@lru_cache(maxsize=256)
def law_of_beta_sum(mean: float, concentration: float, terms: int) -> LawOfSum:
    """The tabulated law of the sum of `terms` losses."""
    nodes, weights = scipy.special.roots_jacobi(_NODES, (1 - mean) * concentration - 1, mean * concentration - 1)
    centred, probability = (nodes + 1) / 2 - mean, weights / weights.sum()

    def centred_log_transform(frequencies: FloatArray) -> NDArray[np.complex128]:
        """Without cancellation for small frequencies: log(1 + w), w = E[cos a - 1] + i E[sin a - a], E a = 0."""
        angles = frequencies[:, None] * centred
        w = -2 * np.sin(angles / 2) ** 2 @ probability + 1j * (sine_minus_angle(angles) @ probability)
        return np.asarray(w + log1p_minus(w))

    return tabulate(mean, mean * (1 - mean) / (concentration + 1), terms, centred_log_transform)
