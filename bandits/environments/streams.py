"""Streams of i.i.d. values, for stopping rules: how they are drawn and summed."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray
from bandits.learner import Environment
from bandits.parameters import require

_DIGITS = 53  # binary digits of a uniform number of numpy


class Stream(Environment):
    """I.i.d. values in [-bound, bound]: a single arm. Subclasses are frozen dataclasses.

    Attributes
    ----------
    mean: of every value; 0 is allowed, but a stopping rule may then never halt.
    bound: R, known to the stopping rule.
    """

    feedback: ClassVar[str] = "the values of a stream"
    mean: float
    bound: float

    @property
    def number_of_arms(self) -> int:
        return 1

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """`size` fresh values, shape (size,)."""

    @abstractmethod
    def sums(self, rounds: int, rng: np.random.Generator) -> float:
        """Sum of `rounds` fresh values, drawn directly: the cost does not grow with `rounds`."""


class TwoPointStream(Stream):
    """Values `high` with probability `chance`, else `low`."""

    @property
    @abstractmethod
    def low(self) -> float:
        """The smaller value."""

    @property
    @abstractmethod
    def high(self) -> float:
        """The larger value."""

    @property
    @abstractmethod
    def chance(self) -> float:
        """Probability of the larger value."""

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        return np.where(rng.random(size) < self.chance, self.high, self.low)

    def sums(self, rounds: int, rng: np.random.Generator) -> float:
        return rounds * self.low + (self.high - self.low) * int(rng.binomial(rounds, self.chance))


@dataclass(frozen=True)
class SignedBernoulli(TwoPointStream):
    """Values `bound` and -`bound` with the given `mean` in [-bound, bound]."""

    name: ClassVar[str] = "signed_bernoulli"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), proof of Theorem 3.4"
    mean: float
    bound: float = 1.0

    def __post_init__(self) -> None:
        require_bound(self.bound)
        require(abs(self.mean) <= self.bound, "mean", self.mean, f"a number in [-{self.bound:g}, {self.bound:g}]")

    @property
    def low(self) -> float:
        return -self.bound

    @property
    def high(self) -> float:
        return self.bound

    @property
    def chance(self) -> float:
        return (1 + self.mean / self.bound) / 2


@dataclass(frozen=True)
class BernoulliStream(TwoPointStream):
    """Values 0 and 1 with the given `mean` in [0, 1]; a stopping rule treats them as values in [-1, 1]."""

    name: ClassVar[str] = "bernoulli_stream"
    citation: ClassVar[str] = "free mean"
    mean: float
    bound: float = field(default=1.0, init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 <= self.mean <= 1, "mean", self.mean, "a number in [0, 1]")

    @property
    def low(self) -> float:
        return 0.0

    @property
    def high(self) -> float:
        return 1.0

    @property
    def chance(self) -> float:
        return self.mean


@dataclass(frozen=True)
class EvenStream(TwoPointStream):
    """Values `mean` - `deviation` and `mean` + `deviation`, equally likely: mean and deviation are free.

    Raises `ParameterError` for values outside [-bound, bound].
    """

    name: ClassVar[str] = "even_stream"
    citation: ClassVar[str] = "free mean and deviation"
    mean: float
    deviation: float
    bound: float = 1.0

    def __post_init__(self) -> None:
        require_bound(self.bound)
        require(abs(self.mean) <= self.bound, "mean", self.mean, f"a number in [-{self.bound:g}, {self.bound:g}]")
        room = self.bound - abs(self.mean)
        require(
            0 <= self.deviation <= room, "deviation", self.deviation, f"a number in [0, {room:g}], the bound's room"
        )

    @property
    def low(self) -> float:
        return self.mean - self.deviation

    @property
    def high(self) -> float:
        return self.mean + self.deviation

    @property
    def chance(self) -> float:
        return 0.5


@dataclass(frozen=True)
class UniformStream(Stream):
    """Values uniform on [mean - width, mean + width], which lies in [-bound, bound].

    A sum costs 53 binomial draws, however many terms it has: the binary digits of a uniform number are
    independent fair coins, so that the i-th digits of all terms add up to a binomial number. This is the law
    of the sum of numpy's own uniform numbers, which have 53 digits, up to rounding.
    """

    name: ClassVar[str] = "uniform_stream"
    citation: ClassVar[str] = "free mean"
    portable: ClassVar[bool] = False  # `sums` ends in a matrix product
    mean: float
    width: float
    bound: float = 1.0

    def __post_init__(self) -> None:
        require_bound(self.bound)
        require(abs(self.mean) <= self.bound, "mean", self.mean, f"a number in [-{self.bound:g}, {self.bound:g}]")
        room = self.bound - abs(self.mean)
        require(0 <= self.width <= room, "width", self.width, f"a number in [0, {room:g}], what the bound leaves")

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        values = self.mean - self.width + 2 * self.width * rng.random(size)
        return np.clip(values, -self.bound, self.bound)  # rounding must not leave the bound

    def sums(self, rounds: int, rng: np.random.Generator) -> float:
        ones = rng.binomial(rounds, 0.5, size=_DIGITS)
        uniforms = float(ones @ 0.5 ** np.arange(1, _DIGITS + 1))
        return rounds * (self.mean - self.width) + 2 * self.width * uniforms


def require_bound(bound: float) -> None:
    """Refuse a bound that is not positive, or for which proportional noise would overflow or underflow."""
    require(1e-100 <= bound <= 1e100, "bound", bound, "a number in [1e-100, 1e100]")
