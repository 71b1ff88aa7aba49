"""Laplace noise inside compiled loops."""

import math

import numpy as np

from bandits.compiled import compiled


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
