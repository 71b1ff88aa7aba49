"""Policies under local privacy: their base classes, and those of Ren, Zhou, Liu and Shroff (2020).

The learner sees no reward, only what users send: `Scope.LOCAL`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.ledger import LaplaceRelease, Release
from bandits.environments.bandit import Instance
from bandits.environments.bernoulli import BernoulliInstance
from bandits.guarantees import Guarantee, Scope
from bandits.loops.local_ucb import LocalReports, local_ucb_pulls
from bandits.parameters import require_epsilon
from bandits.policies.base import StepwisePolicy, require_unit_rewards
from bandits.policies.randomised_response import RandomisedResponse
from bandits.policies.ucb import ucb1_width

FORCED = 4.0  # LDP-UCB-L first pulls arms with at most FORCED log(t + 1) pulls


@dataclass
class Received:
    """What the learner knows: the number of reports of every arm, and their sum; shapes (arms,)."""

    pulls: IntArray
    sums: FloatArray


class LocalPolicy(StepwisePolicy):
    """A policy on reports; subclasses are frozen dataclasses with a field `epsilon`.

    `draws_arms` says whether arms are random given the reports.

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    draws_arms: ClassVar[bool] = False
    epsilon: float

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, scope=Scope.LOCAL)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    def start(self, arms: int, horizon: int) -> Received:
        return Received(np.zeros(arms, dtype=np.int64), np.zeros(arms))

    def update(self, state: Any, arm: int, reward: float, rng: np.random.Generator) -> None:
        state.pulls[arm] += 1
        state.sums[arm] += self.report(reward, rng)

    def report(self, reward: float, rng: np.random.Generator) -> float:
        """What a user with this `reward` in [0, 1] sends."""
        raise NotImplementedError


@dataclass(frozen=True)
class BitPolicy(RandomisedResponse, LocalPolicy):
    """A policy on one random bit per user that chooses every arm anew: see `RandomisedResponse`."""

    epsilon: float

    def __post_init__(self) -> None:
        self._require_budget()


@dataclass(frozen=True)
class LDPUCBB(BitPolicy):
    """LDP-UCB-B (Ren et al. 2020): UCB1 on bits, see `BitPolicy`.

    Each arm once, then the largest mean of bits + sqrt(2 log t / n_a).

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    name: ClassVar[str] = "ldp_ucb_b"
    label: ClassVar[str] = "LDP-UCB-B"
    citation: ClassVar[str] = "Ren, Zhou, Liu and Shroff (2020), arXiv 2007.03121"
    revision: ClassVar[int] = 2  # its loop draws many reports at a time; revision 1 drew other blocks

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        if t <= len(state.pulls):
            return t - 1
        return int(np.argmax(state.sums / state.pulls + ucb1_width(t, state.pulls)))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        reports = LocalReports(scale=0.0, width=1.0, forced=0.0)
        return local_ucb_pulls(self.chance(instance.mean_rewards), horizon, checkpoints, reports, rng)


@dataclass(frozen=True)
class LDPUCBL(LocalPolicy):
    """LDP-UCB-L (Ren et al. 2020): UCB on rewards, each with Laplace noise.

    A user with the reward r sends r + Lap(1 / epsilon). Step t pulls the first arm with at most 4 log(t + 1) pulls, if
    there is one, else that with the largest mean of reports + sqrt(2 log t / n_a) + sqrt(32 log t / (epsilon^2 n_a)).
    The last term bounds the mean noise by Bernstein's inequality, which needs these pulls.
    """

    name: ClassVar[str] = "ldp_ucb_l"
    label: ClassVar[str] = "LDP-UCB-L"
    citation: ClassVar[str] = "Ren, Zhou, Liu and Shroff (2020), arXiv 2007.03121"
    revision: ClassVar[int] = 3  # noise of blocks by a Brownian motion; revision 2 drew its falls and rises
    epsilon: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def select(self, state: Any, t: int, rng: np.random.Generator) -> int:
        few = state.pulls <= FORCED * math.log(t + 1)
        if few.any():
            return int(np.argmax(few))
        return int(np.argmax(state.sums / state.pulls + self.width * ucb1_width(t, state.pulls)))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        if not isinstance(instance, BernoulliInstance):
            return super().simulate(instance, horizon, checkpoints, rng)  # rewards are drawn one by one
        reports = LocalReports(scale=1 / self.epsilon, width=self.width, forced=FORCED)
        return local_ucb_pulls(instance.mean_rewards, horizon, checkpoints, reports, rng)

    def report(self, reward: float, rng: np.random.Generator) -> float:
        return float(reward + rng.laplace(scale=1 / self.epsilon))

    @property
    def width(self) -> float:
        """The width of an index in units of sqrt(2 log t / n_a): 1 + 4 / epsilon."""
        return 1 + 4 / self.epsilon

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon, Scope.LOCAL)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The report of one reward."""
        return (LaplaceRelease("local report", "", 0.0, 1.0, 1.0, 1 / self.epsilon),)
