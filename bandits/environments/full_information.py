"""Full information: every loss of every arm is seen at every step.

(Wu and Wang 2025 call it decision-theoretic online learning, hence `dtol` in the names of the environments.)

Arms come in groups of equal mean loss, so a million arms cost no more than a few: a learner needs the number of arms of
a group with each epoch sum, not which arms these are.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.environments.beta_sums import beta_sums
from bandits.environments.gap_profiles import GapProfile
from bandits.learner import Environment
from bandits.parameters import require

Losses = Literal["deterministic", "bernoulli"]


class FullInformation(Environment):
    """Independent losses in [0, 1] of K arms; the arms of a group of the `profile` have the mean `best` + gap.

    Attributes
    ----------
    losses: the law of the losses if expected regret can be computed exactly for it, else None.
    """

    feedback: ClassVar[str] = "the losses of all arms"
    losses: ClassVar[Losses | None] = None
    profile: GapProfile
    best: float

    @property
    def number_of_arms(self) -> int:
        return int(self.counts.sum())

    @property
    def gaps(self) -> FloatArray:
        """How far the mean loss of each group lies above the least, shape (groups,)."""
        return self.profile.gaps

    @property
    def counts(self) -> IntArray:
        """Arms in each group, shape (groups,)."""
        return self.profile.counts

    @cached_property
    def mean_losses(self) -> FloatArray:
        """Mean loss of the arms of each group, shape (groups,)."""
        return np.minimum(self.best + self.gaps, 1.0)  # 0.3 + 0.7 may exceed 1 by a rounding

    @abstractmethod
    def sums(self, group: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Sums of `rounds` fresh losses of the arms of a group: distinct values, and how many arms have each.

        Sums are drawn directly: the cost does not grow with `rounds`, and grows with the arms only up to the
        number of values that a sum can take.
        """

    def resampled_sums(self, group: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """The same with every loss x replaced by a Bernoulli(x) variable: Binomial(rounds, mean)."""
        return binomial_sums(float(self.mean_losses[group]), int(self.counts[group]), rounds, rng)

    @abstractmethod
    def losses_of(self, arms: IntArray, steps: int, rng: np.random.Generator) -> FloatArray:
        """Losses of `steps` steps of arms of the groups `arms`, shape (steps, len(arms))."""


def binomial_sums(probability: float, arms: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """`arms` draws of Binomial(rounds, probability): values and how many arms have each.

    Many arms with few possible values are one multinomial draw over the values.
    """
    if arms <= rounds + 1:
        return rng.binomial(rounds, probability, size=arms).astype(np.float64), np.ones(arms, dtype=np.int64)
    values = np.arange(rounds + 1)
    mass = scipy.stats.binom.pmf(values, rounds, probability)
    arms_at = rng.multinomial(arms, mass / mass.sum())
    return values[arms_at > 0].astype(np.float64), arms_at[arms_at > 0]


def _require_means(instance: FullInformation) -> None:
    room = 1 - float(instance.gaps.max())
    allowed = f"a number in [0, {room:g}], so that no mean loss of the profile exceeds 1"
    require(0 <= instance.best <= room + 1e-12, "best", instance.best, allowed)


@dataclass(frozen=True)
class BernoulliLosses(FullInformation):
    """Losses 1 with probability `best` + gap, else 0."""

    name: ClassVar[str] = "dtol_bernoulli"
    citation: ClassVar[str] = "Wu and Wang (2025), section 1.1"
    losses: ClassVar[Losses | None] = "bernoulli"
    profile: GapProfile
    best: float = 0.0

    def __post_init__(self) -> None:
        _require_means(self)

    def sums(self, group: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        return self.resampled_sums(group, rounds, rng)

    def losses_of(self, arms: IntArray, steps: int, rng: np.random.Generator) -> FloatArray:
        return (rng.random((steps, len(arms))) < self.mean_losses[arms]).astype(np.float64)


@dataclass(frozen=True)
class DeterministicLosses(FullInformation):
    """Losses that never vary: `best` + gap at every step (the deterministic setting of section 2.2)."""

    name: ClassVar[str] = "dtol_deterministic"
    citation: ClassVar[str] = "Wu and Wang (2025), section 2.2"
    losses: ClassVar[Losses | None] = "deterministic"
    profile: GapProfile
    best: float = 0.0

    def __post_init__(self) -> None:
        _require_means(self)

    def sums(self, group: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        return rounds * self.mean_losses[[group]], self.counts[[group]]

    def losses_of(self, arms: IntArray, steps: int, rng: np.random.Generator) -> FloatArray:
        return np.tile(self.mean_losses[arms], (steps, 1))


@dataclass(frozen=True)
class BetaLosses(FullInformation):
    """Losses Beta(m c, (1 - m) c) with mean m = `best` + gap in (0, 1) and `concentration` c > 0."""

    name: ClassVar[str] = "dtol_beta"
    citation: ClassVar[str] = "Wu and Wang (2025), section 1.1"
    profile: GapProfile
    best: float = 0.25
    concentration: float = 4.0

    def __post_init__(self) -> None:
        _require_means(self)
        open_interval = self.best > 0 and self.mean_losses.max() < 1
        require(open_interval, "best", self.best, "above 0, and every mean loss below 1")
        require(0.01 <= self.concentration <= 1e4, "concentration", self.concentration, "a number in [0.01, 1e4]")

    def sums(self, group: int, rounds: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        arms = int(self.counts[group])
        values = beta_sums(float(self.mean_losses[group]), self.concentration, rounds, arms, rng)
        return values, np.ones(arms, dtype=np.int64)

    def losses_of(self, arms: IntArray, steps: int, rng: np.random.Generator) -> FloatArray:
        means = self.mean_losses[arms]
        return rng.beta(means * self.concentration, (1 - means) * self.concentration, size=(steps, len(arms)))
