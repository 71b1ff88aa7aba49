"""Expected regret of RNM-FTNL on many gap profiles at once, to about three digits, for searches.

The best arm never loses, so its value is its noise Q, and the largest value lies in a window that all profiles share.
The law of the value -G + Q of an arm depends on its gap and the epoch only. So these laws are tabulated once, for a
`grid` of gaps and at fixed nodes x of a quadrature; with F and f of an arm of gap g, regret needs

    the sum over groups of gap * count * integral of f_g / F_g (x) * product over all arms of F(x)  dx

(`bandits.exact.noisy_values`), and takes a few operations for each group and node. `bandits.exact.regret` computes the
regret of one profile to eight digits.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.mechanisms.report_noisy_max import NoiseName

FLOOR = 1e-9  # probabilities below this are neglected
LARGEST_SUM = 4096  # beyond it tables of binomial sums take too much memory
_PANELS = 4  # for each unit of scale of the noise
_NODES, _WEIGHTS = (points / 2 for points in np.polynomial.legendre.leggauss(3))


@dataclass(frozen=True)
class ManyProfiles:
    """Profiles of `arms` arms whose gaps are in the increasing `grid`, shape (gaps,), all positive.

    `binomial` says whether sums of losses are binomial; otherwise they never vary. `scale` is that of the noise.
    """

    grid: FloatArray
    arms: int
    noise: NoiseName
    scale: float
    binomial: bool
    horizon: int
    _epochs: list["_Epoch"] = field(init=False)
    _weights: FloatArray = field(init=False)
    _best: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        law = _law(self.noise, self.scale)
        low, high = float(law.ppf(FLOOR)), float(law.isf(FLOOR / self.arms))
        panels = math.ceil((high - low) * _PANELS / self.scale)
        edges = np.unique(np.append(np.linspace(low, high, panels), 0.0))  # Laplace noise has a kink at 0
        width = np.diff(edges)[:, None]
        nodes = (edges[:-1, None] + width * (_NODES + 0.5)).ravel()
        largest = largest_sum(self.noise, self.scale, self.arms)
        shifts = np.arange(largest + 1.0) if self.binomial else np.empty(0)
        at_sums = [function(nodes[:, None] + shifts).T for function in (law.sf, law.pdf)]
        epochs: list[_Epoch] = []
        rounds = 1
        while 2 * rounds <= self.horizon and rounds * self._least_lag < self.scale * math.log(self.arms / FLOOR):
            if self.binomial:
                masses = _masses(rounds, self.grid, largest)
                survival, density = (masses @ values[: masses.shape[1]] for values in at_sums)
            else:
                survival, density = (function(nodes + rounds * self.grid[:, None]) for function in (law.sf, law.pdf))
            survival = np.minimum(survival, 1 - FLOOR**2)
            steps = min(2 * rounds, self.horizon - 2 * rounds + 1)
            epochs.append(_Epoch(steps, np.log1p(-survival), self.grid[:, None] * density / (1 - survival)))
            rounds *= 2
        object.__setattr__(self, "_epochs", epochs)
        object.__setattr__(self, "_weights", (width * _WEIGHTS).ravel())
        object.__setattr__(self, "_best", law.cdf(nodes))

    @property
    def _least_lag(self) -> float:
        """By how much arms of the least gap fall behind per step: E e^(-sum / scale) = e^(-rounds lag / scale)."""
        least = float(self.grid[0])
        return -self.scale * math.log1p(least * math.expm1(-1 / self.scale)) if self.binomial else least

    def regret(self, gaps: IntArray, counts: IntArray) -> FloatArray:
        """Expected regret, shape (profiles,); `gaps` are places in the grid. Both of shape (profiles, groups)."""
        total: FloatArray = (self.grid[gaps] * counts).sum(axis=1) / self.arms
        for epoch in self._epochs:
            all_below = np.exp(np.einsum("pg,pgx->px", counts, epoch.log_cdf[gaps])) * (self._best * self._weights)
            total += epoch.steps * np.einsum("pg,pgx,px->p", counts, epoch.hazard[gaps], all_below, optimize=True)
        return total


@dataclass(frozen=True)
class _Epoch:
    """The `steps` of an epoch, and the laws after the previous epoch, shapes (gaps, nodes); `hazard` is gap * f / F."""

    steps: int
    log_cdf: FloatArray
    hazard: FloatArray


def largest_sum(noise: NoiseName, scale: float, arms: int) -> int:
    """An arm with a larger sum of losses has no chance: sums beyond it count as infinite."""
    law = _law(noise, scale)
    return math.ceil(float(law.isf(FLOOR / arms) - law.ppf(FLOOR)))


def _law(noise: NoiseName, scale: float) -> Any:
    """The law of the noise, of scipy."""
    laws = {"laplace": scipy.stats.laplace, "gumbel": scipy.stats.gumbel_r, "exponential": scipy.stats.expon}
    return laws[noise](scale=scale)


def _masses(rounds: int, means: FloatArray, largest: int) -> FloatArray:
    """Probabilities of the sums 0, 1, ..., up to `largest`, of Binomial(rounds, mean), shape (means, sums)."""
    sums, mean = np.arange(min(rounds, largest) + 1.0), means[:, None]
    ways = -scipy.special.betaln(rounds - sums + 1, sums + 1) - math.log1p(rounds)
    return np.asarray(np.exp(ways + scipy.special.xlogy(sums, mean) + scipy.special.xlog1py(rounds - sums, -mean)))
