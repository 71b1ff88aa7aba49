"""What is left of a pure promise when noise is a double: see docs/floats.md."""

import math

import numpy as np

UNIFORM_BITS = 53  # numpy's uniform numbers are multiples of 2^-53


def reach() -> float:
    """The largest draw of numpy's Laplace noise, in scales: log of the least 2 U > 0, U a multiple of 2^-53."""
    return (UNIFORM_BITS - 1) * math.log(2)


def floor_delta(epsilon: float) -> float:
    """The delta that a release of `epsilon` keeps besides: the mass of noise within epsilon of its end, on one side.

    One reward moves a center by epsilon scales, so that the last epsilon scales are possible under one input alone.
    """
    return math.exp(min(epsilon - reach(), 0.0)) / 2


def shares_of_low_bits(first: float, second: float, scale: float, draws: int, seed: int) -> float:
    """How often a released double that is possible from the center `first` cannot come from `second`, at one scale.

    A value is possible from a center if some draw of numpy's noise, added to it, is rounded to that very double. The
    draw whose sum is nearest is tried with its neighbours. (The hole: Mironov 2012.)
    """
    rng = np.random.default_rng(seed)
    released = first + rng.laplace(scale=scale, size=draws)
    return float(np.mean([not _possible(float(value), second, scale) for value in released]))


def _possible(value: float, center: float, scale: float) -> bool:
    """Whether center + scale log(2 U) or center - scale log(2 - 2 U) is `value` for a multiple U of 2^-53."""
    size = 2.0**UNIFORM_BITS
    tail = math.exp(-abs(value - center) / scale) / 2
    level = tail if value < center else 1 - tail
    spread = 2 + math.ceil(4 * math.ulp(value) / scale * tail * size)  # values of U that reach about this double
    if spread > 64:
        return True  # so dense that one of them does
    for step in range(-spread, spread + 1):
        uniform = (round(level * size) + step) / size
        if 0 < uniform < 0.5 and center + scale * math.log(uniform + uniform) == value:
            return True
        if 0.5 <= uniform < 1 and center - scale * math.log(2.0 - uniform - uniform) == value:
            return True
    return False
