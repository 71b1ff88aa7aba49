"""Policies that renew a private mean after twice as many new rewards (Hu, Huang and Mehta 2021, Hu and Hegde 2022)."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.ledger import LaplaceRelease, Release
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.lazy import Arms, lazy_leader, lazy_ucb_pulls
from bandits.loops.lazy_thompson import Shift, bonus, drawn, lazy_thompson_pulls
from bandits.parameters import require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli

Logarithm = Literal["binary", "natural"]


@dataclass(frozen=True)
class Lazy(Policy):
    """What Anytime-Lazy-UCB and Lazy-DP-TS share: when private means change, and the logarithm L.

    Every arm is pulled once, and that reward with noise is its first private mean. After a mean of n rewards, the next
    2n rewards make a new mean that replaces it: the means are of 1, 2, 4, ... rewards. The arm is chosen anew at every
    step.

    `logarithm` is that of L(t). The paper states base 2. Its figures agree with base 2 for Anytime-Lazy-UCB and with
    the natural logarithm for Lazy-DP-TS; these are the defaults. Privacy does not depend on it.

    Guarantee: epsilon-DP of the transcript, one reward changed: a reward is in one mean, released once.
    """

    time_grows: ClassVar[bool] = False
    epsilon: float
    logarithm: Logarithm = "binary"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon)

    @property
    def unit(self) -> float:
        """The u for which L(t) = log(t) / u."""
        return math.log(2) if self.logarithm == "binary" else 1.0

    def legend(self) -> str:
        return f"{self.label} ({'log2' if self.logarithm == 'binary' else 'ln'})"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The private means of an arm that is pulled at every step; the means of other arms cost no more."""
        counts = [2**k for k in range(max(1, (horizon - arms + 2).bit_length() - 1))]
        return tuple(LaplaceRelease(f"mean of {n} rewards", "", 0.0, 1.0, n, 1 / self.epsilon / n) for n in counts)

    @abstractmethod
    def select(self, state: Arms, t: int, rng: np.random.Generator) -> int:
        """The arm to pull at step t, after every arm was pulled once."""

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        counts, means = np.zeros(arms), np.zeros(arms)
        pulls, room = np.zeros(arms, dtype=np.int64), np.ones(arms, dtype=np.int64)
        buffers: list[list[float]] = [[] for _ in range(arms)]
        while True:
            t = int(pulls.sum()) + 1
            arm = t - 1 if t <= arms else self.select(Arms(pulls, room, counts, means), t, rng)
            buffers[arm].append((yield arm))
            pulls[arm] += 1
            if len(buffers[arm]) == max(1, 2 * counts[arm]):
                counts[arm] = len(buffers[arm])
                means[arm] = (sum(buffers[arm]) + rng.laplace(scale=1 / self.epsilon)) / counts[arm]
                buffers[arm] = []


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

    def select(self, state: Arms, t: int, rng: np.random.Generator) -> int:
        return lazy_leader(state, self.epsilon, math.log(t) / self.unit)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return lazy_ucb_pulls(instance.mean_rewards, horizon, checkpoints, self.epsilon, self.unit, rng)


@dataclass(frozen=True)
class LazyDPTS(Lazy):
    """Lazy-DP-TS (Hu and Hegde 2022, Algorithm 2), see `Lazy`.

    At every step each arm draws from Beta(x n + 1, (1 - x) n + 1), x = m + 3 L(t) / (epsilon n) cut to [0, 1], m the
    private mean of n rewards; the largest draw is pulled.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "lazy_dp_ts"
    label: ClassVar[str] = "Lazy-DP-TS"
    citation: ClassVar[str] = "Hu and Hegde (2022), Algorithm 2"
    revision: ClassVar[int] = 2  # its loop computes the probabilities of winners; revision 1 drew at every step
    logarithm: Logarithm = "natural"

    @property
    def _shift(self) -> Shift:
        return Shift(self.epsilon, self.unit)

    def select(self, state: Arms, t: int, rng: np.random.Generator) -> int:
        return drawn(state, bonus(self._shift, t), rng)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        (order,) = rng.spawn(1)
        return lazy_thompson_pulls(instance.mean_rewards, horizon, checkpoints, self._shift, rng, order)
