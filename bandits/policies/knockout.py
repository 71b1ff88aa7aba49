"""Best-arm identification with a fixed number of users by noisy differences of pairs of arms: a knockout.

Two arms are the commonest test of all: each is pulled equally often, and the difference of the two sums is released
once with noise, which is less than noise on each sum. More arms are paired in rounds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import NOTHING, Bounds, PrivacyCost
from bandits.audit.epoch_costs import gaussian_lead, shown_by_leads
from bandits.audit.ledger import Domain, LaplaceRelease, Release, require_domain
from bandits.audit.releases import GaussianDraws
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_sums, require_unit_rewards
from bandits.policies.batched import BatchedRun, play_batches
from bandits.policies.gaussian_budget import ConcentratedBudget
from bandits.recording import PullLog


@dataclass(frozen=True)
class Pairing:
    """One round: the first 2 `pairs` of the arms that are left are pulled `pulls` times each."""

    pairs: int
    pulls: int


def pairings_of(arms: int, explored: int) -> list[Pairing]:
    """The R = ceil(log2 K) rounds of `explored` users, with equally many users each.

    Raises `ParameterError` if a round has fewer users than arms in pairs.
    """
    number = (arms - 1).bit_length()
    pairs = [-(-arms // 2**done) // 2 for done in range(number)]
    least = number * 2 * pairs[0]
    require(explored >= least, "explored", explored, f"at least {least}, one user for each paired arm in a round")
    return [Pairing(many, explored // (number * 2 * many)) for many in pairs]


def winners(viable: Sequence[int] | IntArray, leads: Sequence[float] | FloatArray) -> list[int]:
    """The first of each pair whose lead is at least 0, else the second; an arm without a partner stays, as the last."""
    won = [int(viable[2 * pair + (lead < 0)]) for pair, lead in enumerate(leads)]
    return [*won, *(int(arm) for arm in viable[2 * len(leads) :])]


class KnockoutRun(BatchedRun):
    """A run of a knockout: the sums of all paired arms are due at the end of a round, and their differences released.

    Once one arm is left, its rewards enter no sum.
    """

    def __init__(self, arms: int, pairings: Sequence[Pairing], epsilon: float, rho: float | None = None) -> None:
        self.epsilon, self.rho = epsilon, rho
        self.viable = list(range(arms))
        self._pairings, self._done, self._pulled = pairings, 0, 0

    @property
    def learning(self) -> bool:  # type: ignore[override]
        """Whether a round is left."""
        return self._done < len(self._pairings)

    @property
    def due(self) -> tuple[int, ...]:  # type: ignore[override]
        """The arms of the round, once it has ended."""
        if not self.learning:
            return ()
        one = self._pairings[self._done]
        return tuple(self.viable[: 2 * one.pairs]) if self._pulled == 2 * one.pairs * one.pulls else ()

    def numbers_of(self, sums: Sequence[Any]) -> list[Any]:
        return [first - second for first, second in zip(sums[0::2], sums[1::2], strict=True)]

    def next_arm(self, rng: np.random.Generator) -> int:
        return self.viable[self._pulled % (2 * self._pairings[self._done].pairs)] if self.learning else self.viable[0]

    def pull(self, arm: int) -> None:
        self._pulled += self.learning

    def absorb(self, sums: Sequence[float]) -> None:
        self.viable = winners(self.viable, sums)
        self._done, self._pulled = self._done + 1, 0

    def summary(self) -> dict[str, object]:
        return {"viable": list(self.viable), "rounds_done": self._done}

    def saved(self) -> dict[str, Any]:
        return {"pulled": self._pulled, **self.summary()}

    def restore(self, saved: dict[str, Any]) -> None:
        self.viable, self._done, self._pulled = list(saved["viable"]), saved["rounds_done"], saved["pulled"]


class KnockoutPolicy(Policy):
    """Base of a knockout with noise of any kind on the differences.

    `explored` users explore, null: T^(2/3) of the horizon T, to the nearest, or more if rounds need that. There are
    R = ceil(log2 K) rounds. In a round the s arms left are paired in their order, and each of a pair is pulled
    floor(explored / (R s')) times, in turn, s' the largest even number <= s; the noisy difference of the two sums of
    this round says which one stays. An arm without a partner stays, without pulls. Users who are left over get the arm
    that is left, as all later ones do. With two arms the law is exact: bandits/exact/two_arms.md.
    """

    time_grows: ClassVar[bool] = False
    order_matters: ClassVar[bool] = True  # which arms are a pair
    explored: int | None

    @abstractmethod
    def noise(self, pairs: int, rng: np.random.Generator) -> FloatArray:
        """Noise of the differences, shape (pairs,)."""

    def _require_explored(self) -> None:
        require(self.explored is None or self.explored >= 1, "explored", self.explored, "a whole number > 0, or null")

    def pairings(self, arms: int, horizon: int) -> list[Pairing]:
        """The rounds with so many arms. Raises `ParameterError` if `explored` is too small for them."""
        explored = self.explored
        if explored is None:
            explored = max(round(horizon ** (2 / 3)), (arms - arms % 2) * (arms - 1).bit_length())
        return pairings_of(arms, explored)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)
        self.pairings(instance.number_of_arms, 1)

    def fixed_steps(self, arms: int, horizon: int) -> int:
        """The first round."""
        first = self.pairings(arms, horizon)[0]
        return 2 * first.pairs * first.pulls

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        log = PullLog(instance.number_of_arms, horizon, checkpoints)
        viable = np.arange(instance.number_of_arms)
        for one in self.pairings(instance.number_of_arms, horizon):
            paired = viable[: 2 * one.pairs]
            if not log.round_robin(paired, one.pulls):  # the horizon ended inside this round
                return log.pulls
            sums = require_sums(self, instance.sums(paired, one.pulls, rng), 0, one.pulls)
            viable = np.array(winners(viable, sums[0::2] - sums[1::2] + self.noise(one.pairs, rng)))
        return log.exploit(viable[0])

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        def released(leads: list[float]) -> list[float]:
            return list(np.array(leads) + self.noise(len(leads), rng))

        return play_batches(self.batched_run(arms, horizon), released, rng)

    def ended(self, arms: int, horizon: int) -> list[Pairing]:
        """The rounds that end before the horizon, so that a later arm shows who stayed."""
        ends = np.cumsum([2 * one.pairs * one.pulls for one in self.pairings(arms, horizon)])
        return self.pairings(arms, horizon)[: int((ends < horizon).sum())]


@dataclass(frozen=True)
class DPKnockout(KnockoutPolicy):
    """DP-Knockout (ours): a knockout by differences with Laplace noise of scale 1 / epsilon, see `KnockoutPolicy`.

    Guarantee: epsilon-DP of the transcript, and so of the arm named, one reward in [0, 1] changed: a reward is in one
    difference, which it moves by 1 at most, and which is released once. This is tight: see `decision_cost`.
    """

    name: ClassVar[str] = "dp_knockout"
    label: ClassVar[str] = "DP-Knockout"
    citation: ClassVar[str] = "this repository, folklore for two arms"
    epsilon: float
    explored: int | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        self._require_explored()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def noise(self, pairs: int, rng: np.random.Generator) -> FloatArray:
        return rng.laplace(scale=1 / self.epsilon, size=pairs)

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return KnockoutRun(arms, self.pairings(arms, horizon), self.epsilon)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The difference of one pair in each round; other pairs cost no more."""
        return tuple(
            LaplaceRelease(f"difference of round {number}", "", 0.0, 1.0, 1.0, 1 / self.epsilon)
            for number in range(1, len(self.pairings(arms, horizon)) + 1)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """Epsilon once a round has ended: with sums of 0 and 0 or 1 the first stays with 1/2 or e^-epsilon / 2."""
        require_domain(0.0, domain)
        if not self.ended(arms, horizon):
            return PrivacyCost("arm named", "", NOTHING)
        witness = "a pair without a reward of 1, one reward of its second arm changed to 1; the first arm stays"
        return PrivacyCost("arm named", "", Bounds(self.epsilon, self.epsilon, witness, "closed form"))

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of the arm that stays: a reward is used in one round, and the others do not depend on it."""
        return self.decision_cost(arms, horizon, domain)


@dataclass(frozen=True)
class DPKnockoutGauss(ConcentratedBudget, KnockoutPolicy):
    """DP-Knockout-Gauss (ours): a knockout by differences with Normal(0, 1 / (2 rho)) noise, see `KnockoutPolicy`.

    Guarantee: `rho`-zCDP of the transcript, one reward in [0, 1] changed, and in fact the level sqrt(2 rho) of Gaussian
    privacy, quoted at epsilon = sqrt(2 rho): a reward is in one difference, which is released once.
    """

    name: ClassVar[str] = "dp_knockout_gauss"
    label: ClassVar[str] = "DP-Knockout-Gauss"
    citation: ClassVar[str] = "this repository, folklore for two arms"
    rho: float
    explored: int | None = None

    def __post_init__(self) -> None:
        require_rho(self.rho)
        self._require_explored()

    def legend(self) -> str:
        return f"{self.label} (ρ-zCDP)"

    def noise(self, pairs: int, rng: np.random.Generator) -> FloatArray:
        return rng.normal(scale=1 / self.level, size=pairs)

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return KnockoutRun(arms, self.pairings(arms, horizon), np.inf, self.rho)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The difference of one pair in each round; other pairs cost no more."""
        return tuple(
            GaussianDraws(f"difference of round {number}", "", 1, 1, self.level**-2)
            for number in range(1, len(self.pairings(arms, horizon)) + 1)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """That a pair without noise on each sum shows, in the last round that has ended."""
        return self._cost(self.release_cost(arms, horizon, domain), arms, horizon, domain)

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """That of the arm that stays: a reward is used in one round, and the others do not depend on it."""
        return self._cost(releases, arms, horizon, domain)

    def _cost(self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        require_domain(0.0, domain)
        of_two = self.level * 2**0.5  # of two draws whose difference has the variance of one of this level
        leads = [gaussian_lead(of_two, self.level, one.pulls, 0.0) for one in self.ended(arms, horizon)]
        return shown_by_leads(releases, leads)
