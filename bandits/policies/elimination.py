"""Policies that pull all viable arms in turn and remove those that fall behind."""

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import NOTHING, PrivacyCost
from bandits.audit.epoch_costs import epoch_bounds
from bandits.audit.ledger import Domain, LaplaceRelease, Release, require_domain
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.guarantees import NOT_PRIVATE, Guarantee
from bandits.loops.elimination import slack, successive_pulls
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_sums, require_unit_rewards
from bandits.policies.batched import BatchedRun
from bandits.recording import PullLog


@dataclass(frozen=True)
class Epoch:
    """One epoch of an elimination policy.

    Attributes
    ----------
    rounds: pulls of every viable arm.
    threshold: an arm whose noisy mean trails the best by more is removed.
    truncation: rewards beyond it in absolute value count as 0.
    """

    rounds: int
    threshold: float
    truncation: float = math.inf


def eliminate(
    arms: int,
    epoch_of: Callable[[int, int], Epoch],
    released: Callable[[FloatArray, Epoch, np.random.Generator], FloatArray],
    rng: np.random.Generator,
) -> Choices:
    """`EpochElimination` one step at a time.

    `epoch_of(viable, number)` gives the epoch `number` with so many arms left, and `released(sums, epoch, rng)` the
    noisy means of an epoch.
    """
    viable = list(range(arms))
    for number in itertools.count(1):
        if len(viable) == 1:
            break
        epoch = epoch_of(len(viable), number)
        sums = np.zeros(len(viable))
        for _ in range(epoch.rounds):
            for place, arm in enumerate(viable):
                reward = yield arm
                sums[place] += reward if abs(reward) <= epoch.truncation else 0.0
        viable = survivors(viable, released(sums, epoch, rng), epoch)
    while True:
        yield viable[0]


def survivors(viable: Sequence[int], means: Sequence[float] | FloatArray, epoch: Epoch) -> list[int]:
    """The arms whose noisy means do not trail the best by more than the threshold."""
    best = max(means)
    return [arm for arm, mean in zip(viable, means, strict=True) if best - mean <= epoch.threshold]


class EliminationRun(BatchedRun):
    """A run of elimination in epochs: the sums of all viable arms are due at the end of an epoch.

    Once one arm is left, its rewards enter no sum.
    """

    def __init__(self, arms: int, epsilon: float, epoch_of: Callable[[int, int], Epoch]) -> None:
        self.epsilon = epsilon
        self.viable = list(range(arms))
        self._epoch_of, self._number = epoch_of, 0
        self._begin()

    def _begin(self) -> None:
        self._number += 1
        self._pulled = 0
        self.due = ()
        self.epoch = self._epoch_of(len(self.viable), self._number)
        self.learning = len(self.viable) > 1

    def next_arm(self, rng: np.random.Generator) -> int:
        return self.viable[self._pulled % len(self.viable)]

    def pull(self, arm: int) -> None:
        if self.learning:
            self._pulled += 1
            self._end()

    def _end(self) -> None:
        if self._pulled == self.epoch.rounds * len(self.viable):
            self.due = tuple(self.viable)

    def mean(self, total: float) -> float:
        """The mean reward of an arm in this epoch, from its noisy sum."""
        return total / self.epoch.rounds

    def absorb(self, sums: Sequence[float]) -> None:
        self.viable = survivors(self.viable, [self.mean(total) for total in sums], self.epoch)
        self._begin()

    def summary(self) -> dict[str, object]:
        return {"viable": list(self.viable), "epoch": self._number}

    def saved(self) -> dict[str, Any]:
        return {"pulled": self._pulled, **self.summary()}

    def restore(self, saved: dict[str, Any]) -> None:
        self.viable, self._number = list(saved["viable"]), saved["epoch"] - 1
        self._begin()
        self._pulled = saved["pulled"]
        self._end()


class EpochElimination(Policy):
    """Elimination in epochs: pull the viable arms in turn, compare fresh noisy means, remove arms that trail.

    A reward enters the noisy mean of one arm in one epoch. As nothing is decided within an epoch,
    only its sums are drawn, and the cost does not grow with the horizon.
    """

    time_grows: ClassVar[bool] = False

    @abstractmethod
    def epoch(self, instance: Instance, viable: int, epoch: int, horizon: int) -> Epoch:
        """Epoch 1, 2, ... with `viable` arms left."""

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = len(instance.mean_rewards)
        log = PullLog(arms, horizon, checkpoints)
        viable = np.arange(arms)
        for number in itertools.count(1):
            if len(viable) == 1:
                break
            epoch = self.epoch(instance, len(viable), number, horizon)
            if not self.pull(log, viable, epoch.rounds):  # the horizon ended inside this epoch
                return log.pulls
            means = self.noisy_means(instance, viable, epoch, rng)
            viable = viable[means.max() - means <= epoch.threshold]
        return log.exploit(viable[0])

    @abstractmethod
    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """Mean of the epoch's rewards of each of the `viable` arms, with privacy noise."""

    def pull(self, log: PullLog, viable: IntArray, rounds: int) -> bool:
        """Pull each of the `viable` arms `rounds` times, in turn. False if the horizon cut this short."""
        return log.round_robin(viable, rounds)

    def first_removal(self, instance: Instance, horizon: int) -> float:
        """Steps until the first epoch ends whose threshold is below the largest gap; infinite beyond the horizon.

        Until then all arms are pulled in turn, unless a noisy mean trails the best by more than the gap of its arm.
        """
        means = instance.mean_rewards
        number = steps = 0
        while steps <= horizon:
            number += 1
            epoch = self.epoch(instance, len(means), number, horizon)
            steps += len(means) * epoch.rounds
            if steps <= horizon and epoch.threshold < means.max() - means.min():
                return steps
        return math.inf


class MeanElimination(EpochElimination):
    """Elimination by the means of an epoch, which are released once; rewards lie in [0, 1]."""

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        return eliminate(arms, lambda viable, number: self.epoch_of(viable, number, horizon), self.released, rng)

    def epoch(self, instance: Instance, viable: int, epoch: int, horizon: int) -> Epoch:
        return self.epoch_of(viable, epoch, horizon)

    @abstractmethod
    def epoch_of(self, viable: int, epoch: int, horizon: int) -> Epoch:
        """Epoch 1, 2, ... with `viable` arms left."""

    @abstractmethod
    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """The noisy means of an epoch from its reward sums, shapes (viable,); the sums are used for nothing else."""

    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        return self.released(require_sums(self, instance.sums(viable, epoch.rounds, rng), 0, epoch.rounds), epoch, rng)

    def epochs(self, arms: int, horizon: int) -> list[Epoch]:
        """All epochs if no arm is removed, including the epoch under way at the horizon, which releases nothing."""
        planned = [self.epoch_of(arms, 1, horizon)]
        while arms * sum(epoch.rounds for epoch in planned) < horizon:
            planned.append(self.epoch_of(arms, len(planned) + 1, horizon))
        return planned

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)


def require_beta(beta: float | None) -> None:
    """Refuse a failure probability outside (0, 1); None is 1 / horizon."""
    require(beta is None or 1e-100 <= beta < 1, "beta", beta, "a number in (0, 1) (and at least 1e-100), or null")


@dataclass(frozen=True)
class DPSE(MeanElimination):
    """DP Successive Elimination (Sajed and Sheffet 2019, Algorithm 3).

    The best arm survives with probability at least 1 - `beta`; left out, beta = 1/horizon, as in the
    paper's regret bounds. With a given beta it identifies the best arm, see `bandits.policies.identification`.

    Guarantee: epsilon-DP of the transcript, one reward changed (their Theorem 4.1): a reward enters
    the mean of one arm in one epoch, which is released once.
    """

    name: ClassVar[str] = "dp_se"
    label: ClassVar[str] = "DP-SE"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), Algorithm 3"
    epsilon: float
    beta: float | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_beta(self.beta)

    def epoch_length(self, viable: int, epoch: int, horizon: int) -> float:
        """R_e. The arms are pulled while r < R_e, hence ceil(R_e) times."""
        gap = 2.0**-epoch
        log_mean, log_noise = self._logarithms(viable, epoch, horizon)
        return max(32 * log_mean / gap**2, 8 * log_noise / (self.epsilon * gap)) + 1

    def epoch_of(self, viable: int, epoch: int, horizon: int) -> Epoch:
        """ceil(R_e) rounds and the threshold 2 h_e + 2 c_e; h_e and c_e take R_e itself."""
        length = self.epoch_length(viable, epoch, horizon)
        log_mean, log_noise = self._logarithms(viable, epoch, horizon)
        h = math.sqrt(log_mean / (2 * length))
        c = log_noise / (length * self.epsilon)
        return Epoch(math.ceil(length), 2 * h + 2 * c)

    def _logarithms(self, viable: int, epoch: int, horizon: int) -> tuple[float, float]:
        """log(8 |S| e^2 / beta) of the means and log(4 |S| e^2 / beta) of the noise."""
        beta = 1 / horizon if self.beta is None else self.beta
        return math.log(8 * viable * epoch**2 / beta), math.log(4 * viable * epoch**2 / beta)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        return sums / epoch.rounds + rng.laplace(scale=self.noise_scale(epoch), size=len(sums))

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return EliminationRun(arms, self.epsilon, lambda viable, number: self.epoch_of(viable, number, horizon))

    def noise_scale(self, epoch: Epoch) -> float:
        """The scale of the Laplace noise on the means of an epoch."""
        return 1 / (self.epsilon * epoch.rounds)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mean of one arm in each epoch if no arm is removed, including the epoch under way at the horizon."""
        return tuple(
            LaplaceRelease(f"mean of epoch {number}", "", 0.0, 1.0, epoch.rounds, self.noise_scale(epoch))
            for number, epoch in enumerate(self.epochs(arms, horizon), 1)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The surviving set of the most expensive epoch that ends before the horizon if no arm is removed."""
        require_domain(0.0, domain)
        ended = self.epochs(arms, horizon)[:-1]
        costs = [epoch_bounds(epoch.rounds, epoch.threshold, self.noise_scale(epoch)) for epoch in ended]
        worst = max(costs, key=lambda bounds: bounds.shown, default=NOTHING)
        return PrivacyCost("surviving set", "", worst if arms == 2 or not costs else replace(worst, kept=self.epsilon))

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of a decision: a reward is used in one epoch, and the laws of the others do not depend on it."""
        return self.decision_cost(arms, horizon, domain)


@dataclass(frozen=True)
class SuccessiveElimination(Policy):
    """Successive elimination (Even-Dar, Mannor and Mansour 2006, Algorithm 3), delta = `beta`, else 1/horizon.

    After n pulls of each viable arm, remove those whose mean trails the best by at least 2 alpha_n,
    alpha_n = sqrt(log(c K n^2 / delta) / n) with the constant c = 4. By Hoeffding's inequality, the
    probability that some mean is ever off by more than alpha_n is at most the sum over n of
    2 K (delta / (4 K n^2))^2 < delta. Not private; the counterpart of DP-SE.

    A round moves the difference of two sums by at most 1. So while the threshold on the sums is more than m away no
    arm can be removed in the next m rounds, and these are drawn at once, which is exact in law.
    """

    name: ClassVar[str] = "successive_elimination"
    label: ClassVar[str] = "Successive elimination"
    citation: ClassVar[str] = "Even-Dar, Mannor and Mansour (2006), Algorithm 3"
    beta: float | None = None

    def __post_init__(self) -> None:
        require_beta(self.beta)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        viable, sums = np.arange(arms), np.zeros(arms)
        inverse = self._inverse(horizon)
        for pulls in itertools.count(1):
            if len(viable) == 1:
                break
            for place, arm in enumerate(viable):
                sums[place] += yield int(arm)
            kept = sums.max() - sums < slack(arms, pulls, inverse)
            viable, sums = viable[kept], sums[kept]
        while True:
            yield int(viable[0])

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        if not isinstance(instance, BernoulliInstance):
            return self.simulate_any(instance, horizon, checkpoints, rng)
        return successive_pulls(instance.mean_rewards, horizon, checkpoints, self._inverse(horizon), rng)

    def _inverse(self, horizon: int) -> float:
        """1 / delta."""
        return float(horizon) if self.beta is None else 1 / self.beta

    def simulate_any(
        self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator
    ) -> IntArray:
        """`simulate` for any rewards in [0, 1], without machine code."""
        arms = len(instance.mean_rewards)
        log = PullLog(arms, horizon, checkpoints)
        viable = np.arange(arms)
        sums = np.zeros(arms)
        pulls = 0
        left = 0.0
        inverse = self._inverse(horizon)
        while len(viable) > 1:
            rounds = max(1, math.ceil(left) - 1)
            if not log.round_robin(viable, rounds):
                return log.pulls
            sums += instance.sums(viable, rounds, rng)
            pulls += rounds
            threshold = slack(arms, pulls, inverse)
            behind = sums.max() - sums
            kept = behind < threshold
            viable, sums = viable[kept], sums[kept]
            left = threshold - behind[kept].max()
        return log.exploit(viable[0])

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)
