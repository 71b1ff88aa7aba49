"""Azize, Wu, Honda, Orabona, Ito and Basu (2025, arXiv 2505.05613): the price of privacy on Bernoulli arms.

Both theorems are limits of regret / log(T) as T grows. Times log(T) they are lines to compare curves with, not bounds
at a finite T: regret may lie below the line of the lower bound at any finite T.
"""

import math

from bandits.arrays import FloatArray
from bandits.bounds.common import require_horizon
from bandits.divergences import private_divergence, private_divergence_from
from bandits.parameters import require

FAR = 1e-3  # from this gap on rounding is harmless, and bits stay: a figure counts ties of regrets in units of it


def lower_bound_slope(means: FloatArray, epsilon: float) -> float:
    """The least limit of regret / log(T) of any consistent policy with an epsilon-DP transcript (their Theorem 1).

    Sum of gap / d_epsilon(mean, best mean) over the suboptimal arms. With an infinite epsilon it is that of Lai and
    Robbins (1985), `bandits.bounds.sajed2019.consistent_lower_bound_slope`.
    """
    within = len(means) > 1 and bool(((means > 0) & (means < 1)).all())
    require(within, "means", list(means), "at least two numbers in (0, 1)")
    require(epsilon >= 1e-100, "epsilon", epsilon, "a number > 0 (and at least 1e-100), or infinity")
    best = float(means.max())
    suboptimal = [float(mean) for mean in means if mean < best]
    return sum((best - mean) / _divergence(mean, best, epsilon) for mean in suboptimal)


def _divergence(mean: float, best: float, epsilon: float) -> float:
    if best - mean >= FAR:
        return private_divergence(mean, best, epsilon)
    return private_divergence_from(best, mean - best, epsilon)


def lower_bound_line(means: FloatArray, epsilon: float, horizon: float) -> float:
    """`lower_bound_slope` times log(T): the leading term of the least regret."""
    require_horizon(horizon)
    return lower_bound_slope(means, epsilon) * math.log(horizon)


def dp_klucb_line(means: FloatArray, epsilon: float, horizon: float, ratio: float) -> float:
    """The leading term of the upper bound on the regret of DP-KLUCB: `ratio` times `lower_bound_line`.

    `ratio` is the factor by which batches grow. The term o(log T) that is left out is not small: see
    `PrivateDivergence` in `bandits.policies.batched_index`.
    """
    require(ratio > 1, "ratio", ratio, "a number > 1")
    return ratio * lower_bound_line(means, epsilon, horizon)
