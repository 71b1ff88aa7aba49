"""Policies for unbounded rewards, of which only E |X|^(1+v) <= u is known (Tao et al. 2022).

All of them truncate rewards at a bound that grows with the number of pulls. The privacy noise is calibrated to that
bound, so the constants of the confidence widths may be rescaled without a change to any guarantee.
"""

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Domain, LaplaceRelease, Release
from bandits.audit.running_sums import adaptive_tree
from bandits.environments.bandit import Instance
from bandits.environments.heavy_tails import HeavyTailedInstance, ParetoInstance
from bandits.environments.pareto import ziggurat
from bandits.guarantees import NOT_PRIVATE, Guarantee, Scope
from bandits.loops.heavy_leader import DPRUCBConstants, ParetoRewards, robust_ucb_pulls, truncated_ucb_pulls
from bandits.mechanisms.tree import AdaptiveTreeMechanism, tree_levels
from bandits.parameters import ParameterError, require, require_epsilon
from bandits.policies.base import Choices, Policy, require_sums
from bandits.policies.elimination import Epoch, EpochElimination, eliminate

_Constants = Literal["paper", "scaled", "custom"]
SCALES = {"paper": 1.0, "scaled": 1 / 12}


class Moment(NamedTuple):
    """The moment bound E |X|^(1+v) <= u of an instance; a table of rewards does not contain it."""

    u: float
    v: float


@dataclass(frozen=True)
class HeavyTailedPolicy(Policy):
    """Base of the policies of Tao et al. (2022): their parameters.

    Attributes
    ----------
    epsilon: the privacy budget.
    constants: `paper` for the printed confidence constants, `scaled` for 1/12 of them, `custom` for
        `confidence_scale` times them. No guarantee depends on this. DPRSE and LDPRSE make their epochs as long as the
        widths need, so that the truncation and the noise of an epoch change too; those of DPRUCB do not.
    confidence_scale: the factor s that `constants` stands for.
    u: bound on the (1+v)-th moment; by default the moment of the instance.
    """

    domain: ClassVar[Domain] = Domain.SIGNED
    epsilon: float
    constants: _Constants = "paper"
    confidence_scale: float | None = None
    u: float | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        object.__setattr__(self, "confidence_scale", resolve_scale(self.constants, self.confidence_scale))
        require(self.u is None or 0 < self.u < math.inf, "u", self.u, "a number > 0")

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        raise ParameterError(
            "instance", f"{self.name} needs u and v of an instance, as s1: see bandits.policies.given_moments"
        )

    @property
    def s(self) -> float:
        """The factor on the printed confidence constants."""
        assert self.confidence_scale is not None
        return self.confidence_scale

    def moment(self, instance: Instance) -> Moment:
        """What the policy knows of the instance."""
        assert isinstance(instance, HeavyTailedInstance)
        return Moment(instance.moment if self.u is None else self.u, instance.v)

    @abstractmethod
    def steps(self, moment: Moment, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        """The policy one step at a time, as `choices`, for that moment."""

    @abstractmethod
    def first_bound(self, moment: Moment, arms: int, horizon: int) -> float:
        """The bound at which the first reward of an arm is truncated."""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} (s = {self.s:.3g})"

    def check(self, instance: Instance) -> None:
        require_heavy_tails(self, instance)

    def caveats(self, instance: Instance, horizon: int) -> tuple[str, ...]:
        return moment_caveats(self.u, instance)


def resolve_scale(constants: _Constants, confidence_scale: float | None) -> float:
    """The factor on the confidence constants. Raises `ParameterError` for a contradiction."""
    fixed = SCALES.get(constants)
    if fixed is not None and confidence_scale is not None and not math.isclose(confidence_scale, fixed):
        raise ParameterError(
            "confidence_scale",
            f"is {fixed:g} for constants={constants}; choose constants=custom for {confidence_scale:g}",
        )
    scale = fixed if fixed is not None else confidence_scale
    if scale is None:
        raise ParameterError("confidence_scale", "must be given for constants=custom")
    require(0 < scale < math.inf, "confidence_scale", scale, "a number > 0")
    return scale


def require_moment(policy: Policy, instance: Instance) -> None:
    """Refuse an instance whose moment is not known."""
    if not isinstance(instance, HeavyTailedInstance):
        raise ParameterError(
            "instance",
            f"{policy.name} needs an instance with a known moment of order 1 + v, as s1 or pareto, not {instance.name}",
        )


def require_heavy_tails(policy: Policy, instance: Instance) -> None:
    """Refuse an instance without a known moment of order 1 + v, v at most 1, which the widths of Tao et al. need."""
    require_moment(policy, instance)
    assert isinstance(instance, HeavyTailedInstance)
    if instance.v > 1:
        raise ParameterError("instance", f"{policy.name} needs v in (0, 1], and {instance.name} has v = {instance.v:g}")


def moment_caveats(u: float | None, instance: Instance) -> tuple[str, ...]:
    """A caveat if the moment that a policy assumes is smaller than that of the instance."""
    assert isinstance(instance, HeavyTailedInstance)
    if u is None or u >= instance.moment * (1 - 1e-12):
        return ()
    return (f"u = {u:g} is below the moment of the instance, {instance.moment:g}: the theorems do not apply",)


class HeavyTailedElimination(HeavyTailedPolicy, EpochElimination):
    """Elimination in epochs with means of truncated rewards, x 1{|x| <= truncation}."""

    @abstractmethod
    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        """Epoch 1, 2, ... with `viable` arms left, for that moment."""

    @abstractmethod
    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """The noisy means of an epoch from its sums of truncated rewards, shapes (viable,)."""

    def epoch(self, instance: Instance, viable: int, epoch: int, horizon: int) -> Epoch:
        return self.epoch_of(self.moment(instance), viable, epoch, horizon)

    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        assert isinstance(instance, HeavyTailedInstance)
        sums = instance.truncated_sums(viable, epoch.rounds, epoch.truncation, rng)
        most = epoch.rounds * epoch.truncation
        return self.released(require_sums(self, sums, -most, most), epoch, rng)

    def steps(self, moment: Moment, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        return eliminate(
            arms, lambda viable, number: self.epoch_of(moment, viable, number, horizon), self.released, rng
        )

    def first_bound(self, moment: Moment, arms: int, horizon: int) -> float:
        return self.epoch_of(moment, arms, 1, horizon).truncation


@dataclass(frozen=True)
class DPRSE(HeavyTailedElimination):
    """DP Robust Successive Elimination (Tao et al. 2022, Algorithm 3), with beta = 1/horizon.

    Guarantee: epsilon-DP of the transcript, one reward changed (their Theorem 3): a reward, truncated at B, moves the
    mean of R rewards of one arm in one epoch by at most 2B/R, and Lap(2B/(R epsilon)) is added.
    """

    name: ClassVar[str] = "dprse"
    label: ClassVar[str] = "DPRSE"
    citation: ClassVar[str] = "Tao, Wu, Zhao and Wang (2022), Algorithm 3"

    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        u, v = moment
        gap = 2.0**-epoch
        log = math.log(4 * viable * epoch**2 * horizon)
        power = (1 + v) / v
        rounds = math.ceil(u ** (1 / v) * (24 * self.s) ** power * log / (self.epsilon * gap**power) + 1)
        truncation = (u * rounds * self.epsilon / log) ** (1 / (1 + v))
        error = u ** (1 / (1 + v)) * (log / (rounds * self.epsilon)) ** (v / (1 + v))
        return Epoch(rounds, 12 * self.s * error, truncation)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        return sums / epoch.rounds + rng.laplace(scale=self.noise_scale(epoch), size=len(sums))

    def noise_scale(self, epoch: Epoch) -> float:
        return 2 * epoch.truncation / (epoch.rounds * self.epsilon)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mean of one arm in an epoch; all epochs cost the same, measured in their own bounds and lengths."""
        scale = self.noise_scale(Epoch(rounds=1, threshold=0.0, truncation=1.0))
        return (LaplaceRelease("mean of an epoch", "", -1.0, 1.0, 1.0, scale),)


@dataclass(frozen=True)
class LDPRSE(HeavyTailedElimination):
    """LDP Robust Successive Elimination (Tao et al. 2022, Algorithm 4), with beta = 1/horizon.

    The pseudo-code prints epochs that aim at gaps 4^-e, where the proof and the elimination threshold have
    2^-e. `epoch_base` chooses: 2 by default, 4 as printed. The pseudo-code also prints R instead of sqrt(R)
    in the error; in both cases the error here has sqrt(R), as in every line of the proof.

    Guarantee: epsilon-local DP (their Theorem 6): every reward, truncated at B, is released with Lap(2B/epsilon).
    The noise of R rewards is the difference of two Gamma(R) variables times 2B/epsilon.
    """

    name: ClassVar[str] = "ldprse"
    label: ClassVar[str] = "LDPRSE"
    citation: ClassVar[str] = "Tao, Wu, Zhao and Wang (2022), Algorithm 4"
    epoch_base: Literal[2, 4] = 2

    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        u, v = moment
        gap = float(self.epoch_base) ** -epoch
        log = math.log(8 * viable * epoch**2 * horizon)
        power = 2 * (1 + v) / v
        rounds = math.ceil(u ** (2 / v) * (28 * self.s) ** power * log / (self.epsilon**2 * gap**power) + log)
        truncation = (u * math.sqrt(rounds) * self.epsilon / math.sqrt(log)) ** (1 / (1 + v))
        error = u ** (1 / (1 + v)) * (math.sqrt(log) / (math.sqrt(rounds) * self.epsilon)) ** (v / (1 + v))
        return Epoch(rounds, 14 * self.s * error, truncation)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        positive, negative = rng.standard_gamma(epoch.rounds, size=(2, len(sums)))
        return np.asarray(sums / epoch.rounds + self.noise_scale(epoch) * (positive - negative) / epoch.rounds)

    def noise_scale(self, epoch: Epoch) -> float:
        """The scale of the noise on every single reward."""
        return 2 * epoch.truncation / self.epsilon

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon, Scope.LOCAL)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The report of one reward, in units of the bound of its epoch."""
        scale = self.noise_scale(Epoch(rounds=1, threshold=0.0, truncation=1.0))
        return (LaplaceRelease("local report", "", -1.0, 1.0, 1.0, scale),)


@dataclass(frozen=True)
class BoxedLDPRSE(LDPRSE):
    """LDPRSE as its pseudo-code is printed: epochs at gaps 4^-e, and R instead of sqrt(R) in the error.

    The error is then far below the noise, and all arms but one are removed after the first epoch: explore, then commit.
    With the printed constants that epoch is so long that the best arm stays anyway. Guarantee: that of LDPRSE,
    since only a threshold differs.
    """

    name: ClassVar[str] = "ldprse_boxed"
    label: ClassVar[str] = "LDPRSE as boxed"
    epoch_base: Literal[2, 4] = 4

    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        proved = super().epoch_of(moment, viable, epoch, horizon)
        _, v = moment
        return replace(proved, threshold=proved.threshold * float(proved.rounds) ** (-v / (2 * (1 + v))))


@dataclass(frozen=True)
class DPRUCB(HeavyTailedPolicy):
    """DP Robust Upper Confidence Bound (Tao et al. 2022, Algorithm 1).

    A tree mechanism over the rewards of each arm, the n-th truncated at B_n = (epsilon u n / log(T)^1.5)^(1/(1+v));
    each arm once, then the largest

        private sum / n_a + 18 u^(1/(1+v)) (log(2 t^4) log(T)^(1.5+1/v) / (n_a epsilon))^(v/(1+v)).

    Guarantee: epsilon-DP of the transcript, one reward changed (their Theorem 1). The i-th reward lies in one node of
    each level and moves it by at most 2 B_i; a node that ends at n has noise for 2 B_n. The pseudo-code divides epsilon
    by log T, and `tree_budget` says what that means: `levels` = floor(log2 T) + 1 (default), for which the guarantee
    holds, or `natural`, the natural logarithm, for which it need not. (With log2 T it would hold from T = 4 on, as
    bounds grow: see the errata.) For `natural` the guarantee declares the cost of constant bounds, levels / log T
    epsilon at T = 2, or 2.89 epsilon; growing bounds cost less, see `ledger`. Nonnegative rewards move a node by B_i,
    and cost half.
    """

    name: ClassVar[str] = "dprucb"
    label: ClassVar[str] = "DPRUCB"
    citation: ClassVar[str] = "Tao, Wu, Zhao and Wang (2022), Algorithms 1 and 2"
    revision: ClassVar[int] = 3  # draws rewards by a ziggurat; revision 2 took a power for each
    tree_budget: Literal["levels", "natural"] = "levels"

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        assert isinstance(instance, ParetoInstance)
        rewards = ParetoRewards(instance.scales, ziggurat(instance.tail_index), 1 + instance.v)
        constants = self.loop_arguments(self.moment(instance), horizon)
        return truncated_ucb_pulls(rewards, horizon, checkpoints, constants, rng)

    def rule(self, moment: Moment, arms: int, horizon: int) -> IndexRule:
        """The trees over rewards truncated at B_n, and the confidence width, for that moment."""
        constants = self.loop_arguments(moment, horizon)
        order, power = 1 + moment.v, moment.v / (1 + moment.v)
        bounds = (constants.truncation_rate * np.arange(1.0, max(horizon - arms, 0) + 2)) ** (1 / order)
        sums = adaptive_tree(horizon, self.epsilon, bounds, self.tree_budget)
        return IndexRule(sums, lambda t, pulls: constants.bonus * ((math.log(2.0) + 4 * math.log(t)) / pulls) ** power)

    def steps(self, moment: Moment, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        rule = self.rule(moment, arms, horizon)
        natural = self.tree_budget == "natural"
        trees = [AdaptiveTreeMechanism(horizon, self.epsilon, rng, natural) for _ in range(arms)]
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + rule.bonus(t, pulls)))
            bound = float(rule.sums.high[int(pulls[arm])])
            pulls[arm] += 1
            reward = yield arm
            sums[arm] = trees[arm].add(reward if abs(reward) <= bound else 0.0, bound)

    def first_bound(self, moment: Moment, arms: int, horizon: int) -> float:
        return float(self.rule(moment, arms, horizon).sums.high[0])

    def loop_arguments(self, moment: Moment, horizon: int) -> DPRUCBConstants:
        """What `truncated_ucb_pulls` takes from the parameters."""
        u, v = moment
        log = math.log(max(horizon, 2))
        levels = tree_levels(horizon)
        bonus = 18 * self.s * u ** (1 / (1 + v)) * (log ** (1.5 + 1 / v) / self.epsilon) ** (v / (1 + v))
        noise_scale = 2 * (levels if self.tree_budget == "levels" else log) / self.epsilon
        truncation_rate = self.epsilon * u / log**1.5
        return DPRUCBConstants(bonus, truncation_rate, noise_scale, levels)

    @property
    def guarantee(self) -> Guarantee:
        worst = 2 / math.log(2)  # of levels / log T over all horizons T >= 2, at T = 2
        return Guarantee.laplace(self.epsilon if self.tree_budget == "levels" else worst * self.epsilon)

    @property
    def paper_guarantee(self) -> Guarantee:
        """epsilon (their Theorem 1), whatever `tree_budget` makes of log T."""
        return Guarantee(self.epsilon)

    def check(self, instance: Instance) -> None:
        require_pareto(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int, v: float = 1.0) -> tuple[Release, ...]:
        """The tree of one arm; the others cost the same. `v` is that of the instance; v = 1 costs the most."""
        bounds = np.arange(1.0, max(horizon - arms, 0) + 2) ** (1 / (1 + v))  # in units of the first
        return (adaptive_tree(horizon, self.epsilon, bounds, self.tree_budget),)


@dataclass(frozen=True)
class RobustUCB(Policy):
    """Robust-UCB with truncated means (Bubeck, Cesa-Bianchi and Lugosi 2013, section 3). Not private.

    Each arm once, then the largest truncated mean + 4 u^(1/(1+v)) (log(t^2) / n_a)^(v/(1+v)); the i-th
    reward counts if it is at most (u i / log t^2)^(1/(1+v)), judged again when n_a doubles.
    """

    name: ClassVar[str] = "robust_ucb"
    label: ClassVar[str] = "Robust-UCB"
    citation: ClassVar[str] = "Bubeck, Cesa-Bianchi and Lugosi (2013), section 3"
    revision: ClassVar[int] = 2  # draws rewards by a ziggurat; revision 1 took a power for each
    u: float | None = None

    def __post_init__(self) -> None:
        require(self.u is None or 0 < self.u < math.inf, "u", self.u, "a number > 0")

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        assert isinstance(instance, ParetoInstance)
        u, order = instance.moment if self.u is None else self.u, 1 + instance.v
        rewards = ParetoRewards(instance.scales, ziggurat(instance.tail_index), order)
        bonus = 4 * u ** (1 / order)
        return robust_ucb_pulls(rewards, horizon, checkpoints, bonus, u, rng)

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def check(self, instance: Instance) -> None:
        require_pareto(self, instance)

    def caveats(self, instance: Instance, horizon: int) -> tuple[str, ...]:
        return moment_caveats(self.u, instance)


def require_pareto(policy: Policy, instance: Instance) -> None:
    """Refuse an instance whose rewards are not Pareto: the compiled loops draw only these."""
    require_heavy_tails(policy, instance)
    if not isinstance(instance, ParetoInstance):
        raise ParameterError("instance", f"{policy.name} is simulated on Pareto rewards only, not on {instance.name}")
