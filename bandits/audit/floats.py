"""The effect of floating-point noise on pure privacy, see floats.md."""

import math

import numpy as np

UNIFORM_BITS = 53  # numpy's uniform numbers are multiples of 2^-53


def reach() -> float:
    """The largest draw of numpy's Laplace noise, in scales: log of the least 2 U > 0, U a multiple of 2^-53."""
    return (UNIFORM_BITS - 1) * math.log(2)


def floor_delta(epsilon: float) -> float:
    """The delta that the bounded range of the noise adds to a release of `epsilon`: the mass near one end of the range.

    One reward moves a center by epsilon scales, so that values in the last epsilon scales are possible under one of two
    inputs only.
    """
    return math.exp(min(epsilon - reach(), 0.0)) / 2


def shares_of_low_bits(first: float, second: float, scale: float, draws: int, seed: int) -> float:
    """The share of doubles released from the center `first` that are impossible from the center `second`.

    A value is possible from a center if the center plus some draw of numpy's noise is rounded to exactly this double.
    The nearest draw and its neighbours are tried. (The attack is that of Mironov 2012.)
    """
    rng = np.random.default_rng(seed)
    released = first + rng.laplace(scale=scale, size=draws)
    return float(np.mean([not _possible(float(value), second, scale) for value in released]))


def _possible(value: float, center: float, scale: float) -> bool:
    """Whether center + scale log(2 U) or center - scale log(2 - 2 U) is `value` for a multiple U of 2^-53."""
    size = 2.0**UNIFORM_BITS
    tail = math.exp(-abs(value - center) / scale) / 2
    level = tail if value < center else 1 - tail
    spread = 2 + math.ceil(4 * math.ulp(value) / scale * tail * size)  # values of U with sums close to this double
    if spread > 64:
        return True  # so many that one of them yields `value`
    for step in range(-spread, spread + 1):
        uniform = (round(level * size) + step) / size
        if 0 < uniform < 0.5 and center + scale * math.log(uniform + uniform) == value:
            return True
        if 0.5 <= uniform < 1 and center - scale * math.log(2.0 - uniform - uniform) == value:
            return True
    return False
