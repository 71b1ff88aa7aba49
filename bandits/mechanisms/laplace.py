"""Laplace noise inside compiled loops."""

import math

import numpy as np

from bandits.compiled import compiled

NEWTON_STEPS = 100  # few are needed: convergence is quadratic


@compiled
def laplace(scale: float, rng: np.random.Generator) -> float:
    """One draw of Lap(scale), density exp(-|x|/scale) / (2 scale).

    A value of sensitivity s plus Lap(s/epsilon) is epsilon-differentially private
    (Dwork, McSherry, Nissim and Smith 2006, Theorem 1).
    """
    magnitude = scale * rng.standard_exponential()
    return magnitude if rng.random() < 0.5 else -magnitude


@compiled
def laplace_above(log_survival: float, scale: float) -> float:
    """The x with log Pr[Lap(scale) > x] = `log_survival` < 0."""
    if log_survival < -math.log(2.0):
        return -scale * (log_survival + math.log(2.0))
    return scale * math.log(-2.0 * math.expm1(log_survival))


@compiled
def laplace_sum_bound(scale: float, draws: float, cost: float) -> float:
    """Chernoff's bound on a sum of `draws` Laplace variables, exceeded with probability at most e^-`cost`.

    The least of (cost - draws log(1 - x^2)) / x over 0 < x < 1, times `scale`. At the best x, v = 1 / (1 - x^2) has
    2 (v - 1) - log v = cost / draws, and the least value is 2 draws sqrt(v (v - 1)).
    """
    share = cost / draws
    v = 1 + share  # not below the root: log v <= v - 1. From there Newton's method of a convex function decreases
    for _ in range(NEWTON_STEPS):
        following = v - (2 * (v - 1) - math.log(v) - share) / (2 - 1 / v)
        if not following < v:
            break
        v = following
    return 2 * scale * draws * math.sqrt(v * max(0.0, v - 1))
