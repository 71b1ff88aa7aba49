"""Noise of fair coins: Y heads of N coins, added to a whole number that one reward moves by at most 1 (ours).

The least delta at which k + Y and k + 1 + Y are (epsilon, delta)-indistinguishable is the sum over k of
(P(Y = k) - e^epsilon P(Y = k - 1))+, and P(Y = k - 1) / P(Y = k) = k / (N - k + 1) grows in k: the terms up to
kappa = ceil((N + 1) / (1 + e^epsilon)) - 1 are positive. The other direction gives the same delta, which does not rise
in N (coins.md, 12.1).
"""

import math
from functools import cache

import numpy as np
import scipy

from bandits.parameters import require

NEGLIGIBLE = 45.0  # terms e^-45 times the largest one are below any rounding, all together
SMALLEST, LARGEST = 1e-4, 700.0  # epsilon: the number of coins has at most 64 bits; e^epsilon does not overflow


def last_above(coins: int, epsilon: float) -> int:
    """kappa, the largest k with P(Y = k) > e^epsilon P(Y = k - 1)."""
    return math.ceil((coins + 1) / (1 + math.exp(epsilon))) - 1


def excess(coins: int, epsilon: float, heads: int) -> float:
    """P(Y <= `heads`) - e^epsilon P(Y < `heads`).

    The sum over k up to `heads` of P(Y = k) (1 - e^epsilon k / (N - k + 1)), which does not cancel up to kappa.
    """
    if heads < 0:
        return 0.0
    if heads > coins:
        return 1 - math.exp(epsilon)
    k = np.arange(first_term(coins, heads), heads + 1)
    terms = scipy.stats.binom.pmf(k, coins, 0.5) * (1 - math.exp(epsilon) * (k / (coins - k + 1)))
    return float(terms.sum())


def first_term(coins: int, heads: int) -> int:
    """The least k whose term counts in a sum up to `heads`.

    The law falls faster below its mean than the normal one. So from z to z + d standard deviations below the mean terms
    fall by more than e^(z d + d^2 / 2), which is e^45 at d = sqrt(z^2 + 90) - z.
    """
    deviation, largest = math.sqrt(coins) / 2, min(heads, coins // 2)
    z = (coins / 2 - largest) / max(deviation, 1.0)
    return max(0, largest - math.ceil(max(deviation, 1.0) * (math.sqrt(z**2 + 2 * NEGLIGIBLE) - z)) - 1)


def coins_delta(coins: int, epsilon: float) -> float:
    """The least delta with which the noise of `coins` coins makes a count (`epsilon`, delta)-private."""
    return excess(coins, epsilon, last_above(coins, epsilon))


def coins_needed(epsilon: float, delta: float) -> int:
    """The least number of coins with which a count is (`epsilon`, `delta`)-private: 80 for 1 and 1e-6.

    Raises `ParameterError` as `require_countable`.
    """
    require_countable(epsilon, delta)
    return _least(float(epsilon), float(delta))


def require_countable(epsilon: float, delta: float) -> None:
    """Refuse an epsilon outside 1e-4..700, and a delta of 0, which no number of coins gives."""
    require(SMALLEST <= epsilon <= LARGEST, "epsilon", epsilon, "a number > 0 (in 1e-4..700: coins are counted)")
    allowed = "a number in (0, 1) (and at least 1e-100): coins are never purely private"
    require(isinstance(delta, float | int) and 1e-100 <= delta < 1, "delta", delta, allowed)


@cache
def _least(epsilon: float, delta: float) -> int:
    high = 1
    while coins_delta(high, epsilon) > delta:
        high *= 2
    low = high // 2  # too few, or 0
    while high - low > 1:
        middle = (low + high) // 2
        if coins_delta(middle, epsilon) > delta:
            low = middle
        else:
            high = middle
    return high
