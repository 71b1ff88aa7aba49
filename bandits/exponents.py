"""Probabilities times e^epsilon, even where e^epsilon overflows a double."""

import math

import numpy as np

from bandits.arrays import FloatArray

LARGEST_EXPONENT = 709.0  # e^710 overflows a double
FLOOR = 1e-300  # the least positive probability: below it a double loses digits and finally becomes 0


def grown(chances: FloatArray, epsilon: float) -> FloatArray:
    """e^epsilon times the probabilities `chances`; infinite where that overflows a double, 0 where they are 0."""
    if epsilon < LARGEST_EXPONENT:
        return math.exp(epsilon) * chances
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(epsilon + np.log(chances)))
