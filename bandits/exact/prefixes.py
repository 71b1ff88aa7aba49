"""Expected regret of RNM-FTNL with a random prefix of each epoch (`RandomPrefix`), computed instead of simulated.

After an epoch of n loss vectors the arm is chosen from the first m of them, m uniform on n/2 < m <= n. The expected gap
of the choice is the mean over these m of the expected gap after m vectors, `Game.expected_gap`. Short ranges
are added up. On long ranges the mean is a quadrature: the expected gap is smooth in m.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray, IntArray
from bandits.exact.regret import epoch_curve, merged_groups

NODES = 32
_DIRECT = 512  # epochs up to this length are added up


def random_prefix_regret_curve(
    means: ArrayLike,
    counts: ArrayLike,
    noise: str,
    epsilon: float,
    checkpoints: Sequence[int],
    losses: str = "deterministic",
    resample: bool = False,
    calibration: str = "printed",
) -> FloatArray:
    """As `bandits.exact.regret.expected_regret_curve`, with choices from a random prefix of the previous epoch."""
    game, _ = merged_groups(means, counts, noise, epsilon, losses, resample, calibration)

    def gap_after(rounds: int, floor: float) -> float:
        return mean_over_prefixes(lambda prefix: game.expected_gap(prefix, floor), rounds)

    return epoch_curve(game, checkpoints, gap_after)


def mean_over_prefixes(value: Callable[[int], float], rounds: int) -> float:
    """The mean of `value` over the whole numbers m with rounds / 2 < m <= rounds; `rounds` is a power of two.

    From 1024 rounds on it is computed from 32 of these m, near Gauss nodes: exact for polynomials of degree 31.
    """
    first, last = rounds // 2 + 1, rounds
    if rounds <= _DIRECT:
        return sum(map(value, range(first, last + 1))) / (last - first + 1)
    prefixes, weights = prefix_rule(rounds)
    return float(sum(weight * value(int(prefix)) for prefix, weight in zip(prefixes, weights, strict=True)))


@cache
def prefix_rule(rounds: int) -> tuple[IntArray, FloatArray]:
    """Whole numbers in (rounds / 2, rounds] and weights whose sum is the mean of every polynomial of degree 31.

    The nodes of Gauss for the uniform law on these numbers (Golub and Welsch 1969, with the recurrence of discrete
    Chebyshev polynomials), rounded, and weights from the moments of the Legendre polynomials.
    """
    size = rounds // 2
    k = np.arange(1, NODES)
    squares = k**2 * (1 - (k / size) ** 2) / (4 * k**2 - 1.0)  # of the law on `size` points evenly spaced in (-1, 1)
    nodes, vectors = np.linalg.eigh(np.diag(np.sqrt(squares), 1) + np.diag(np.sqrt(squares), -1))
    moments = np.polynomial.legendre.legvander(nodes, NODES - 1).T @ vectors[0] ** 2
    offsets = np.rint((nodes + 1) * size / 2 - 0.5).astype(np.int64)  # 0, ..., size - 1
    rounded = (2.0 * offsets + 1) / size - 1
    weights = np.linalg.solve(np.polynomial.legendre.legvander(rounded, NODES - 1).T, moments)
    return size + 1 + offsets, weights
