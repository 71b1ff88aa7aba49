"""Chances times e^epsilon, also where that is beyond doubles."""

import math

import numpy as np

from bandits.arrays import FloatArray

LARGEST_EXPONENT = 709.0  # e^710 is beyond doubles
FLOOR = 1e-300  # of a chance that is not 0: what is smaller loses digits as a double, and then is 0


def grown(chances: FloatArray, epsilon: float) -> FloatArray:
    """e^epsilon times `chances` >= 0; infinite where that is beyond doubles, and 0 where the chance is 0."""
    if epsilon < LARGEST_EXPONENT:
        return math.exp(epsilon) * chances
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(epsilon + np.log(chances)))
