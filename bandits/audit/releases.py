"""Releases of a ledger that are not linear sums with Laplace noise, each with its own formulas."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray
from bandits.audit.composition import composed_delta
from bandits.audit.costs import Bounds
from bandits.audit.halting import halting_bounds
from bandits.audit.ledger import Domain, LaplaceRelease, LaplaceSums, Release, lowest, require_domain
from bandits.audit.noisy_max import noisy_max_cost, prefix_cost, vote_cost
from bandits.loops.stopping import StoppingConstants
from bandits.mechanisms.coins import coins_delta
from bandits.mechanisms.concentrated import concentrated_delta, rho_of_discrete_laplace, rho_of_laplace
from bandits.mechanisms.gaussian import gaussian_delta
from bandits.mechanisms.modular_sums import DiscreteLaplace, Skellam
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.parameters import ParameterError


@dataclass(frozen=True)
class GridRelease(LaplaceRelease):
    """A number in whole steps plus discrete Laplace noise; a change of one item moves it by at most `steps`."""

    steps: int

    def rho(self, domain: Domain) -> float:
        """That of discrete noise, above that of Laplace noise."""
        return rho_of_discrete_laplace(self.cost(domain).kept, self.steps)


@dataclass(frozen=True)
class NoisyMax(Release):
    """The arm that report noisy max chooses after an epoch of `rounds` loss vectors."""

    mechanism: str
    calibration: str
    noise: NoiseName
    scale: float
    arms: int
    rounds: int

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return noisy_max_cost(self.noise, self.scale, self.arms, self.rounds)

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class PrefixNoisyMax(NoisyMax):
    """The arm that report noisy max chooses after a random prefix of an epoch, longer than half of it."""

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return prefix_cost(self.noise, self.scale, self.arms, self.rounds)


@dataclass(frozen=True)
class VotesMax(NoisyMax):
    """The arm that report noisy max chooses from the votes of an epoch."""

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return vote_cost(self.noise, self.scale, self.arms, self.rounds)


@dataclass(frozen=True)
class RepeatedMeans(LaplaceSums):
    """The mean of the first n rewards in [0, 1] of an arm plus Lap(n^-(1 - v/2)), for several n.

    Attributes
    ----------
    costs: the cost of each of these means for a reward that is in all of them, n^-(v/2); shape (releases,).
    """

    mechanism: str
    calibration: str
    costs: FloatArray

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        total = float(self.costs.sum())
        return Bounds(total, total, self._witness + " beyond both centers", "linear algebra", 1e-13 * total)

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        low, high = composed_delta(self.costs, epsilon)
        witness = self._witness + f"; their joint density is more than e^{epsilon:g} times the other"
        return Bounds(high, low, witness, "privacy loss on a grid, rounded up and down")

    @property
    def _witness(self) -> str:
        return f"the first reward of an arm from 0 to 1; all {len(self.costs)} means"

    def touches(self) -> int:
        return len(self.costs)


@dataclass(frozen=True)
class TruncatedValue(Release):
    """The mean of `count` rewards in [0, 1] plus truncated Laplace noise of (epsilon, delta)."""

    mechanism: str
    calibration: str
    epsilon: float
    noise_delta: float
    count: int

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        if self.noise_delta > 0:
            witness = f"one reward from 0 to 1 of {self.count}; the value is below the support of the larger center"
            return Bounds(math.inf, math.inf, witness, "exact law")
        witness = f"one reward from 0 to 1 of {self.count}; the value is below both centers"
        return Bounds(self.epsilon, self.epsilon, witness, "exact law")

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        """The mass where only one density is positive; elsewhere their ratio is at most e^epsilon.

        It grows with the change of the reward. Raises `ParameterError` for another epsilon than that of the noise.
        """
        require_domain(0.0, domain)
        if epsilon != self.epsilon:
            raise ParameterError("epsilon", f"must be that of the noise, {self.epsilon:g}, got {epsilon:g}")
        law = TruncatedLaplace(self.epsilon, self.noise_delta, 1.0, 0.0)  # in units of one reward
        outside = float(law.cdf(1.0 - law.half_width)) if self.noise_delta > 0 else 0.0
        witness = f"one reward from 0 to 1 of {self.count}; the value is below the support of the larger center"
        return Bounds(outside, outside, witness, "exact law", 1e-15)

    def rho(self, domain: Domain) -> float:
        """That of Laplace noise if it is not truncated."""
        return math.inf if self.noise_delta > 0 else rho_of_laplace(self.cost(domain).kept)

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class Halting(Release):
    """The time at which a private stopping rule halts, and its estimate, for values in [-R, R]."""

    mechanism: str
    calibration: str
    questions: tuple[int, ...]
    constants: StoppingConstants

    def cost(self, domain: Domain) -> Bounds:
        require_domain(-self.constants.bound, domain)
        if domain is Domain.NONNEGATIVE:
            raise ParameterError("domain", "stopping rules take values in [-R, R]; known: signed")
        return halting_bounds(list(self.questions), self.constants)

    def touches(self) -> int:
        return len(self.questions)


@dataclass(frozen=True)
class SumAndSpread(LaplaceSums):
    """A sum of values in [low, high] plus Lap(sum_scale), and that of (x - x')^2 / 2 over pairs plus Lap(pair_scale).

    A value that goes from low to high, paired with high, moves the sum up by high - low and the sum over pairs down by
    (high - low)^2 / 2, the most that either can move, so both costs are attained at once.
    """

    mechanism: str
    calibration: str
    low: float
    high: float
    sum_scale: float
    pair_scale: float

    def cost(self, domain: Domain) -> Bounds:
        low = float(lowest(np.array([self.low]), domain)[0])
        change = self.high - low
        epsilon = change / self.sum_scale + change**2 / 2 / self.pair_scale
        witness = (
            f"a value from {low:g} to {self.high:g} beside {self.high:g}; the sum above both centers, the pairs below"
        )
        return Bounds(epsilon, epsilon, witness, "linear algebra", 1e-15 * epsilon)

    def touches(self) -> int:
        return 2


class NormalRelease(Release):
    """Numbers with normal noise that together have a `level` of Gaussian differential privacy, which is attained."""

    level: float
    seen: ClassVar[str] = "a sum of the values"  # what tells two inputs apart

    @property
    @abstractmethod
    def _witness(self) -> str:
        """Two inputs."""

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return Bounds(math.inf, math.inf, f"{self._witness}; {self.seen} far from both", "exact law")

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        delta = gaussian_delta(self.level, epsilon)
        witness = f"{self._witness}; {self.seen} more than e^{epsilon:g} times as likely"
        return Bounds(delta, delta, witness, "exact law", 1e-12 * delta)

    def rho(self, domain: Domain) -> float:
        """level^2 / 2."""
        return self.level**2 / 2


@dataclass(frozen=True)
class GaussianDraws(NormalRelease):
    """The mean of `count` rewards in [0, 1], seen through `draws` values of Normal(mean, `variance`).

    One reward moves each value by 1 / (count sqrt(variance)) standard deviations, and squares of levels add up:
    together the values are `level`-GDP.
    """

    mechanism: str
    calibration: str
    count: int
    draws: int
    variance: float

    @property
    def level(self) -> float:  # type: ignore[override]
        """sqrt(draws / variance) / count."""
        return math.sqrt(self.draws / self.variance) / self.count

    @property
    def _witness(self) -> str:
        return f"one reward from 0 to 1 of {self.count}, seen {self.draws} times"

    def touches(self) -> int:
        return self.draws


@dataclass(frozen=True)
class NormalSums(NormalRelease):
    """Running sums of 1..`items` items in [0, 1] with correlated normal noise (`bandits.mechanisms.gaussian_sums`).

    Together they have the `level` of Gaussian differential privacy, which item 1 attains.
    """

    mechanism: str
    calibration: str
    items: int
    level: float
    seen: ClassVar[str] = "a weighted sum of all sums"

    @property
    def _witness(self) -> str:
        return f"item 1 of {self.items} from 0 to 1"

    def touches(self) -> int:
        return self.items


@dataclass(frozen=True)
class GaussianVector(GaussianDraws):
    """`draws` numbers in [0, 1], all of which may change at once, each with noise of Normal(0, `variance`)."""

    @property
    def _witness(self) -> str:
        return f"all {self.draws} numbers from 0 to 1"


@dataclass(frozen=True)
class GridNormal(Release):
    """A number in whole steps plus discrete normal noise, of which one item moves it by at most `steps`: `zcdp`-zCDP.

    Of its level of Gaussian privacy nothing is known here: the discrete law is not that of a rounded normal number.
    """

    mechanism: str
    calibration: str
    steps: int
    zcdp: float

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return Bounds(math.inf, math.inf, "one reward from 0 to 1; a number far from both", "exact law")

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return Bounds(concentrated_delta(self.zcdp, epsilon), 0.0, "none computed", "zCDP")

    def rho(self, domain: Domain) -> float:
        return self.zcdp

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class RandomBit(Release):
    """A bit that is 1 with a probability linear in one reward, from `low` at `least`, 0 or -1, to 1 - `low` at 1.

    So both bits have the same likelihood ratio. The code does not compute 1 - `low`: at epsilon = 40 `low` is 4e-18.
    """

    mechanism: str
    calibration: str
    low: float
    least: float = 0.0

    def cost(self, domain: Domain) -> Bounds:
        least = float(lowest(np.array([self.least]), domain)[0])
        # Of rewards from 0 on instead of -1 the bit begins at 1/2: ratios 2 (1 - low) and, of bit 0, 1 / (2 low).
        ratio = (math.log1p(-self.low) if least == self.least else -math.log(2)) - math.log(self.low)
        witness = f"one reward from {least:g} to 1; the bit is {int(least == self.least)}"
        return Bounds(ratio, ratio, witness, "exact law", 1e-15 + 1e-12 * ratio)

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class CoinCount(Release):
    """A number of ones that one reward moves by at most 1, plus the heads of `coins` fair coins: integer noise."""

    mechanism: str
    calibration: str
    coins: int

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return Bounds(math.inf, math.inf, "one reward from 1 to 0; no one among all bits", "exact law")

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        delta = coins_delta(self.coins, epsilon)
        witness = f"one reward from 0 to 1; counts more than e^{epsilon:g} times as likely"
        return Bounds(delta, delta, witness, "exact law", 1e-9 * delta)

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class LaplaceModularSum(Release):
    """A sum of whole numbers in {0, ..., `change`} with discrete Laplace noise, modulo `modulus`."""

    mechanism: str
    calibration: str
    change: int
    modulus: int
    noise: DiscreteLaplace

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        epsilon = self.noise.wrapped_cost(self.change, self.modulus)
        witness = f"one number from 0 to {self.change}; the residue is the larger sum modulo {self.modulus}"
        return Bounds(epsilon, epsilon, witness, "exact law of the residue", 1e-12 * epsilon)

    def rho(self, domain: Domain) -> float:
        """That of the sum, of which the residue is a function."""
        return rho_of_discrete_laplace(self.change / self.noise.scale, self.change)

    def touches(self) -> int:
        return 1


@dataclass(frozen=True)
class SkellamModularSum(Release):
    """A sum of whole numbers in {0, ..., `change`} with Skellam noise, modulo a number that is much larger.

    The audit is of the sum itself; the residue is a function of it.
    """

    mechanism: str
    calibration: str
    change: int
    noise: Skellam

    def cost(self, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        return Bounds(math.inf, math.inf, self._witness + "; a sum far from both", "exact law")

    def delta(self, epsilon: float, domain: Domain) -> Bounds:
        require_domain(0.0, domain)
        delta = self.noise.delta(self.change, epsilon)
        return Bounds(
            delta, delta, self._witness + f"; sums more than e^{epsilon:g} times as likely", "exact law", 1e-12
        )

    @property
    def _witness(self) -> str:
        return f"one number from 0 to {self.change}"

    def touches(self) -> int:
        return 1
