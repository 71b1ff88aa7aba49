"""Laplace noise on whole numbers, without the errors of floating point (docs/floats.md).

OpenDP draws it by exact arithmetic on random bits of the operating system (Canonne, Kamath and Steinke 2020). It cannot
be seeded, so no experiment here uses it.
"""

import math
from functools import cache
from typing import Any

from bandits.parameters import ParameterError, require

GRID = 2**20  # steps of a value of size 1: sums of 2^33 such values are exact in doubles


def on_grid(value: float) -> int:
    """A value in steps of 1 / GRID, the nearest; a value in [0, 1] stays there."""
    return round(value * GRID)


def add_noise(steps: int, sensitivity: int, epsilon: float) -> int:
    """`steps` plus discrete Laplace noise.

    Guarantee: epsilon-DP of this number, where one reward moves it by at most `sensitivity` steps. Raises
    `ParameterError` where the extra `deployable` is not installed.
    """
    require(sensitivity >= 1, "sensitivity", sensitivity, "a whole number of steps >= 1")
    return int(_mechanism(sensitivity, epsilon)(steps))


@cache
def _mechanism(sensitivity: int, epsilon: float) -> Any:
    """The mechanism, with its scale increased until OpenDP itself confirms epsilon."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ParameterError("noise", "deployable noise needs OpenDP: pip install opendp") from None
    dp.enable_features("contrib")
    scale = sensitivity / epsilon
    while True:
        found: Any = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
        if found.map(sensitivity) <= epsilon:
            return found
        scale = math.nextafter(scale, math.inf)
