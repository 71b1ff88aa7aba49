"""Policies with little Nash regret, whose early users lose little too: DP-NCB and LDP-NCB.

The text that was read of their paper (arXiv 2508.03836) is its abstract and introduction; the algorithms are those of
its public code (github.com/NP-Hardest/DP-NCB, `algorithms/GDPNCB.py` and `LDPNCB.py`).
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import Bounds, PrivacyCost
from bandits.audit.ledger import Domain, LaplaceRelease, Release, require_domain
from bandits.audit.releases import RepeatedMeans
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.guarantees import Guarantee, Scope
from bandits.loops.nash import (
    LocalRule,
    NashRule,
    Phases,
    local_nash_bound,
    local_nash_pulls,
    nash_bound,
    nash_pulls,
)
from bandits.parameters import ParameterError, require, require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.batched import BatchedRun
from bandits.policies.local_ucb import LocalPolicy, Received

FIRST_SUM = 1600.0  # of the sum that ends the first phase of the public code


def first_steps(horizon: int) -> int:
    """W, the steps of the first phase: floor(sqrt(T)) + 1."""
    return math.isqrt(horizon) + 1


def require_constants(c: float, alpha: float) -> None:
    """Raise `ParameterError` unless c > 0 and alpha > 3."""
    require(0 < c <= 1e6, "c", c, "a number > 0 (and at most 1e6)")
    require(3 < alpha <= 1e6, "alpha", alpha, "a number > 3 (and at most 1e6)")


@dataclass(frozen=True)
class NashBatches(Policy):
    """Base of DP-NCB and of its public code: uniform pulls, then batches by a Nash confidence bound.

    For at most W = floor(sqrt(T)) + 1 steps arms are drawn uniformly. Then the arm with the largest

        m + 2 c sqrt(2 m L / n) + (x + 4 sqrt(2 x L)) / n,    L = log W, x = alpha L b,

    is pulled for a batch, twice as long as its last one, from 2: m is the noisy mean, clipped to [0, 1], of its n
    rewards in the first phase and in its last batch; x bounds their noise, b is its scale.
    """

    time_grows: ClassVar[bool] = False
    epsilon: float
    c: float = 3.0
    alpha: float = 3.1

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_constants(self.c, self.alpha)

    @abstractmethod
    def rule(self, horizon: int) -> NashRule:
        """How arms are compared."""

    @abstractmethod
    def phases(self, horizon: int) -> Phases:
        """When the first phase ends, and what is released."""

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        rule, phases = self.rule(horizon), self.phases(horizon)
        first, pulls = np.zeros(arms), np.zeros(arms)
        while pulls.sum() < phases.steps and first.max() <= phases.most:
            arm = int(rng.integers(arms))
            first[arm] += yield arm
            pulls[arm] += 1
        means, counts, batches = np.zeros(arms), pulls + phases.repeated, np.ones(arms, dtype=np.int64)
        if not phases.repeated:
            first += rng.laplace(scale=phases.scale, size=arms)
            means = np.clip(first / np.maximum(pulls, 1), 0, 1)
        while True:
            arm = int(np.argmax([nash_bound(rule, mean, count) for mean, count in zip(means, counts, strict=True)]))
            batches[arm] *= 2
            total = first[arm] + rng.laplace(scale=phases.scale)
            for _ in range(batches[arm]):
                total += yield arm
            counts[arm] = pulls[arm] + batches[arm]
            means[arm] = min(1.0, max(0.0, total / counts[arm]))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return nash_pulls(instance.mean_rewards, horizon, checkpoints, self.rule(horizon), self.phases(horizon), rng)

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)


class NashRun(BatchedRun):
    """A run of DP-NCB: the sums of all arms are due after the first phase, then that of one batch after another.

    An arm without a pull in the first phase has no sum there, and comes first after it; its later sums lack the noise
    that `choices` gives to its empty sum. With W steps and K arms that has probability at most K (1 - 1 / K)^W.
    """

    def __init__(self, policy: "DPNCB", arms: int, horizon: int) -> None:
        self.epsilon = policy.epsilon
        self._rule, self._steps = policy.rule(horizon), first_steps(horizon)
        self._pulls, self._batches = np.zeros(arms, dtype=np.int64), np.ones(arms, dtype=np.int64)
        self._first, self._means, self._counts = np.zeros(arms), np.ones(arms), np.zeros(arms)
        self._arm, self._left = -1, self._steps  # the arm of the batch, and its pulls to come; none in the first phase

    @property
    def draws_arms(self) -> bool:  # type: ignore[override]
        """Whether this is the first phase."""
        return self._arm < 0

    @property
    def due(self) -> tuple[int, ...]:  # type: ignore[override]
        """The arms that were pulled, once the phase or batch has ended."""
        if self._left > 0:
            return ()
        return tuple(np.flatnonzero(self._pulls).tolist()) if self._arm < 0 else (self._arm,)

    def next_arm(self, rng: np.random.Generator) -> int:
        return int(rng.integers(len(self._pulls))) if self._arm < 0 else self._arm

    def pull(self, arm: int) -> None:
        self._left -= 1
        if self._arm < 0:
            self._pulls[arm] += 1

    def absorb(self, sums: Sequence[float]) -> None:
        arms = list(self.due)
        totals, counts = np.array(sums), self._pulls[arms]
        if self._arm < 0:
            self._first[arms] = totals
        else:
            totals, counts = totals + self._first[arms], counts + self._batches[arms]
        self._means[arms], self._counts[arms] = np.clip(totals / counts, 0, 1), counts
        places = zip(self._means.tolist(), self._counts.tolist(), strict=True)
        self._arm = int(np.argmax([nash_bound(self._rule, mean, count) for mean, count in places]))
        self._batches[self._arm] *= 2
        self._left = int(self._batches[self._arm])

    def _arrays(self) -> dict[str, IntArray | FloatArray]:
        return {
            "pulls": self._pulls,
            "batches": self._batches,
            "first": self._first,
            "means": self._means,
            "counts": self._counts,
        }

    def summary(self) -> dict[str, object]:
        return {"means": self._means.tolist(), "counts": self._counts.tolist()}

    def saved(self) -> dict[str, Any]:
        arrays = {name: array.tolist() for name, array in self._arrays().items()}
        return {"arm": self._arm, "left": self._left, **arrays}

    def restore(self, saved: dict[str, Any]) -> None:
        for name, array in self._arrays().items():
            array[:] = saved[name]
        self._arm, self._left = saved["arm"], saved["left"]


@dataclass(frozen=True)
class DPNCB(NashBatches):
    """DP-NCB (Sarkar, Pandey and Ray Chowdhury 2025), repaired by us; see `NashBatches`.

    The first phase has W steps. The sum of the first phase is released with Lap(1 / epsilon), that of each batch too,
    and b = 2 / epsilon, the scales of two releases.

    W steps are enough: they multiply the geometric mean of T steps by at least (1 / K)^(W / T) for means >= 0, as a
    uniform arm has at least 1 / K of the best mean, so they cost at most log(K) W / T of it. The sums are released once
    instead of in every batch, as in the public code, whose noise log(T) / epsilon they do without.

    Guarantee: epsilon-DP of the transcript, one reward changed. Proof: the first phase and the batches end at numbers
    of pulls that follow from earlier releases, so a reward is in one release, and arms follow from releases and from
    draws that no reward changes. Raises `ParameterError` for an epsilon <= 0, c <= 0 or alpha <= 3.
    """

    name: ClassVar[str] = "dp_ncb"
    label: ClassVar[str] = "DP-NCB"
    citation: ClassVar[str] = "Sarkar, Pandey and Ray Chowdhury (2025, arXiv 2508.03836), repaired"

    def rule(self, horizon: int) -> NashRule:
        log = math.log(first_steps(horizon))
        return NashRule(log, float(self.c), self.alpha * log * 2 / self.epsilon)

    def phases(self, horizon: int) -> Phases:
        return Phases(first_steps(horizon), math.inf, False, 1 / self.epsilon)

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return NashRun(self, arms, horizon)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sums of the first phase and of a batch."""
        return tuple(LaplaceRelease(name, "", 0.0, 1.0, 1.0, 1 / self.epsilon) for name in ("first phase", "batch"))


@dataclass(frozen=True)
class DPNCBCode(NashBatches):
    """DP-NCB (Sarkar, Pandey and Ray Chowdhury 2025) as in its public code, which is not private; see `NashBatches`.

    The sum of the first phase and the last batch is released with Lap(log(T) / epsilon), so that the first phase is in
    every release, and b = log(W) / epsilon. An arm without a batch counts one more reward, and has the mean 0. The
    first phase ends before W steps as soon as an arm's exact sum is above 1600 (c^2 L + L^2 / epsilon).

    Guarantee: epsilon-DP of the transcript is promised, and violated. Where W is larger than that sum, with c = 3 and
    epsilon = 1 from T = 2.2e11 on, a reward decides without noise when batches begin: `transcript_cost` has the
    witness. Before that a reward of the first phase is in up to log2(T) - 1 releases, of epsilon / log T each: up to
    1.44 epsilon. Raises `ParameterError` for an epsilon <= 0, c <= 0 or alpha <= 3.
    """

    name: ClassVar[str] = "dp_ncb_code"
    label: ClassVar[str] = "DP-NCB (public code)"
    citation: ClassVar[str] = "Sarkar, Pandey and Ray Chowdhury (2025, arXiv 2508.03836), its public code"

    def rule(self, horizon: int) -> NashRule:
        log = math.log(first_steps(horizon))
        return NashRule(log, float(self.c), self.alpha * log**2 / self.epsilon)

    def phases(self, horizon: int) -> Phases:
        steps = first_steps(horizon)
        most = FIRST_SUM * (self.c**2 * math.log(steps) + math.log(steps) ** 2 / self.epsilon)
        return Phases(steps, most, True, math.log(horizon) / self.epsilon)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """All means of one arm, which share the rewards of the first phase.

        Raises `ParameterError` where the first phase may end by an exact sum, which is no release with noise.
        """
        phases = self.phases(horizon)
        if phases.steps > math.floor(phases.most) + 1:
            raise ParameterError("horizon", "too long: an exact sum may end the first phase; take level=transcript")
        ended = (max(0, horizon - phases.steps) // 2 + 1).bit_length() - 1  # batches of 2, 4, 8, ... in these steps
        return (RepeatedMeans("means", "published", np.full(max(1, ended), 1 / phases.scale)),)

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """Infinite once an exact sum may end the first phase, else at most that of the means."""
        require_domain(0.0, domain)
        phases = self.phases(horizon)
        pulls = math.floor(phases.most) + 1  # of one arm with rewards of 1: the least whose sum is above it
        if phases.steps < pulls + 2:
            return super().transcript_cost(arms, horizon, domain, convention)
        witness = (
            f"arm 1 at {pulls} steps, reward 1 each, then arm 2, then arm 1; one of these rewards is 0 instead. The "
            f"exact sum of {pulls} ends the first phase, and batches have two pulls or more; without it, arms are drawn"
        )
        return PrivacyCost("first phase", "exact sum", Bounds(math.inf, math.inf, witness, "two transcripts"), None)


@dataclass
class LocalNash(Received):
    """What the learner of `LDPNCB` knows, the steps of its first phase, and how it compares arms."""

    steps: int
    rule: LocalRule


@dataclass(frozen=True)
class LDPNCB(LocalPolicy):
    """LDP-NCB (Sarkar, Pandey and Ray Chowdhury 2025): a Nash confidence bound on rewards with Laplace noise.

    A user with the reward r sends r + Lap(1 / epsilon). For floor(sqrt(T)) + 2 steps arms are drawn uniformly; then the
    arm is pulled with the largest

        m + 2 c sqrt(2 m log T / n) + sqrt(8 alpha log T / n) / epsilon
          + 4 c (2 alpha)^(1/4) log(W)^(3/4) / (sqrt(epsilon) n^(3/4)),

    m the mean of its n reports, clipped to [0, 1], W = floor(sqrt(T)) + 1. An arm without a report comes first. In the
    public code the first phase may end before, by a sum that no run reaches below T = 1e10; it is left out here. And
    its reports of the first phase are r + 1 / epsilon + Lap(1), as one argument is taken for another: they spend 1
    instead of epsilon, and means are too large for ever. Here all have Lap(1 / epsilon).

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    name: ClassVar[str] = "ldp_ncb"
    label: ClassVar[str] = "LDP-NCB"
    citation: ClassVar[str] = "Sarkar, Pandey and Ray Chowdhury (2025, arXiv 2508.03836), from its public code"
    draws_arms: ClassVar[bool] = True
    epsilon: float
    c: float = 3.0
    alpha: float = 3.1

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require_constants(self.c, self.alpha)

    def rule(self, horizon: int) -> LocalRule:
        """How arms are compared."""
        log = math.log(horizon)
        noise = math.sqrt(8 * self.alpha * log) / self.epsilon
        mixed = 4 * self.c * (2 * self.alpha) ** 0.25 * math.log(first_steps(horizon)) ** 0.75 / math.sqrt(self.epsilon)
        return LocalRule(log, float(self.c), noise, mixed)

    def start(self, arms: int, horizon: int) -> Any:
        return LocalNash(np.zeros(arms, dtype=np.int64), np.zeros(arms), first_steps(horizon) + 1, self.rule(horizon))

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        if t <= state.steps:
            return int(rng.integers(len(state.pulls)))
        index = np.full(len(state.pulls), math.inf)
        for arm in np.flatnonzero(state.pulls):
            mean = min(1.0, max(0.0, state.sums[arm] / state.pulls[arm]))
            index[arm] = local_nash_bound(state.rule, mean, float(state.pulls[arm]))
        return int(np.argmax(index))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        if not isinstance(instance, BernoulliInstance):
            return super().simulate(instance, horizon, checkpoints, rng)  # rewards are drawn one by one
        steps, rule = first_steps(horizon) + 1, self.rule(horizon)
        return local_nash_pulls(instance.mean_rewards, checkpoints, steps, 1 / self.epsilon, rule, rng)

    def report(self, reward: float, rng: np.random.Generator) -> float:
        return float(reward + rng.laplace(scale=1 / self.epsilon))

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon, Scope.LOCAL)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The report of one reward."""
        return (LaplaceRelease("local report", "", 0.0, 1.0, 1.0, 1 / self.epsilon),)
