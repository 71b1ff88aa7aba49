"""Policies that renew a private mean after twice as many new rewards (Hu, Huang and Mehta 2021, Hu and Hegde 2022)."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.ledger import LaplaceRelease, Release
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.lazy import LazyArms, lazy_leader, lazy_ucb_pulls
from bandits.loops.lazy_thompson import Shift, bonus, drawn, lazy_thompson_pulls
from bandits.parameters import require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.batched import BatchedRun, play_batches

Logarithm = Literal["binary", "natural"]


class LazyRun(BatchedRun):
    """A run of `Lazy`: the arm is chosen anew at every step, so that several arms have an open batch."""

    def __init__(self, policy: "Lazy", arms: int) -> None:
        self.epsilon = policy.epsilon
        self._policy = policy
        self._state = LazyArms(
            np.zeros(arms, dtype=np.int64), np.ones(arms, dtype=np.int64), np.zeros(arms), np.zeros(arms)
        )

    def next_arm(self, rng: np.random.Generator) -> int:
        t = int(self._state.pulls.sum()) + 1
        return t - 1 if t <= len(self._state.pulls) else int(self._policy.select(self._state, t, rng))

    def pull(self, arm: int) -> None:
        self._state.pulls[arm] += 1
        self._state.room[arm] -= 1
        if self._state.room[arm] == 0:
            self.due = (arm,)

    def absorb(self, sums: Sequence[float]) -> None:
        (arm,), (total,) = self.due, sums
        fresh = max(1.0, 2 * self._state.counts[arm])
        self._state.counts[arm], self._state.means[arm] = fresh, total / fresh
        self._state.room[arm] = int(2 * fresh)
        self.due = ()

    def summary(self) -> dict[str, object]:
        return {"counts": self._state.counts.tolist(), "means": self._state.means.tolist()}

    def saved(self) -> dict[str, Any]:
        return {name: array.tolist() for name, array in self._state._asdict().items()}

    def restore(self, saved: dict[str, Any]) -> None:
        for name, array in self._state._asdict().items():
            array[:] = saved[name]
        self.due = tuple(np.flatnonzero(self._state.room == 0).tolist())


class LazyThompsonRun(LazyRun):
    """A run that draws arms at random."""

    draws_arms: ClassVar[bool] = True


@dataclass(frozen=True)
class Lazy(Policy):
    """Base of Anytime-Lazy-UCB and Lazy-DP-TS: when private means change, and the logarithm L.

    Every arm is pulled once, and that reward with noise is its first private mean. After a mean of n rewards, the next
    2n rewards make a new mean that replaces it: the means are of 1, 2, 4, ... rewards. The arm is chosen anew at every
    step.

    `logarithm` sets the base of L(t). The paper states base 2. Its figures agree with base 2 for Anytime-Lazy-UCB and
    with the natural logarithm for Lazy-DP-TS; these are the defaults. Privacy does not depend on it.

    Guarantee: epsilon-DP of the transcript, one reward changed: a reward is in one mean, released once.
    """

    time_grows: ClassVar[bool] = False
    epsilon: float
    logarithm: Logarithm = "binary"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        def released(sums: list[float]) -> list[float]:
            return [total + rng.laplace(scale=1 / self.epsilon) for total in sums]

        return play_batches(self.batched_run(arms, horizon), released, rng)

    @abstractmethod
    def select(self, state: LazyArms, t: int, rng: np.random.Generator) -> int:
        """The arm to pull at step t, after every arm was pulled once."""

    @property
    def unit(self) -> float:
        """The u for which L(t) = log(t) / u."""
        return math.log(2) if self.logarithm == "binary" else 1.0

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return LazyRun(self, arms)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} ({'log2' if self.logarithm == 'binary' else 'ln'})"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The private means of an arm that is pulled at every step; the means of other arms cost no more."""
        counts = [2**k for k in range(max(1, (horizon - arms + 2).bit_length() - 1))]
        return tuple(LaplaceRelease(f"mean of {n} rewards", "", 0.0, 1.0, n, 1 / self.epsilon / n) for n in counts)


@dataclass(frozen=True)
class AnytimeLazyUCB(Lazy):
    """Anytime-Lazy-UCB (Hu, Huang and Mehta 2021; Hu and Hegde 2022), see `Lazy`.

    The largest m + sqrt(3 L(t) / n) + 3 L(t) / (epsilon n), m the private mean of n rewards. With these constants the
    numbers in the figures of Hu and Hegde are reproduced; the text that was read does not print them.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "anytime_lazy_ucb"
    label: ClassVar[str] = "Anytime-Lazy-UCB"
    citation: ClassVar[str] = "Hu, Huang and Mehta (2021), as in the figures of Hu and Hegde (2022)"

    def select(self, state: LazyArms, t: int, rng: np.random.Generator) -> int:
        return lazy_leader(state, self.epsilon, math.log(t) / self.unit)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return lazy_ucb_pulls(instance.mean_rewards, horizon, checkpoints, self.epsilon, self.unit, rng)


@dataclass(frozen=True)
class LazyDPTS(Lazy):
    """Lazy-DP-TS (Hu and Hegde 2022, Algorithm 2), see `Lazy`.

    At every step each arm draws from Beta(x n + 1, (1 - x) n + 1), x = m + 3 L(t) / (epsilon n) clipped to [0, 1], m
    the private mean of n rewards; the largest draw is pulled.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "lazy_dp_ts"
    label: ClassVar[str] = "Lazy-DP-TS"
    citation: ClassVar[str] = "Hu and Hegde (2022), Algorithm 2"
    revision: ClassVar[int] = 2  # its loop computes the probabilities of winners; revision 1 drew at every step
    logarithm: Logarithm = "natural"

    def select(self, state: LazyArms, t: int, rng: np.random.Generator) -> int:
        return drawn(state, bonus(self._shift, t), rng)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        (order,) = rng.spawn(1)
        return lazy_thompson_pulls(instance.mean_rewards, horizon, checkpoints, self._shift, rng, order)

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return LazyThompsonRun(self, arms)

    @property
    def _shift(self) -> Shift:
        return Shift(self.epsilon, self.unit)
