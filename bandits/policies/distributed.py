"""Successive elimination without a trusted server (Chowdhury and Zhou 2023).

Users round their rewards to whole numbers, add noise and send them modulo m; the server sees only the sum of a batch
modulo m. The guarantee is about these sums: `Scope.DISTRIBUTED`.
"""

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain, Release
from bandits.audit.releases import LaplaceModularSum, SkellamModularSum
from bandits.audit.residues import BatchLaws
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee, Scope
from bandits.mechanisms.modular_sums import DiscreteLaplace, Skellam, SummedNoise, decoded, renyi_epsilon
from bandits.parameters import ParameterError, require
from bandits.policies.base import Choices, require_bernoulli
from bandits.policies.batched import BatchedRun
from bandits.policies.elimination import EliminationRun, Epoch, EpochElimination, survivors
from bandits.recording import PullLog


@dataclass(frozen=True)
class SecureBatch(Epoch):
    """An epoch whose sums the server sees modulo a number.

    Attributes
    ----------
    grid: g; rewards are rounded to multiples of 1 / g.
    margin: tau; the noise of a batch is larger with probability of order 1 / horizon.
    """

    grid: int = 1
    margin: int = 0

    @property
    def modulus(self) -> int:
        """The modulus m = l g + 2 tau + 1."""
        return self.rounds * self.grid + 2 * self.margin + 1

    def mean(self, seen: int) -> float:
        """The mean reward that the server decodes from the residue `seen`."""
        return decoded(seen, self.modulus, self.rounds * self.grid + self.margin) / self.grid / self.rounds


class DistributedRun(EliminationRun):
    """A run of `DistDPSE` whose noisy sums are reduced modulo m and decoded as the server would, arm after arm."""

    epoch: SecureBatch

    @property
    def grid(self) -> int:
        return self.epoch.grid

    def next_arm(self, rng: np.random.Generator) -> int:
        return self.viable[self._pulled // self.epoch.rounds]

    def mean(self, total: float) -> float:
        return self.epoch.mean(round(total * self.epoch.grid) % self.epoch.modulus)


class DistributedElimination(EpochElimination):
    """Base of `DistDPSE` and `DistRDPSE`. Subclasses are frozen dataclasses of their parameters.

    Batch b = 1, 2, ... takes l = `batch_base`^b new users for every viable arm, arm after arm. A user with the
    reward x in [0, 1] sends floor(x g) + Bernoulli(x g - floor(x g)) + noise modulo m, m = l g + 2 tau + 1. The server
    takes the one sum in -tau..l g + tau that has this residue, divides it by g l, and removes arms whose mean
    trails the best by more than 2 beta.

    Only Bernoulli rewards are simulated. They need no rounding: the sum of a batch is g times a binomial number.

    Attributes
    ----------
    precision: s; rewards are rounded to multiples of 1 / g, g = ceil(s epsilon sqrt(l)).
    beta: the best arm is removed with at most this probability; None is 1 / horizon, as in their theorems.
    batch_base: 2 as in the paper; their code has 4.
    """

    order_matters: ClassVar[bool] = True  # the horizon cuts a batch short, whose first arms were pulled
    epsilon: float
    precision: float
    beta: float | None
    batch_base: Literal[2, 4]

    def __post_init__(self) -> None:
        require(1e-8 <= self.epsilon <= 1e4, "epsilon", self.epsilon, "a number > 0 (in 1e-8..1e4: sums are whole)")
        require(1 <= self.precision <= 1000, "precision", self.precision, "a number in 1..1000")
        allowed = "a number in (0, 1) (and at least 1e-100), or null"
        require(self.beta is None or 1e-100 <= self.beta < 1, "beta", self.beta, allowed)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        """One user at a time: each rounds the reward, adds a share of the noise, and sends the result modulo m."""
        viable = list(range(arms))
        for number in itertools.count(1):
            if len(viable) == 1:
                break
            batch = self.batch(len(viable), number, horizon)
            noise = self.noise(batch.grid)
            seen = [0] * len(viable)
            for place, arm in enumerate(viable):
                for _ in range(batch.rounds):
                    exact = (yield arm) * batch.grid
                    rounded = math.floor(exact) + int(rng.random() < exact - math.floor(exact))
                    message = (rounded + noise.share(batch.rounds, 1, rng)[0]) % batch.modulus
                    seen[place] = (seen[place] + message) % batch.modulus
            means = [batch.mean(residue) for residue in seen]
            viable = survivors(viable, means, batch)
        while True:
            yield viable[0]

    def epoch(self, instance: Instance, viable: int, epoch: int, horizon: int) -> Epoch:
        return self.batch(viable, epoch, horizon)

    @abstractmethod
    def noise(self, grid: int) -> SummedNoise:
        """The noise of the sum of a batch of numbers in {0, ..., grid}."""

    @abstractmethod
    def margin(self, grid: int, horizon: int) -> int:
        """The margin tau for the noise on either side of the possible sums."""

    @property
    @abstractmethod
    def tail(self) -> tuple[float, float]:
        """sigma and h: the noise of a batch, in rewards, is sub-exponential with these constants."""

    def grid(self, length: int) -> int:
        """g = ceil(s epsilon sqrt(l))."""
        return math.ceil(self.precision * self.epsilon * math.sqrt(length))

    def batch(self, viable: int, number: int, horizon: int) -> SecureBatch:
        """Batch 1, 2, ... with `viable` arms left; those that trail by more than 2 beta are removed, with

        beta = sqrt(log(4 |S| b^2 / p) / (2 l)) + (sigma sqrt(L) + h L) / l, L = log(2 |S| b^2 / p).
        """
        length = self.batch_base**number
        inverse = horizon if self.beta is None else 1 / self.beta
        log = math.log(2 * viable * number**2 * inverse)
        sigma, h = self.tail
        error = math.sqrt((log + math.log(2)) / (2 * length)) + (sigma * math.sqrt(log) + h * log) / length
        grid = self.grid(length)
        return SecureBatch(length, 2 * error, grid=grid, margin=self.margin(grid, horizon))

    def pull(self, log: PullLog, viable: IntArray, rounds: int) -> bool:
        """Pull the viable arms one after the other, each `rounds` times without a break."""
        return log.arm_after_arm(viable, rounds)

    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        assert isinstance(epoch, SecureBatch)
        totals = instance.sums(viable, epoch.rounds, rng)
        noises = self.noise(epoch.grid).draw(len(viable), rng)
        seen = [(epoch.grid * int(a) + b) % epoch.modulus for a, b in zip(totals, noises, strict=True)]
        return np.array([epoch.mean(residue) for residue in seen])

    def batches(self, arms: int, horizon: int) -> list[SecureBatch]:
        """All batches if no arm is removed, including the one that is under way at the horizon."""
        planned: list[SecureBatch] = []
        while arms * sum(batch.rounds for batch in planned) < horizon:
            planned.append(self.batch(arms, len(planned) + 1, horizon))
        return planned

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the arms: a lower bound from the most expensive batch, in which all arms but one have equal sums.

        It only uses whether one arm alone survives the batch. If that is the last arm, the next pull shows it.
        """
        claimed = self.guarantee
        pure = claimed.delta == 0
        best, witness = 0.0, "no choice up to this horizon depends on a reward"
        for number, batch in enumerate(self.batches(arms, horizon)[:-1], 1):
            noise = self.noise(batch.grid).wrapped(batch.modulus)
            laws = BatchLaws(arms, batch.rounds, batch.grid, batch.margin, batch.threshold, noise)
            shown, told = laws.epsilon(claimed.epsilon) if pure else laws.delta(claimed.epsilon)
            if shown > best:
                best, witness = shown, f"batch {number}: {told}"
        bounds = releases.epsilon if pure else releases.delta
        assert bounds is not None
        cost = replace(
            bounds, shown=best, witness=witness, method=f"{bounds.method}; exact law of a batch", error=1e-10
        )
        return replace(releases, epsilon=cost if pure else None, delta=None if pure else cost)


@dataclass(frozen=True)
class DistDPSE(DistributedElimination):
    """Distributed DP-SE with pure privacy (Chowdhury and Zhou 2023, Algorithms 1 and 2): discrete Laplace noise.

    A user adds the difference of two Polya(1 / l, exp(-epsilon / g)) variables; those of l users add up to discrete
    Laplace noise of scale g / epsilon. tau = ceil(g / epsilon log(2 T)), sigma = sqrt(2) / epsilon, h = 1 / epsilon.

    Guarantee: epsilon-DP of all sums that the server sees, one reward changed (their Theorem 1): a reward moves the sum
    of its batch by at most g, and a user is in one batch.
    """

    name: ClassVar[str] = "dist_dp_se"
    label: ClassVar[str] = "Dist-DP-SE"
    citation: ClassVar[str] = "Chowdhury and Zhou (2023), Algorithms 1 and 2"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 the best arm was pulled first
    epsilon: float
    precision: float = 1.0
    beta: float | None = None
    batch_base: Literal[2, 4] = 2

    def noise(self, grid: int) -> DiscreteLaplace:
        return DiscreteLaplace(grid / self.epsilon)

    def margin(self, grid: int, horizon: int) -> int:
        return math.ceil(grid / self.epsilon * math.log(2 * horizon))

    @property
    def tail(self) -> tuple[float, float]:
        return math.sqrt(2) / self.epsilon, 1 / self.epsilon

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        """A run to which one trusted server adds noise: the guarantee is then about the arms, not about its sums."""
        return DistributedRun(arms, self.epsilon, lambda viable, number: self.batch(viable, number, horizon))

    @property
    def guarantee(self) -> Guarantee:
        fewest = self.grid(self.batch_base)  # steps of a reward, in the first batch
        return Guarantee.discrete_laplace(self.epsilon, fewest, Scope.DISTRIBUTED)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The residue of one arm in each batch."""
        return tuple(
            LaplaceModularSum(f"residue of batch {number}", "", batch.grid, batch.modulus, self.noise(batch.grid))
            for number, batch in enumerate(self.batches(arms, horizon), 1)
        )


@dataclass(frozen=True)
class DistRDPSE(DistributedElimination):
    """Distributed DP-SE with Renyi privacy (Chowdhury and Zhou 2023, section 5): Skellam noise.

    A user adds a Skellam variable of variance g^2 / (l epsilon^2); those of l users add up to variance g^2 / epsilon^2.
    tau = ceil(2 g / epsilon sqrt(log(2 T)) + sqrt(2) log(2 T)), sigma = 2 / epsilon + sqrt(2) / (s epsilon),
    h = 1 / (s epsilon).

    Guarantee: `delta` and the epsilon that goes with it, of all sums that the server sees, one reward changed. The
    Renyi divergence of order a is at most a epsilon^2 / 2 + min{((2a - 1) g^2 + 6 g) epsilon^4 / (4 g^4), 3
    epsilon^2 / (2 g)} (`skellam_renyi`). This bound falls with g: that of the first batch covers all, though the exact
    delta may rise from batch to batch. They print min{(2a - 1) epsilon^2 / (4 s^2) + 3 epsilon / (2 s^3), 3 epsilon^2 /
    (2 s)}, whose last term needs g >= s.
    `epsilon` sets the scale of the noise; the declared epsilon is larger, see `renyi_epsilon`.
    """

    name: ClassVar[str] = "dist_rdp_se"
    label: ClassVar[str] = "Dist-RDP-SE"
    citation: ClassVar[str] = "Chowdhury and Zhou (2023), section 5"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 the best arm was pulled first
    epsilon: float
    delta: float
    precision: float = 10.0
    beta: float | None = None
    batch_base: Literal[2, 4] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.delta, float | int) and 1e-100 <= self.delta < 1):
            allowed = "a number in (0, 1) (and at least 1e-100): Skellam noise is never pure"
            raise ParameterError("delta", f"must be {allowed}, got {self.delta}")

    def noise(self, grid: int) -> Skellam:
        return Skellam((grid / self.epsilon) ** 2)

    def margin(self, grid: int, horizon: int) -> int:
        log = math.log(2 * horizon)
        return math.ceil(2 * grid / self.epsilon * math.sqrt(log) + math.sqrt(2) * log)

    @property
    def tail(self) -> tuple[float, float]:
        grain = self.precision * self.epsilon
        return 2 / self.epsilon + math.sqrt(2) / grain, 1 / grain

    @property
    def guarantee(self) -> Guarantee:
        grid = self.grid(self.batch_base)
        epsilon = renyi_epsilon(grid, self.noise(grid).variance, self.delta)
        return Guarantee(epsilon, self.delta, Scope.DISTRIBUTED)

    def legend(self) -> str:
        return f"{self.label} (s = {self.precision:g}, noise for ε = {self.epsilon:g})"

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sum of one arm in each batch, of which the server sees a residue."""
        return tuple(
            SkellamModularSum(f"sum of batch {number}", "", batch.grid, self.noise(batch.grid))
            for number, batch in enumerate(self.batches(arms, horizon), 1)
        )
