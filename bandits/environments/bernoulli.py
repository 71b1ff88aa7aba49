"""Arms that pay 0 or 1: the instances of Sajed and Sheffet (2019) and of Wang and Zhu (2024)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.parameters import require, require_arms


class BernoulliInstance(Instance):
    """Rewards 1 with probability `mean_rewards[arm]`, else 0."""

    support: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def in_order(self, order: IntArray) -> "Bernoulli":
        return Bernoulli(tuple(self.mean_rewards[order].tolist()))

    def sample(self, arm: int, rng: np.random.Generator) -> float:
        return float(rng.random() < self.mean_rewards[arm])

    def sums(self, arms: IntArray, rounds: int, rng: np.random.Generator) -> FloatArray:
        return rng.binomial(rounds, self.mean_rewards[arms]).astype(np.float64)


@dataclass(frozen=True)
class Bernoulli(BernoulliInstance):
    """Bernoulli arms with free `means`, at least two of them, each in [0, 1]."""

    name: ClassVar[str] = "bernoulli"
    citation: ClassVar[str] = "free means"
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        require(len(self.means) >= 2, "means", list(self.means), "a list of at least 2 numbers")
        require(all(0 <= mean <= 1 for mean in self.means), "means", list(self.means), "numbers in [0, 1]")

    def define_means(self) -> FloatArray:
        return np.array(self.means)


@dataclass(frozen=True)
class _SajedInstance(BernoulliInstance):
    """Bernoulli arms whose means fall from 0.75 to 0.25 (C2 to C4) or to 0.70 (C1)."""

    citation: ClassVar[str] = "Sajed and Sheffet (2019), section 5"
    arms: int

    def __post_init__(self) -> None:
        require_arms(self.arms, most=1_000_000)  # every checkpoint stores the pulls of each arm


@dataclass(frozen=True)
class C1(_SajedInstance):
    """Means 0.75, 0.7, ..., 0.7: every suboptimal arm has the gap 0.05 (Sajed and Sheffet 2019, section 5)."""

    name: ClassVar[str] = "c1"

    def define_means(self) -> FloatArray:
        means = np.full(self.arms, 0.7)
        means[0] = 0.75
        return means


@dataclass(frozen=True)
class C2(_SajedInstance):
    """Means that fall linearly from 0.75 to 0.25 (Sajed and Sheffet 2019, section 5)."""

    name: ClassVar[str] = "c2"

    def define_means(self) -> FloatArray:
        return np.linspace(0.75, 0.25, self.arms)


@dataclass(frozen=True)
class C3(_SajedInstance):
    """Means a(i-K)^2 + c, i = 1..K, a > 0: many large gaps (Sajed and Sheffet 2019, section 5)."""

    name: ClassVar[str] = "c3"

    def define_means(self) -> FloatArray:
        below_last = np.linspace(1, 0, self.arms)
        return 0.25 + 0.5 * below_last**2


@dataclass(frozen=True)
class C4(_SajedInstance):
    """Means a(i-1)^2 + c, i = 1..K, a < 0: many small gaps (Sajed and Sheffet 2019, section 5)."""

    name: ClassVar[str] = "c4"

    def define_means(self) -> FloatArray:
        after_first = np.linspace(0, 1, self.arms)
        return 0.75 - 0.5 * after_first**2


@dataclass(frozen=True)
class Linear9(BernoulliInstance):
    """Nine means from 0.3 to 0.7 in steps of 0.05: "Instance 1" of Wang and Zhu (2024), section 8."""

    name: ClassVar[str] = "linear9"
    citation: ClassVar[str] = "Wang and Zhu (2024), section 8, Instance 1"

    def define_means(self) -> FloatArray:
        return 0.3 + 0.05 * np.arange(9.0)


@dataclass(frozen=True)
class Linear101(BernoulliInstance):
    """101 means from 0.3 to 0.7 in steps of 0.004: "Instance 2" of Wang and Zhu (2024), section 8."""

    name: ClassVar[str] = "linear101"
    citation: ClassVar[str] = "Wang and Zhu (2024), section 8, Instance 2"

    def define_means(self) -> FloatArray:
        return 0.3 + 0.004 * np.arange(101.0)


@dataclass(frozen=True)
class RandomMeans(BernoulliInstance):
    """Means drawn independently and uniformly from [0.05, 0.95], so that the instance is not hand-picked.

    The uniform numbers are the first outputs of PCG64 with this `seed`, the same in every version of numpy, over 2^64.
    """

    name: ClassVar[str] = "random_means"
    citation: ClassVar[str] = "drawn at random"
    arms: int
    seed: int

    def __post_init__(self) -> None:
        require_arms(self.arms, most=1_000_000)
        require(self.seed >= 0, "seed", self.seed, "a whole number from 0 on")

    def define_means(self) -> FloatArray:
        drawn = np.random.PCG64(self.seed).random_raw(self.arms)
        return 0.05 + 0.9 * (drawn.astype(np.float64) / 2.0**64)
