"""Laplace and normal noise on whole numbers, without the errors of floating point (bandits/audit/floats.md).

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


def add_normal_noise(steps: int, sensitivity: int, rho: float) -> int:
    """`steps` plus discrete normal noise, Pr[j] proportional to e^(-j^2 rho / `sensitivity`^2).

    Guarantee: rho-zCDP of this number, where one reward moves it by at most `sensitivity` steps (Canonne, Kamath and
    Steinke 2020, Theorem 4). Raises `ParameterError` where the extra `deployable` is not installed.
    """
    require(sensitivity >= 1, "sensitivity", sensitivity, "a whole number of steps >= 1")
    return int(_mechanism(sensitivity, rho, normal=True)(steps))


@cache
def _mechanism(sensitivity: int, budget: float, normal: bool = False) -> Any:
    """The mechanism, with its scale increased until OpenDP itself confirms the budget, epsilon or rho."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ParameterError("noise", "deployable noise needs OpenDP: pip install opendp") from None
    dp.enable_features("contrib")
    scale = sensitivity / (math.sqrt(2 * budget) if normal else budget)
    make = dp.m.make_gaussian if normal else dp.m.make_laplace
    while True:
        mechanism: Any = make(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
        if mechanism.map(sensitivity) <= budget:
            return mechanism
        scale = math.nextafter(scale, math.inf)
