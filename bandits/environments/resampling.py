"""Rewards in [0, 1] turned into zeros and ones, for policies that need these."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.parameters import ParameterError, require


@dataclass(frozen=True)
class Beta(Instance):
    """Arms with continuous rewards Beta(mean c, (1 - mean) c), `means` in (0, 1), c the `concentration` > 0."""

    name: ClassVar[str] = "beta"
    citation: ClassVar[str] = "free means"
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    means: tuple[float, ...]
    concentration: float

    def __post_init__(self) -> None:
        require(len(self.means) >= 2, "means", list(self.means), "a list of at least 2 numbers")
        require(all(0 < mean < 1 for mean in self.means), "means", list(self.means), "numbers in (0, 1)")
        require(0 < self.concentration < np.inf, "concentration", self.concentration, "a number > 0")

    def define_means(self) -> FloatArray:
        return np.array(self.means)

    def in_order(self, order: IntArray) -> "Beta":
        return Beta(tuple(self.mean_rewards[order].tolist()), self.concentration)

    def sample(self, arm: int, rng: np.random.Generator) -> float:
        mean = self.means[arm]
        return float(rng.beta(mean * self.concentration, (1 - mean) * self.concentration))

    def sums(self, arms: IntArray, rounds: int, rng: np.random.Generator) -> FloatArray:
        return np.array([self._sum(float(mean), rounds, rng) for mean in self.mean_rewards[arms]])

    def _sum(self, mean: float, rounds: int, rng: np.random.Generator) -> float:
        """Drawn reward by reward, a million at a time."""
        total, left = 0.0, rounds
        while left > 0:
            block = min(left, 1_000_000)
            total += float(rng.beta(mean * self.concentration, (1 - mean) * self.concentration, size=block).sum())
            left -= block
        return total


@dataclass(frozen=True)
class Resampled(BernoulliInstance):
    """The arms of `inner`, every reward x in [0, 1] replaced by 1 with probability x, else 0.

    This is how the policies of Wang and Zhu (2024), section 3.1, treat rewards that are not Bernoulli. The
    means stay the same. The replacements are independent, so independent rewards become independent
    Bernoulli(mean) rewards, and these are drawn directly. Raises `ParameterError` for rewards outside [0, 1].
    """

    name: ClassVar[str] = "resampled"
    citation: ClassVar[str] = "Wang and Zhu (2024), section 3.1"
    inner: Instance

    def __post_init__(self) -> None:
        low, high = self.inner.support
        if low < 0 or high > 1:
            raise ParameterError(
                "inner", f"must have rewards in [0, 1], those of {self.inner.name} are in [{low}, {high}]"
            )

    def define_means(self) -> FloatArray:
        return self.inner.mean_rewards
