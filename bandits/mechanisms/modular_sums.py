"""Sums of whole numbers modulo m with noise that users add (Chowdhury and Zhou 2023, Algorithms 1 and 2).

A user with the number x in {0, ..., g} sends (x + noise) mod m; the aggregator sees only the sum of l messages modulo
m. The noises of l users add up to one discrete law, so that the sum is as private as with a trusted server that sees
all numbers. Sums are Python integers, which do not overflow.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import scipy

from bandits.arrays import FloatArray

LARGE = 1e6  # variance of Skellam noise
TINY = 1e-290  # a probability below which doubles lose digits


class SummedNoise(Protocol):
    """The law of the noise of a whole batch."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> list[int]:
        """`size` independent draws."""

    @abstractmethod
    def share(self, users: int, size: int, rng: np.random.Generator) -> list[int]:
        """`size` draws of the noise that one of `users` users adds."""

    @abstractmethod
    def wrapped(self, modulus: int) -> FloatArray:
        """The probabilities of the noise modulo `modulus`, shape (modulus,)."""


@dataclass(frozen=True)
class DiscreteLaplace(SummedNoise):
    """Pr[k] proportional to q^|k|, q = exp(-1 / scale): the difference of two geometric variables.

    The share of one of l users is the difference of two Polya(1 / l, q) variables. numpy's parameter is the probability
    of success, 1 - q = -expm1(-1 / scale). A sum of sensitivity g is epsilon-private with scale g / epsilon.
    """

    scale: float

    @property
    def success(self) -> float:
        return -math.expm1(-1 / self.scale)

    def draw(self, size: int, rng: np.random.Generator) -> list[int]:
        first, second = rng.geometric(self.success, size=(2, size))
        return [int(a) - int(b) for a, b in zip(first, second, strict=True)]

    def share(self, users: int, size: int, rng: np.random.Generator) -> list[int]:
        first, second = rng.negative_binomial(1 / users, self.success, size=(2, size))
        return [int(a) - int(b) for a, b in zip(first, second, strict=True)]

    @property
    def variance(self) -> float:
        """2 q / (1 - q)^2."""
        return 2 * math.exp(-1 / self.scale) / self.success**2

    def wrapped(self, modulus: int) -> FloatArray:
        """Pr[r] = (1 - q) / (1 + q) (q^r + q^(m - r)) / (1 - q^m)."""
        residues = np.arange(modulus)
        q = math.exp(-1 / self.scale)
        chances = np.exp(-residues / self.scale) + np.exp(-(modulus - residues) / self.scale)
        return np.asarray(self.success / (1 + q) / -math.expm1(-modulus / self.scale) * chances)

    def wrapped_cost(self, change: int, modulus: int) -> float:
        """Pure epsilon of the sum modulo m when a number moves by `change`, exactly; at most change / scale.

        Residue r has a probability proportional to q^r + q^(m - r), a multiple of cosh((m / 2 - r) / scale), whose
        logarithm is steepest at r = 0.
        """
        half, step = modulus / 2 / self.scale, change / self.scale
        rest = abs(half - step)
        return min(step, 2 * half - step) + math.log1p(math.exp(-2 * half)) - math.log1p(math.exp(-2 * rest))


@dataclass(frozen=True)
class Skellam(SummedNoise):
    """The difference of two Poisson variables of mean `variance` / 2; the share of one of l users has variance / l."""

    variance: float

    def draw(self, size: int, rng: np.random.Generator) -> list[int]:
        return self.share(1, size, rng)

    def share(self, users: int, size: int, rng: np.random.Generator) -> list[int]:
        first, second = rng.poisson(self.variance / 2 / users, size=(2, size))
        return [int(a) - int(b) for a, b in zip(first, second, strict=True)]

    def masses(self, reach: int) -> FloatArray:
        """The probabilities of -reach, ..., reach: exp(-variance) I_k(variance).

        For large variances by Debye's expansion to first order (DLMF 10.41.3), to a relative 0.1 / variance^2.
        """
        k, v = np.arange(-reach, reach + 1.0), self.variance
        if v < LARGE:
            return np.asarray(scipy.special.ive(np.abs(k), v))
        exponent, factor = self._debye(k)
        return np.asarray(np.exp(exponent) * factor)

    def log_masses(self, reach: int) -> FloatArray:
        """The logarithms of `masses`, by Debye's expansion where a mass underflows: there the order is large."""
        masses = self.masses(reach)
        exponent, factor = self._debye(np.arange(-reach, reach + 1.0))
        return np.where(masses > TINY, np.log(np.maximum(masses, TINY)), exponent + np.log(factor))

    def _debye(self, k: FloatArray) -> tuple[FloatArray, FloatArray]:
        """exp(-variance) I_k(variance) as an exponent and a factor."""
        root = np.hypot(k, self.variance)
        exponent = k * k / (self.variance + root) - k * np.arcsinh(k / self.variance)
        correction = 1 + (3 - 5 * (k / root) ** 2) / (24 * root)
        return exponent, correction / np.sqrt(2 * math.pi * root)

    def wrapped(self, modulus: int) -> FloatArray:
        """As in `SummedNoise`; values beyond 12 standard deviations + 200 have mass below 1e-30 and are left out."""
        reach = math.ceil(12 * math.sqrt(self.variance)) + 200
        masses = np.zeros(modulus)
        np.add.at(masses, np.arange(-reach, reach + 1) % modulus, self.masses(reach))
        return masses

    def delta(self, change: int, epsilon: float) -> float:
        """The smallest delta at `epsilon` when a number moves by `change`, summed over the law, to 1e-12.

        Values beyond 12 standard deviations + 200 have mass below 1e-30 and are left out.
        """
        reach = change + math.ceil(12 * math.sqrt(self.variance)) + 200
        logs = self.log_masses(reach)
        with np.errstate(over="ignore"):
            excess = np.exp(logs[change:]) - np.exp(epsilon + logs[: len(logs) - change])
        return min(1.0, float(np.maximum(excess, 0.0)[::-1].sum() + np.exp(logs[:change]).sum()))


def skellam_renyi(change: float, variance: float, order: float) -> float:
    """A bound on the Renyi divergence of integer `order` when a number moves by `change` (Agarwal et al. 2021).

    order c^2 / (2 v) + min{((2 order - 1) c^2 + 6 c) / (4 v^2), 3 c / (2 v)}, c the change and v the variance.
    """
    more = min(((2 * order - 1) * change**2 + 6 * change) / (4 * variance**2), 3 * change / (2 * variance))
    return order * change**2 / (2 * variance) + more


@cache  # each cell asks its policy for the guarantee
def renyi_epsilon(change: float, variance: float, delta: float) -> float:
    """An epsilon for which Skellam noise is (epsilon, `delta`)-private: the least over a grid of orders up to 10^7.

    With the bound R on the divergence of order a: R + log(1 - 1/a) - (log delta + log a) / (a - 1) (Canonne, Kamath
    and Steinke 2020, Proposition 12).
    """
    orders = np.unique(np.geomspace(2, 1e7, 2000).astype(np.int64)).astype(float)
    epsilons = [
        skellam_renyi(change, variance, a) + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
        for a in orders
    ]
    return max(0.0, float(min(epsilons)))


def decoded(seen: int, modulus: int, most: int) -> int:
    """The sum that the aggregator decodes from a residue: its representative in (most - modulus, most]."""
    return seen - modulus if seen > most else seen
