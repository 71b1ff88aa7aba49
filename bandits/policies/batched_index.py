"""Index policies that pull an arm for a whole batch and release its sum once (Azize et al. 2022 and 2025)."""

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.batch_rules import BatchRule
from bandits.audit.costs import PrivacyCost
from bandits.audit.gaussian_choices import (
    Margin,
    clipped_choice_delta,
    first_choice_delta,
    repeated_delta,
)
from bandits.audit.ledger import Domain, LaplaceRelease, Release
from bandits.audit.releases import GaussianDraws
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.batches import (
    EXACT_KL_UCB,
    GAUSSIAN_KL_UCB,
    GAUSSIAN_UCB,
    KL_UCB,
    PRIVATE_IMED,
    PRIVATE_KL_UCB,
    UCB,
    Rule,
    arm_of_batch,
    batch_length,
    batch_pulls,
    batches_in,
)
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.batched import BatchedRun, play_batches
from bandits.policies.gaussian_budget import ConcentratedBudget

LARGEST_EPSILON = 700.0  # e^epsilon does not overflow
AUDITED = 4  # arms whose first choice is audited over all their rewards, where indices may be equal


def require_growth(ratio: float) -> None:
    """Refuse a ratio of batches that is not above 1."""
    require(1.001 <= ratio <= 1e6, "ratio", ratio, "a number > 1 (in 1.001..1e6)")


class IndexRun(BatchedRun):
    """A run of `BatchedIndex`: one batch at a time."""

    def __init__(self, rule: Rule, arms: int) -> None:
        normal = rule.kind in (GAUSSIAN_UCB, GAUSSIAN_KL_UCB)
        self.epsilon, self.rho = (math.inf, rule.epsilon**2 / 2) if normal else (rule.epsilon, None)
        self._rule = rule
        self._pulls = np.zeros(arms, dtype=np.int64)
        self._counts, self._batches, self._sums = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        self._begin()

    def _begin(self) -> None:
        first = int(np.argmin(self._pulls > 0))
        new = self._pulls[first] == 0
        step = int(self._pulls.sum()) + 1
        self._arm = first if new else arm_of_batch(self._rule, self._counts, self._batches, self._sums, step)
        self._length = self._left = batch_length(self._rule, int(self._pulls[self._arm]))
        self.due = ()

    def next_arm(self, rng: np.random.Generator) -> int:
        return self._arm

    def pull(self, arm: int) -> None:
        self._left -= 1
        self._end()

    def _end(self) -> None:
        if self._left == 0:
            self.due = (self._arm,)

    def absorb(self, sums: Sequence[float]) -> None:
        (total,) = sums
        arm, kept = self._arm, self._rule.kept
        self._pulls[arm] += self._length
        self._counts[arm] = kept * self._counts[arm] + self._length
        self._batches[arm] = kept * self._batches[arm] + 1
        self._sums[arm] = kept * self._sums[arm] + total
        self._begin()

    def summary(self) -> dict[str, object]:
        return {"counts": self._counts.tolist(), "sums": self._sums.tolist()}

    def saved(self) -> dict[str, Any]:
        return {"pulls": self._pulls.tolist(), "left": self._left, **self.summary()}

    def restore(self, saved: dict[str, Any]) -> None:
        for array, name in ((self._pulls, "pulls"), (self._counts, "counts"), (self._sums, "sums")):
            array[:] = saved[name]
        self._batches[:] = [batches_in(self._rule, count) for count in self._counts]
        self._begin()
        self._left = saved["left"]
        self._end()


class BatchedIndex(Policy):
    """The first batch of every arm, then always a batch of the arm with the largest index.

    A reward is in the sum of one batch, which is released once with Lap(1/epsilon). The length of a batch and its arm
    follow from earlier releases. So the whole transcript is epsilon-private, by parallel composition. Even a first
    batch of one reward gets noise.
    """

    time_grows: ClassVar[bool] = False

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        def released(sums: list[float]) -> list[float]:
            return [total + self.noise(rng) for total in sums]

        return play_batches(IndexRun(self.rule, arms), released, rng)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return batch_pulls(instance.mean_rewards, horizon, checkpoints, self.rule, rng)

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """How arms are chosen and batches grow."""

    @property
    def noise_scale(self) -> float:
        """The scale of the Laplace noise on the sum of a batch."""
        return 1 / self.rule.epsilon

    def release(self, name: str) -> Release:
        """The sum of one batch with its noise."""
        return LaplaceRelease(name, "", 0.0, 1.0, 1.0, self.noise_scale)

    def noise(self, rng: np.random.Generator) -> float:
        """The noise of the sum of one batch."""
        return rng.laplace(scale=self.noise_scale)

    def batched_run(self, arms: int, horizon: int) -> BatchedRun:
        return IndexRun(self.rule, arms)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.rule.epsilon)

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sums of the batches of an arm that is pulled at every step; the sums of other arms cost no more."""
        releases: list[Release] = []
        pulls = 0
        for number in itertools.count(1):
            pulls += min(batch_length(self.rule, pulls), horizon - pulls)
            releases.append(self.release(f"sum of batch {number}"))
            if pulls >= horizon:
                return tuple(releases)
        raise AssertionError("batches are not empty, so that one reaches the horizon")

    def batch_rule(self) -> BatchRule | None:
        return BatchRule(self.rule, self.noise_scale)


@dataclass(frozen=True)
class AdaP(BatchedIndex):
    """Base of AdaP-UCB and AdaP-KLUCB: each episode doubles the pulls of its arm, and only the last one counts.

    The episodes of an arm have 1, 1, 2, 4, 8, ... pulls. n is the length of its last episode, m the noisy mean of
    exactly these rewards, and b = alpha log(t) / (epsilon n), t the step at which the episode is chosen. The paper
    prints half of an arm's pulls for n, which is the same from the second pull on. Ties go to the first arm.

    Guarantee: epsilon-DP of the transcript, one reward changed (their Theorem 3); a reward is in one mean.
    """

    epsilon: float
    alpha: float = 3.1

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(3 < self.alpha <= 1e100, "alpha", self.alpha, "a finite number > 3, as the regret bound needs")

    @property
    @abstractmethod
    def kind(self) -> int:
        """The kind of index, see `bandits.loops.batches.index`."""

    @property
    def rule(self) -> Rule:
        return Rule(self.kind, self.epsilon, self.alpha, first=1.0, ratio=2.0, kept=0.0)


@dataclass(frozen=True)
class AdaPUCB(AdaP):
    """AdaP-UCB (Azize and Basu 2022): episodes chosen by the largest m + sqrt(alpha log(t) / (2 n)) + b, see `AdaP`.

    One copy of the paper prints log(2t) in the square root; its proof and this class use log(t).

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "adap_ucb"
    label: ClassVar[str] = "AdaP-UCB"
    citation: ClassVar[str] = "Azize and Basu (2022), Algorithm 1 with the index of UCB"
    kind: ClassVar[int] = UCB


@dataclass(frozen=True)
class AdaPKLUCB(AdaP):
    """AdaP-KLUCB (Azize and Basu 2022), see `AdaP`: the largest q in [0, 1] with kl(p, q) <= alpha log(t) / n.

    p is m + b clipped to [0, 1]. If p = 1, the index is 1.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "adap_klucb"
    label: ClassVar[str] = "AdaP-KLUCB"
    citation: ClassVar[str] = "Azize and Basu (2022), Algorithm 1 with the index of KL-UCB"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 ties went to the best arm
    order_matters: ClassVar[bool] = True  # many indices are 1 while noise is large
    kind: ClassVar[int] = KL_UCB


@dataclass(frozen=True)
class NormalBatches(ConcentratedBudget, BatchedIndex):
    """Base of AdaC-UCB and zCDP-KLUCB: the sum of a batch is released with Normal(0, 1 / (2 rho)).

    Guarantee: `rho`-zCDP of the transcript, one reward changed, and in fact the level sqrt(2 rho) of Gaussian privacy,
    quoted at epsilon = sqrt(2 rho), as epsilon-privacy implies epsilon^2 / 2-zCDP, and not conversely. Proof: a reward
    moves the sum of one batch by at most 1. Given earlier releases that sum has the level, and later ones depend on the
    reward through that sum alone. Raises `ParameterError` for a rho <= 0.
    """

    rho: float

    def release(self, name: str) -> Release:
        return GaussianDraws(name, "", 1, 1, self.noise_scale**2)

    def noise(self, rng: np.random.Generator) -> float:
        return rng.normal(scale=self.noise_scale)

    # For audits: what is released, and what it costs.
    def batch_rule(self) -> None:
        """None: `BatchRule` needs Laplace noise."""


@dataclass(frozen=True)
class AdaCUCB(NormalBatches):
    """AdaC-UCB (Azize and Basu 2023; the form is ours): the episodes of AdaP-UCB, with normal noise, for rho-zCDP.

    The episodes of an arm have 1, 1, 2, 4, 8, ... pulls, the first for every arm in turn. Each sum gets
    Normal(0, 1 / (2 rho)), that of the first reward too. m is the noisy mean of the n rewards of the last episode, and
    the arm with the largest m + sqrt((1 / (2 n) + 1 / (rho n^2)) alpha log(t)) is pulled, t the step at which the
    episode is chosen; ties go to the first arm. m is sub-Gaussian with the variance 1 / (4 n) + 1 / (2 rho n^2): after
    a fixed number of episodes an index is below the mean of its arm with probability at most t^-alpha
    (bandits/bounds/concentrated_ucb.md, section 11).

    Guarantee: that of `NormalBatches`.
    """

    name: ClassVar[str] = "adac_ucb"
    label: ClassVar[str] = "AdaC-UCB"
    citation: ClassVar[str] = "Azize and Basu (2023, arXiv 2309.00557), form of this repository"
    alpha: float = 3.1

    def __post_init__(self) -> None:
        require_rho(self.rho)
        require(2 < self.alpha <= 1e100, "alpha", self.alpha, "a finite number > 2, as the regret bound needs")

    @property
    def rule(self) -> Rule:
        return Rule(GAUSSIAN_UCB, self.level, self.alpha, first=1.0, ratio=2.0, kept=0.0)

    def width(self, rewards: int, step: int) -> float:
        """The width that the index of an arm adds to its noisy mean of `rewards` rewards."""
        return math.sqrt((1 / (2 * rewards) + 1 / (self.rho * rewards**2)) * self.alpha * math.log(step))

    def legend(self) -> str:
        return f"{self.label} (ρ-zCDP)"

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the arms, from the first choice: exact for rewards 0 or 1 if the horizon allows no other.

        Longer runs show no less. With two arms they also show how often the second is chosen in a row.
        """
        assert releases.delta is not None
        assert releases.epsilon is not None
        if horizon <= arms:
            return super().transcript_within(releases, arms, horizon, domain, convention)
        delta = first_choice_delta(self.level, self.guarantee.epsilon, arms)
        if horizon > arms + 1 or domain is not Domain.BINARY:
            method = f"{releases.delta.method}; {delta.method}"
            delta = replace(delta, kept=releases.delta.kept, method=method)
        if arms == 2:
            shown, witness = repeated_delta(self.level, self.guarantee.epsilon, self._in_a_row(horizon))
            if shown > delta.shown:
                delta = replace(delta, shown=shown, witness=witness)
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=delta)

    def _in_a_row(self, horizon: int) -> list[Margin]:
        """The choices up to the horizon if the second of two arms wins all of them."""
        comparisons, counted, pulls = [], 1, 1
        while pulls + 2 <= horizon:  # the step of the choice
            wins = self.width(counted, pulls + 2) - self.width(1, pulls + 2)
            comparisons.append(Margin(counted, wins))
            counted, pulls = pulls, 2 * pulls
        return comparisons


@dataclass(frozen=True)
class ZCDPKLUCB(NormalBatches):
    """zCDP-KLUCB (ours): the exact index of `DPKLUCB` for normal noise.

    Pulls of an arm go from n to max(n + 1, ceil(`ratio` n)), from `first_batch`, and the noisy sums of all batches are
    added up. The index at step t is the largest q in [0, 1] with D-(S, n, m; q) <= log t + c log+ log t, 0 if there is
    none: S is the noisy sum of n rewards and m batches, D- its Chernoff cost (`bandits.normal_sums`). The arm with the
    largest index is pulled for a batch; ties, such as several indices of 1, go to the least pulled arm, then to the
    first.

    With c > 2 regret / log T has the limit of KL-UCB, times `ratio`: rho costs of the order of log log T / rho
    (bandits/bounds/concentrated_kl.md, 11.4; `bandits.bounds.concentrated_kl`). As the other indices here, c = 0 by
    default.

    Guarantee: that of `NormalBatches`.
    """

    name: ClassVar[str] = "zcdp_klucb"
    label: ClassVar[str] = "zCDP-KLUCB"
    citation: ClassVar[str] = "this repository (bandits/bounds/concentrated_kl.md, 11.4), after Azize et al. (2025)"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 ties went to the best arm
    order_matters: ClassVar[bool] = True  # many indices are 0 or 1 while noise is large
    keeps_sums: ClassVar[bool] = True
    first_batch: int = 1
    ratio: float = 2.0
    c: float = 0.0

    def __post_init__(self) -> None:
        require_rho(self.rho)
        require(self.first_batch >= 1, "first_batch", self.first_batch, "a whole number >= 1")
        require_growth(self.ratio)
        require(0 <= self.c <= 1e6, "c", self.c, "a number in 0..1e6")

    @property
    def rule(self) -> Rule:
        return Rule(GAUSSIAN_KL_UCB, self.level, float(self.c), float(self.first_batch), float(self.ratio), kept=1.0)

    def legend(self) -> str:
        first = "" if self.first_batch == 1 else f", first batch {self.first_batch}"
        more = "" if self.c == 0 else f", c = {self.c:g}"
        return f"{self.label} (ρ-zCDP, ratio {self.ratio:g}{first}{more})"

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the first choice, for up to `AUDITED` arms and a first batch of 1.

        It is exact for rewards 0 or 1 if the horizon allows no other choice; longer runs show no less.
        """
        assert releases.delta is not None
        assert releases.epsilon is not None
        if not arms < horizon or arms > AUDITED or self.first_batch > 1:
            return super().transcript_within(releases, arms, horizon, domain, convention)
        delta = clipped_choice_delta(self.level, self.guarantee.epsilon, arms, *self.limits(arms + 1))
        exact = horizon == arms + 1 and domain is Domain.BINARY
        if not exact:
            delta = replace(delta, kept=releases.delta.kept, method=f"{releases.delta.method}; {delta.method}")
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=delta)

    def limits(self, step: int) -> tuple[float, float]:
        """The noisy first rewards below and above which an index at `step` is 0 and 1."""
        log = math.log(step)
        width = math.sqrt(2 * (log + self.c * math.log(max(log, 1.0)))) / self.level
        return -width, 1 - width


@dataclass(frozen=True)
class PrivateDivergence(BatchedIndex):
    """Base of DP-KLUCB and DP-IMED: growing batches, all of them counted, and the divergence d_epsilon.

    The noisy sums of all batches of an arm are added up; n is the number of its pulls, and [m] their noisy mean clipped
    to [0, 1]. The paper's grid of batches is not known here, only that batches grow by a ratio above 1. Ours is a
    reconstruction: pulls of an arm go from n to max(n + 1, ceil(`ratio` n)), from `first_batch`. `first_batch` of null
    is ceil(3 / epsilon), where noise no longer hides the mean. With a first batch of 1 and a small epsilon the best arm
    may start so low that it is not pulled for very long; such runs are rare, but dominate the mean regret.

    Guarantee: epsilon-DP of the transcript, one reward changed (their Proposition 2); a reward is in one batch.
    """

    keeps_sums: ClassVar[bool] = True
    epsilon: float
    first_batch: int | None = 1
    ratio: float = 2.0

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        given = self.first_batch is None or self.first_batch >= 1
        require(given, "first_batch", self.first_batch, "a whole number >= 1, or null for ceil(3 / epsilon)")
        require_growth(self.ratio)

    @property
    @abstractmethod
    def kind(self) -> int:
        """The kind of index, see `bandits.loops.batches.index`."""

    @property
    def rule(self) -> Rule:
        first = float(math.ceil(3 / self.epsilon)) if self.first_batch is None else float(self.first_batch)
        return Rule(self.kind, self.epsilon, 0.0, first, self.ratio, kept=1.0)

    def legend(self) -> str:
        first = "" if self.first_batch == 1 else f", first batch {'3/ε' if not self.first_batch else self.first_batch}"
        return f"{self.label} (ratio {self.ratio:g}{first})"


@dataclass(frozen=True)
class DPKLUCB(PrivateDivergence):
    """DP-KLUCB (Azize et al. 2025): the largest q with d_epsilon([m], q) <= log(t) / n, see `PrivateDivergence`.

    Ties, such as several indices of 1, go to the least pulled arm, then to the first. An index above 1 - 2^-54 is
    rounded to 1; from epsilon = 34 on this happens to every arm whose noisy mean is close to 1.

    With `index` "exact" (ours) it is the largest q in [0, 1] with D-(S, n, m; q) <= log(t), 0 if there is none: S is
    the noisy sum, not clipped, of n rewards and m batches, D- its Chernoff cost (`bandits.noisy_sums`). After any fixed
    number of batches this index is below the mean with probability at most 1 / t (bandits/noisy_sums.md, 8.3), so that
    a best arm with a bad start is pulled again. As n grows both indices are the same. `epsilon` is then at most 700.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "dp_klucb"
    label: ClassVar[str] = "DP-KLUCB"
    citation: ClassVar[str] = "Azize, Wu, Honda, Orabona, Ito and Basu (2025), batches reconstructed"
    revision: ClassVar[int] = 2  # arms in a random order; in revision 1 the best arm was pulled first
    order_matters: ClassVar[bool] = True  # indices are 1 while noise is large, and the first arm wins ties
    index: Literal["divergence", "exact"] = "divergence"

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = self.index == "divergence" or self.epsilon <= LARGEST_EPSILON
        require(allowed, "epsilon", self.epsilon, f"at most {LARGEST_EPSILON:g} where the index is exact")

    @property
    def kind(self) -> int:
        return EXACT_KL_UCB if self.index == "exact" else PRIVATE_KL_UCB

    def legend(self) -> str:
        exact = ", exact index)" if self.index == "exact" else ")"
        return super().legend().removesuffix(")") + exact


@dataclass(frozen=True)
class DPIMED(PrivateDivergence):
    """DP-IMED (Azize et al. 2025): the least n d_epsilon([m], largest [m]) + log n, see `PrivateDivergence`.

    The index does not contain t: an arm with a bad start waits until the leader has been pulled e^(its index) times.

    Guarantee: epsilon-DP of the transcript, one reward changed.
    """

    name: ClassVar[str] = "dp_imed"
    label: ClassVar[str] = "DP-IMED"
    citation: ClassVar[str] = "Azize, Wu, Honda, Orabona, Ito and Basu (2025), batches reconstructed"
    kind: ClassVar[int] = PRIVATE_IMED
