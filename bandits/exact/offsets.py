"""Expected regret of RNM-FTNL with a random offset of its epochs (`OffsetFTNL`), computed instead of simulated.

After the first step, which is an epoch of its own, epochs end at ceil(ratio^(r + U)), r = 0, 1, 2, ..., U uniform on
[0, 1). With x = ratio^(r + U) an epoch from ceil(x) to ceil(ratio x) chooses the arm of the epoch from ceil(ratio x) to
ceil(ratio^2 x). Over all r the points x have the density 1 / (x log ratio). So expected regret is the regret of the
first step, and

    the integral over x >= 1 / ratio^2 of  f(max(1, ceil(ratio x) - ceil(x)))
        * (steps from ceil(ratio x) to ceil(ratio^2 x) before the horizon)  dx / (x log ratio),

f(n) the expected gap of the choice after n loss vectors: x below 1 stands for the first step and the epoch after it.
For short epochs the integrand is piecewise constant, and the integral exact. For long epochs f is interpolated by
polynomials between its values at few n, and lengths are not rounded to whole numbers.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.exact.regret import checked_steps, merged_groups
from bandits.parameters import require

_DIRECT = 512  # f is computed at all lengths up to this one
_PIECE = 1.5  # f is a polynomial from n to 1.5 n
_NODES = 32
_ROUNDED = 1 << 14  # ends of epochs are rounded for epochs that begin up to this step
_NEGLIGIBLE = 1e-12  # error in regret from one choice, relative to the regret of the first step
_PANEL = math.log(1.25)  # width in log x


def require_ratio(ratio: float) -> None:
    """Refuse a ratio outside [2, 100]; below 2 an epoch could be empty."""
    require(2 <= ratio <= 100, "ratio", ratio, "a number in [2, 100]")


def offset_regret_curve(
    means: ArrayLike,
    counts: ArrayLike,
    noise: str,
    epsilon: float,
    checkpoints: Sequence[int],
    losses: str = "deterministic",
    resample: bool = False,
    calibration: str = "printed",
    ratio: float = math.e,
) -> FloatArray:
    """As `bandits.exact.regret.expected_regret_curve`, for epochs with a random offset, relative error about 1e-8."""
    require_ratio(ratio)
    game, _ = merged_groups(means, counts, noise, epsilon, losses, resample, calibration)
    steps = checked_steps(checkpoints)
    first = float(game.gaps @ game.counts / game.counts.sum())
    if first == 0:
        return np.zeros(len(steps))

    def gap_after(rounds: int) -> float:
        return game.expected_gap(rounds, _NEGLIGIBLE * first / (2.0 * rounds * float(game.gaps[-1])))

    gaps = Interpolated(gap_after)
    return np.array([first + _after_the_first_step(gaps, int(horizon), ratio) for horizon in steps])


def _after_the_first_step(gaps: "Interpolated", horizon: int, ratio: float) -> float:
    end = horizon / ratio  # the largest x whose choice is played before the horizon
    middle = min(end, float(_ROUNDED))
    x, measure = _pieces(middle, ratio)
    begins, starts, ends = (np.ceil(x * ratio**power) for power in range(3))
    played = np.minimum(ends, horizon) - np.minimum(starts, horizon)
    lengths = np.maximum(starts - begins, 1)
    regret = float((gaps.at(lengths) * played) @ measure)
    for low, high in ((middle, min(end, max(middle, end / ratio))), (max(middle, end / ratio), end)):
        if low < high:
            x, measure = _gauss(low, high)
            # rounding up moves a step by half a step on average
            played = np.minimum(ratio**2 * x, horizon - 0.5) - np.minimum(ratio * x, horizon - 0.5)
            regret += float((gaps.at((ratio - 1) * x) * played) @ measure)
    return regret / math.log(ratio)


def _pieces(end: float, ratio: float) -> tuple[FloatArray, FloatArray]:
    """Midpoints of the pieces of [1 / ratio^2, end] with constant rounded ends, and integrals of 1 / x over them."""
    start = ratio**-2
    if end <= start:
        return np.empty(0), np.empty(0)
    jumps = [np.arange(1, math.ceil(end * ratio**power) + 1) / ratio**power for power in range(3)]
    inner = np.concatenate(jumps)
    borders = np.unique(np.concatenate([[start, end], inner[(inner > start) & (inner < end)]]))
    return (borders[1:] + borders[:-1]) / 2, np.diff(np.log(borders))


def _gauss(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Points x in [low, high] and weights for integrals over log x."""
    borders = np.linspace(math.log(low), math.log(high), math.ceil(math.log(high / low) / _PANEL) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(borders)[:, None] / 2
    points = borders[:-1, None] + half * (nodes + 1)
    return np.exp(points).ravel(), (half * weights).ravel()


class Interpolated:
    """Interpolation of a smooth function of whole numbers: exact up to 512, then by polynomials of degree 31."""

    def __init__(self, value: Callable[[int], float]) -> None:
        self._value = value
        self._few: dict[int, float] = {}
        self._pieces: dict[int, np.polynomial.Chebyshev] = {}

    def at(self, n: FloatArray) -> FloatArray:
        """Values at n >= 1, shape of n; n up to 512 are rounded to whole numbers."""
        values = np.empty(n.shape)
        few = n <= _DIRECT
        whole, where = np.unique(np.rint(n[few]).astype(np.int64), return_inverse=True)
        values[few] = np.array([self._exact(int(rounds)) for rounds in whole])[where]
        numbers = np.floor(np.log(n / _DIRECT) / math.log(_PIECE)).astype(np.int64)
        for number in np.unique(numbers[~few]):
            there = ~few & (numbers == number)
            values[there] = np.maximum(self._piece(int(number))(n[there]), 0.0)
        return values

    def _exact(self, rounds: int) -> float:
        if rounds not in self._few:
            self._few[rounds] = self._value(rounds)
        return self._few[rounds]

    def _piece(self, number: int) -> np.polynomial.Chebyshev:
        if number not in self._pieces:
            low, high = (math.ceil(_DIRECT * _PIECE**power) for power in (number, number + 1))
            nodes = (np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES) + 1) / 2
            rounds = np.unique(np.rint(low + (high - low) * nodes).astype(np.int64))
            values = [self._value(int(count)) for count in rounds]
            polynomial = np.polynomial.Chebyshev.fit(rounds.astype(float), values, len(rounds) - 1, domain=[low, high])
            self._pieces[number] = polynomial
        return self._pieces[number]
