"""Best-arm identification with a fixed number of users: sequential halving, and uniform allocation beside it.

The first users explore in rounds, after each of which the arms with the smaller noisy sums are dropped. The arm that is
left is named: all later users get it. So the pulls show which arm it is, and the design that explores and then commits
is the same policy with fewer users who explore.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import NOTHING, PrivacyCost
from bandits.audit.epoch_costs import epoch_bounds, gaussian_lead, shown_by_leads
from bandits.audit.ledger import Domain, LaplaceRelease, Release, require_domain
from bandits.audit.releases import GaussianDraws
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import NOT_PRIVATE, Guarantee
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_sums, require_unit_rewards
from bandits.policies.batched import BatchedRun, play_batches
from bandits.policies.gaussian_budget import ConcentratedBudget
from bandits.recording import PullLog

Allocation = Literal["halving", "uniform"]


@dataclass(frozen=True)
class Round:
    """One round: each of the `left` arms is pulled `pulls` times, the best `kept` of them stay."""

    left: int
    pulls: int
    kept: int


def rounds_of(arms: int, explored: int, allocation: Allocation) -> list[Round]:
    """The rounds of `explored` users: ceil(log2 K) of halving with equally many users each, or one of uniform.

    Raises `ParameterError` if a round has fewer users than arms.
    """
    require(allocation in get_args(Allocation), "allocation", allocation, "halving or uniform")
    number = 1 if allocation == "uniform" else (arms - 1).bit_length()
    least = number * arms
    require(explored >= least, "explored", explored, f"at least {least}, one user for each of {arms} arms in a round")
    lefts = [-(-arms // 2**done) for done in range(number)]
    return [Round(left, explored // (number * left), kept) for left, kept in zip(lefts, [*lefts[1:], 1], strict=True)]


def leading(viable: Sequence[int] | IntArray, scores: Sequence[float] | FloatArray, kept: int) -> list[int]:
    """The `kept` arms with the largest scores, in the order of `viable`; of equal scores the first."""
    places = sorted(range(len(viable)), key=lambda place: -scores[place])[:kept]
    return [int(viable[place]) for place in sorted(places)]


class HalvingRun(BatchedRun):
    """A run of halving: the sums of all arms that are left are due at the end of a round.

    Once one arm is left, its rewards enter no sum.
    """

    def __init__(self, arms: int, epsilon: float, rounds: Sequence[Round]) -> None:
        self.epsilon = epsilon
        self.viable = list(range(arms))
        self._rounds, self._done, self._pulled = rounds, 0, 0

    @property
    def learning(self) -> bool:  # type: ignore[override]
        """Whether a round is left."""
        return self._done < len(self._rounds)

    @property
    def due(self) -> tuple[int, ...]:  # type: ignore[override]
        """The arms of the round, once it has ended."""
        ended = self.learning and self._pulled == self._rounds[self._done].pulls * len(self.viable)
        return tuple(self.viable) if ended else ()

    def next_arm(self, rng: np.random.Generator) -> int:
        return self.viable[self._pulled % len(self.viable)]

    def pull(self, arm: int) -> None:
        self._pulled += self.learning

    def absorb(self, sums: Sequence[float]) -> None:
        self.viable = leading(self.viable, sums, self._rounds[self._done].kept)
        self._done, self._pulled = self._done + 1, 0

    def summary(self) -> dict[str, object]:
        return {"viable": list(self.viable), "rounds_done": self._done}

    def saved(self) -> dict[str, Any]:
        return {"pulled": self._pulled, **self.summary()}

    def restore(self, saved: dict[str, Any]) -> None:
        self.viable, self._done, self._pulled = list(saved["viable"]), saved["rounds_done"], saved["pulled"]


class HalvingPolicy(Policy):
    """Base of sequential halving (Karnin, Koren and Somekh 2013, Algorithm 1) with noise of any kind, or none.

    `explored` users explore, null: T^(2/3) of the horizon T, to the nearest, or more if rounds need that. With the
    allocation "halving" there are R = ceil(log2 K) rounds; in a round each of the s arms left is pulled
    floor(explored / (R s)) times, in turn, and the ceil(s / 2) with the largest noisy sums of this round stay. With
    "uniform" there is one round, and the arm with the largest noisy sum is named. Users who are left over get that arm,
    as all later ones do. Two arms are the same in both.
    """

    time_grows: ClassVar[bool] = False
    explored: int | None
    allocation: Allocation

    def sums(self, instance: Instance, arms: IntArray, pulls: int, rng: np.random.Generator) -> FloatArray:
        """What so many pulls of each of the `arms` in one round add up to, shape (arms,)."""
        return require_sums(self, instance.sums(arms, pulls, rng), 0, pulls)

    @abstractmethod
    def scores(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Numbers by which arms are kept, from the sums of a round, shapes (left,); the sums are used no further."""

    def _require_explored(self) -> None:
        require(self.explored is None or self.explored >= 1, "explored", self.explored, "a whole number > 0, or null")

    def rounds(self, arms: int, horizon: int) -> list[Round]:
        """The rounds with so many arms. Raises `ParameterError` if `explored` is too small for them."""
        explored = self.explored
        if explored is None:
            explored = max(round(horizon ** (2 / 3)), arms * (arms - 1).bit_length())
        return rounds_of(arms, explored, self.allocation)

    def legend(self) -> str:
        return f"{self.label} (uniform allocation)" if self.allocation == "uniform" else self.label

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)
        self.rounds(instance.number_of_arms, 1)

    def fixed_steps(self, arms: int, horizon: int) -> int:
        """The first round."""
        return arms * self.rounds(arms, horizon)[0].pulls

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = instance.number_of_arms
        log = PullLog(arms, horizon, checkpoints)
        viable = np.arange(arms)
        for one in self.rounds(arms, horizon):
            if not log.round_robin(viable, one.pulls):  # the horizon ended inside this round
                return log.pulls
            scores = self.scores(self.sums(instance, viable, one.pulls, rng), rng)
            viable = np.sort(viable[np.argsort(-scores, kind="stable")[: one.kept]])
        return log.exploit(viable[0])

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        def released(sums: list[float]) -> Sequence[float]:
            return [float(score) for score in self.scores(np.array(sums), rng)]

        return play_batches(HalvingRun(arms, np.inf, self.rounds(arms, horizon)), released, rng)

    def last_pulls(self, arms: int, horizon: int) -> int | None:
        """The pulls of an arm in the round after which one is named, if it ends before the horizon."""
        rounds = self.rounds(arms, horizon)
        ended = sum(one.left * one.pulls for one in rounds) < horizon
        return rounds[-1].pulls if ended else None


@dataclass(frozen=True)
class SequentialHalving(HalvingPolicy):
    """Sequential halving (Karnin, Koren and Somekh 2013, Algorithm 1), see `HalvingPolicy`. Of equal sums any wins.

    Not private; the counterpart of DP-Halving. Rewards lie in [0, 1].
    """

    name: ClassVar[str] = "halving"
    label: ClassVar[str] = "Halving"
    citation: ClassVar[str] = "Karnin, Koren and Somekh (2013), Algorithm 1"
    explored: int | None = None
    allocation: Allocation = "halving"

    def __post_init__(self) -> None:
        self._require_explored()

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def scores(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The ranks of the sums, equal ones in random order."""
        return np.argsort(np.lexsort((rng.random(len(sums)), sums))).astype(float)


@dataclass(frozen=True)
class DPHalving(HalvingPolicy):
    """DP-Halving (ours): sequential halving by sums of one round with Laplace noise of scale 1 / epsilon.

    See `HalvingPolicy`; bandits/bounds/halving.md bounds how often a wrong arm is named.

    Guarantee: epsilon-DP of the transcript, and so of the arm named, one reward in [0, 1] changed: a reward is in one
    sum, which is released once.
    """

    name: ClassVar[str] = "dp_halving"
    label: ClassVar[str] = "DP-Halving"
    citation: ClassVar[str] = "this repository, after Karnin, Koren and Somekh (2013)"
    epsilon: float
    explored: int | None = None
    allocation: Allocation = "halving"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        self._require_explored()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def scores(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        return sums + rng.laplace(scale=1 / self.epsilon, size=len(sums))

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return HalvingRun(arms, self.epsilon, self.rounds(arms, horizon))

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sum of one arm in each round; other arms cost no more."""
        return tuple(
            LaplaceRelease(f"sum of round {number}", "", 0.0, 1.0, 1.0, 1 / self.epsilon)
            for number in range(1, len(self.rounds(arms, horizon)) + 1)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The arm named: with two arms in the last round, as halving has, the worse wins whatever came before."""
        require_domain(0.0, domain)
        pulls = self.last_pulls(arms, horizon)
        if pulls is None:
            return PrivacyCost("arm named", "", replace(NOTHING, kept=self.epsilon if self._decides(arms) else 0.0))
        bounds = epoch_bounds(pulls, 0.0, 1 / (self.epsilon * pulls))
        return PrivacyCost("arm named", "", bounds if arms == 2 else replace(bounds, kept=self.epsilon))

    def _decides(self, arms: int) -> bool:
        """Whether there may be decisions before an arm is named."""
        return arms > 2 and self.allocation == "halving"

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of the arm named: a reward is used in one round, and the laws of the others do not depend on it."""
        return self.decision_cost(arms, horizon, domain)


@dataclass(frozen=True)
class DPHalvingGauss(ConcentratedBudget, HalvingPolicy):
    """DP-Halving-Gauss (ours): sequential halving by sums of one round with Normal(0, 1 / (2 rho)) noise.

    See `HalvingPolicy`; bandits/bounds/halving.md bounds how often a wrong arm is named.

    Guarantee: `rho`-zCDP of the transcript, one reward in [0, 1] changed, and in fact the level sqrt(2 rho) of Gaussian
    privacy, quoted at epsilon = sqrt(2 rho): a reward is in one sum, which is released once.
    """

    name: ClassVar[str] = "dp_halving_gauss"
    label: ClassVar[str] = "DP-Halving-Gauss"
    citation: ClassVar[str] = "this repository, after Karnin, Koren and Somekh (2013)"
    rho: float
    explored: int | None = None
    allocation: Allocation = "halving"

    def __post_init__(self) -> None:
        require_rho(self.rho)
        self._require_explored()

    def legend(self) -> str:
        return f"{self.label} ({'uniform allocation, ' if self.allocation == 'uniform' else ''}ρ-zCDP)"

    def scores(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        return sums + rng.normal(scale=1 / self.level, size=len(sums))

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sum of one arm in each round; other arms cost no more."""
        return tuple(
            GaussianDraws(f"sum of round {number}", "", 1, 1, self.level**-2)
            for number in range(1, len(self.rounds(arms, horizon)) + 1)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The arm named, as for Laplace noise; if others are left in the round, they have no reward of 1."""
        return self._cost(self.release_cost(arms, horizon, domain), arms, horizon, domain)

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """That of the arm named: a reward is used in one round, and the laws of the others do not depend on it."""
        return self._cost(releases, arms, horizon, domain)

    def _cost(self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        require_domain(0.0, domain)
        pulls = self.last_pulls(arms, horizon)
        left = self.rounds(arms, horizon)[-1].left
        leads = [] if pulls is None else [gaussian_lead(self.level, self.guarantee.epsilon, pulls, 0.0, left)]
        return shown_by_leads(releases, leads)
