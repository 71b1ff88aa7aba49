"""Instances whose rewards have no bound, only a (1+v)-th moment."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.environments.pareto_sums import truncated_moments, truncated_pareto_sum
from bandits.parameters import ParameterError, require


class HeavyTailedInstance(Instance):
    """Rewards X >= 0 with E X^(1+v) <= u, v > 0. Subclasses are dataclasses with a field `v`."""

    support: ClassVar[tuple[float, float]] = (0.0, math.inf)
    v: float

    @property
    @abstractmethod
    def moment(self) -> float:
        """u, the largest (1+v)-th moment of an arm."""

    @abstractmethod
    def truncated_sums(self, arms: IntArray, rounds: int, bound: float, rng: np.random.Generator) -> FloatArray:
        """Sum over `rounds` fresh rewards x of x 1{x <= bound}, for each of `arms`, shape (len(arms),)."""

    @abstractmethod
    def truncated_means(self, arms: IntArray, bound: float) -> FloatArray:
        """E x 1{x <= bound} of each of `arms`, shape (len(arms),)."""

    def sums(self, arms: IntArray, rounds: int, rng: np.random.Generator) -> FloatArray:
        return self.truncated_sums(arms, rounds, math.inf, rng)


def require_exponent(v: float) -> None:
    """Refuse a v outside (0, 1]: the theory covers moments of order 1 + v in (1, 2] only."""
    require(0 < v <= 1, "v", v, "a number in (0, 1]")


def require_any_exponent(v: float) -> None:
    """Moments of order 1 + v up to 11: above order 2 tails are light, which the policies of Tao et al. do not use."""
    require(0 < v <= 10, "v", v, "a number in (0, 10]")


class ParetoInstance(HeavyTailedInstance):
    """Pareto rewards of one `shape`, density shape scale^shape / x^(shape+1) for x >= scale.

    The scale of an arm follows from its mean: (shape - 1) mean / shape.
    """

    @property
    @abstractmethod
    def tail_index(self) -> float:
        """The shape of every arm; moments below this order are finite."""

    @cached_property
    def scales(self) -> FloatArray:
        """Smallest reward of every arm, shape (arms,)."""
        return np.asarray((self.tail_index - 1) * self.mean_rewards / self.tail_index)

    @property
    def moment(self) -> float:
        order = 1 + self.v
        return float(self.tail_index * self.scales.max() ** order / (self.tail_index - order))

    def sample(self, arm: int, rng: np.random.Generator) -> float:
        return float(self.scales[arm] * math.exp(rng.standard_exponential() / self.tail_index))

    def truncated_sums(self, arms: IntArray, rounds: int, bound: float, rng: np.random.Generator) -> FloatArray:
        scales = self.scales[arms]
        return np.array([truncated_pareto_sum(float(scale), self.tail_index, bound, rounds, rng) for scale in scales])

    def truncated_means(self, arms: IntArray, bound: float) -> FloatArray:
        return np.array(
            [
                truncated_moments(scale, self.tail_index, bound)[0] if bound > scale else 0.0
                for scale in self.scales[arms]
            ]
        )


@dataclass(frozen=True)
class Pareto(ParetoInstance):
    """Pareto arms with free positive `means` and `shape`, 1.05 + v unless given."""

    name: ClassVar[str] = "pareto"
    citation: ClassVar[str] = "free means"
    means: tuple[float, ...]
    v: float
    shape: float | None = None

    def __post_init__(self) -> None:
        require_any_exponent(self.v)
        require(len(self.means) >= 2, "means", list(self.means), "a list of at least 2 numbers")
        require(all(0 < mean < math.inf for mean in self.means), "means", list(self.means), "numbers > 0")
        if self.tail_index <= 1 + self.v:
            raise ParameterError(
                "shape", f"must be larger than 1 + v = {1 + self.v:g}, or the moment is infinite, got {self.shape:g}"
            )

    @property
    def tail_index(self) -> float:
        return 1.05 + self.v if self.shape is None else self.shape

    def define_means(self) -> FloatArray:
        return np.array(self.means)


@dataclass(frozen=True)
class _TaoInstance(ParetoInstance):
    """Five Pareto arms of shape 1.05 + v."""

    citation: ClassVar[str] = "Tao, Wu, Zhao and Wang (2022), section 6"
    v: float

    def __post_init__(self) -> None:
        require_exponent(self.v)

    @property
    def tail_index(self) -> float:
        return 1.05 + self.v


@dataclass(frozen=True)
class S1(_TaoInstance):
    """Means 0.9, 0.7, 0.5, 0.3, 0.1 (Tao et al. 2022, section 6)."""

    name: ClassVar[str] = "s1"

    def define_means(self) -> FloatArray:
        return np.array([0.9, 0.7, 0.5, 0.3, 0.1])


@dataclass(frozen=True)
class S2(_TaoInstance):
    """Means 0.05 (a - 5)^2 + 0.1, a = 1..5: many large gaps (Tao et al. 2022, section 6)."""

    name: ClassVar[str] = "s2"

    def define_means(self) -> FloatArray:
        return np.asarray(0.05 * (np.arange(1.0, 6.0) - 5) ** 2 + 0.1)


@dataclass(frozen=True)
class S3(_TaoInstance):
    """Means -0.05 (a - 1)^2 + 0.9, a = 1..5: many small gaps (Tao et al. 2022, section 6)."""

    name: ClassVar[str] = "s3"

    def define_means(self) -> FloatArray:
        return np.asarray(-0.05 * (np.arange(1.0, 6.0) - 1) ** 2 + 0.9)


@dataclass(frozen=True)
class TwoPoint(HeavyTailedInstance):
    """The lower-bound instances of Tao et al. (2022), proof of Theorem 5.

    Arm a pays 1/s with probability s^(1+v) / 2, else 0, where s = (2 mean)^(1/v); every arm has the
    (1+v)-th moment 1/2. Raises `ParameterError` for a mean outside (0, 1/2], where s would exceed 1.
    """

    name: ClassVar[str] = "two_point"
    citation: ClassVar[str] = "Tao, Wu, Zhao and Wang (2022), proof of Theorem 5"
    means: tuple[float, ...]
    v: float

    def __post_init__(self) -> None:
        require_exponent(self.v)
        require(len(self.means) >= 2, "means", list(self.means), "a list of at least 2 numbers")
        require(all(0 < mean <= 0.5 for mean in self.means), "means", list(self.means), "numbers in (0, 0.5]")

    def define_means(self) -> FloatArray:
        return np.array(self.means)

    @cached_property
    def prizes(self) -> FloatArray:
        """The positive reward 1/s of every arm, shape (arms,)."""
        return np.asarray((2 * self.mean_rewards) ** (-1 / self.v))

    @cached_property
    def chances(self) -> FloatArray:
        """Probability of the positive reward, shape (arms,)."""
        return np.asarray(self.prizes ** -(1 + self.v) / 2)

    @property
    def moment(self) -> float:
        return 0.5

    def sample(self, arm: int, rng: np.random.Generator) -> float:
        return float(self.prizes[arm] if rng.random() < self.chances[arm] else 0.0)

    def truncated_sums(self, arms: IntArray, rounds: int, bound: float, rng: np.random.Generator) -> FloatArray:
        prizes = np.where(self.prizes[arms] <= bound, self.prizes[arms], 0.0)
        return np.asarray(prizes * rng.binomial(rounds, self.chances[arms]))

    def truncated_means(self, arms: IntArray, bound: float) -> FloatArray:
        return np.where(self.prizes[arms] <= bound, self.mean_rewards[arms], 0.0)


@dataclass(frozen=True)
class MomentBernoulli(BernoulliInstance, HeavyTailedInstance):
    """Bernoulli arms and their (1+v)-th moment, the largest mean: for policies of bounded or heavy-tailed rewards."""

    name: ClassVar[str] = "moment_bernoulli"
    citation: ClassVar[str] = "free means"
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    means: tuple[float, ...]
    v: float

    def __post_init__(self) -> None:
        require_any_exponent(self.v)
        require(len(self.means) >= 2, "means", list(self.means), "a list of at least 2 numbers")
        require(all(0 <= mean <= 1 for mean in self.means), "means", list(self.means), "numbers in [0, 1]")

    def define_means(self) -> FloatArray:
        return np.array(self.means)

    @property
    def moment(self) -> float:
        return float(self.mean_rewards.max())

    def truncated_sums(self, arms: IntArray, rounds: int, bound: float, rng: np.random.Generator) -> FloatArray:
        return BernoulliInstance.sums(self, arms, rounds, rng) if bound >= 1 else np.zeros(len(arms))

    def truncated_means(self, arms: IntArray, bound: float) -> FloatArray:
        return self.mean_rewards[arms] if bound >= 1 else np.zeros(len(arms))
