"""Elimination under heavy tails and corruption, with constants that are proved: ours, robust_elimination.md.

E |X|^k <= u with k = 1 + v > 1, and an adversary replaces each reward with probability alpha, `corruption` (the
models of Wu et al. 2023 and of Zhou and Zhang 2024, of whom only abstracts were read). Batch tau = 1, 2, ... pulls
each of the viable arms n = 2^tau times and removes those whose noisy mean trails the best by more than 2r, where r
bounds the error of every mean, except with probability 1/horizon over all batches.

Regret is by true means. Simulated is the adversary that is worst for one batch: it knows the truncation M, which is
public, and sends that bound, negative for the best arm and positive for the others. As it takes the bound from the
policy, `corruption` is a parameter of the policy: the share that the widths allow for, and that is replaced.
"""

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import Bounds, PrivacyCost
from bandits.audit.epoch_costs import bit_lead, epoch_bounds
from bandits.audit.ledger import Domain, LaplaceRelease, Release
from bandits.audit.releases import RandomBit
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.environments.heavy_tails import HeavyTailedInstance
from bandits.environments.pareto_sums import WALKED
from bandits.guarantees import Guarantee, Scope
from bandits.parameters import require, require_epsilon
from bandits.policies.elimination import Epoch, EpochElimination
from bandits.policies.heavy_tailed import Moment, moment_caveats, require_moment


@dataclass(frozen=True)
class RobustElimination(EpochElimination):
    """Base of `RobustSE` and `RobustBitSE`.

    Attributes
    ----------
    epsilon: the privacy budget.
    corruption: alpha in [0, 1/2), the probability with which the adversary replaces a reward.
    u: bound on the (1+v)-th moment; by default the moment of the instance.
    """

    domain: ClassVar[Domain] = Domain.SIGNED
    citation: ClassVar[str] = "ours; models of Wu et al. (2023) and Zhou and Zhang (2024)"
    epsilon: float
    corruption: float = 0.0
    u: float | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(0 <= self.corruption < 0.5, "corruption", self.corruption, "a number in [0, 0.5)")
        require(self.u is None or 0 < self.u < math.inf, "u", self.u, "a number > 0")

    def epoch(self, instance: Instance, viable: int, epoch: int, horizon: int) -> Epoch:
        assert isinstance(instance, HeavyTailedInstance)
        return self.epoch_of(Moment(instance.moment if self.u is None else self.u, instance.v), viable, epoch, horizon)

    @abstractmethod
    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        """Batch 1, 2, ... with `viable` arms left, for that moment."""

    def legend(self) -> str:
        return f"{self.label} (α = {self.corruption:.3g})" if self.corruption else self.label

    def check(self, instance: Instance) -> None:
        require_moment(self, instance)

    def caveats(self, instance: Instance, horizon: int) -> tuple[str, ...]:
        return moment_caveats(self.u, instance)

    # For audits: what is released, and what it costs.
    @abstractmethod
    def batch_bounds(self, batch: Epoch, arms: int, domain: Domain) -> Bounds:
        """Pure epsilon of the arm that alone survives a batch of so many."""

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The ledger's epsilon, and what the costliest batch of all arms shows that ends before the horizon.

        Whether an earlier batch keeps all arms does not depend on the reward that changes. The next pull is of the last
        arm if that is alone.

        In units of the bound, widths and noise depend on neither u nor k, so that any moment with k <= 2 will do. (With
        k > 2 the widths of `RobustSE` are larger, and less is shown.)
        """
        whole = super().transcript_within(releases, arms, horizon, domain, convention)
        assert whole.epsilon is not None
        worst, pulls = whole.epsilon, 0
        for number in itertools.count(1):
            batch = self.epoch_of(Moment(1.0, 1.0), arms, number, horizon)
            pulls += arms * batch.rounds
            if pulls >= horizon:
                break
            worst = max(worst, self.batch_bounds(batch, arms, domain), key=lambda bounds: bounds.shown)
        method = worst.method if worst is whole.epsilon else f"ledger; {worst.method}"
        return replace(whole, epsilon=replace(worst, kept=whole.epsilon.kept, method=method))


@dataclass(frozen=True)
class RobustSE(RobustElimination):
    """Elimination by noisy means of truncated rewards, for a trusted learner.

    With L = log(5 |S| tau^2 T), M = (u / (2 alpha + 2L/(3n) + 2L/(n epsilon)))^(1/k) and V = u M^(2-k), or u^(2/k) if
    k >= 2, the noisy mean is that of x 1{|x| <= M} plus Lap(2M/(n epsilon)), and

        r = u M^(1-k) + 2 alpha M + sqrt(2 (V + alpha M^2) L / n) + 2ML/(3n) + 2ML/(n epsilon).

    Guarantee: epsilon-DP of the transcript, one reward changed: a reward is in one mean, which it moves by at
    most 2M/n.
    """

    name: ClassVar[str] = "robust_se"
    label: ClassVar[str] = "Robust SE"

    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        u, k, alpha, n = moment.u, 1 + moment.v, self.corruption, 2**epoch
        log = math.log(5 * viable * epoch**2 * horizon)
        linear = 2 * log / (3 * n) + 2 * log / (n * self.epsilon)
        bound = (u / (2 * alpha + linear)) ** (1 / k)
        variance = (u ** (2 / k) if k >= 2 else u * bound ** (2 - k)) + alpha * bound**2
        width = u * bound ** (1 - k) + (2 * alpha + linear) * bound + math.sqrt(2 * variance * log / n)
        return Epoch(n, 2 * width, bound)

    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """Of each arm, the number of replaced rewards is binomial; the others are a sum of fewer fresh rewards."""
        assert isinstance(instance, HeavyTailedInstance)
        if self.corruption == 0:
            sums = instance.truncated_sums(viable, epoch.rounds, epoch.truncation, rng)
        else:
            replaced = rng.binomial(epoch.rounds, self.corruption, size=len(viable))
            kept = zip(viable, (epoch.rounds - replaced).tolist(), strict=True)
            sums = np.array([_sum_of(instance, int(arm), count, epoch.truncation, rng) for arm, count in kept])
            sums += _signs(instance, viable) * epoch.truncation * replaced
        return np.asarray(sums / epoch.rounds + rng.laplace(scale=self.noise_scale(epoch), size=len(viable)))

    def noise_scale(self, epoch: Epoch) -> float:
        return 2 * epoch.truncation / (epoch.rounds * self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    # For audits: what is released, and what it costs.
    def batch_bounds(self, batch: Epoch, arms: int, domain: Domain) -> Bounds:
        """That of two arms: more rivals only raise the ratio (`bandits.audit.epoch_costs`)."""
        width = batch.truncation * (1.0 if domain is Domain.NONNEGATIVE else 2.0)
        return epoch_bounds(batch.rounds, batch.threshold / width, self.noise_scale(batch) / width)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mean of one arm in a batch; all batches cost the same, measured in their own bounds and lengths."""
        scale = self.noise_scale(Epoch(rounds=1, threshold=0.0, truncation=1.0))
        return (LaplaceRelease("mean of a batch", "", -1.0, 1.0, 1.0, scale),)


@dataclass(frozen=True)
class RobustBitSE(RobustElimination):
    """Elimination by one random bit of each reward, for a learner that is not trusted.

    With q = tanh(epsilon/2) a user sends +1 with probability 1/2 + q x 1{|x| <= M} / (2M), else -1. The adversary acts
    before (`order` is `ctl`, corruption, then privacy: the reward is replaced) or after (`ltc`: the bit is). With A = 2
    alpha, or 2 alpha / q for `ltc`, L = log(4 |S| tau^2 T) and M = (u / (A + sqrt(2L/n) / q))^(1/k) the mean is M/q
    times that of the bits, and r = u M^(1-k) + A M + (M/q) sqrt(2L/n). Simulated adversaries
    send the worst bits; what is no bit does not count, and `bandits.deploy.Server` refuses it.

    Guarantee: epsilon-local DP: a bit is at most (1 + q)/(1 - q) = e^epsilon times as likely under another reward.
    """

    name: ClassVar[str] = "robust_bit_se"
    label: ClassVar[str] = "Robust bit SE"
    order: Literal["ctl", "ltc"] = "ctl"

    @property
    def contrast(self) -> float:
        """q, the mean of the bit of a reward at the bound."""
        return math.tanh(self.epsilon / 2)

    def epoch_of(self, moment: Moment, viable: int, epoch: int, horizon: int) -> Epoch:
        u, k, q, n = moment.u, 1 + moment.v, self.contrast, 2**epoch
        log = math.log(4 * viable * epoch**2 * horizon)
        shift = 2 * self.corruption / (q if self.order == "ltc" else 1.0)
        slope = shift + math.sqrt(2 * log / n) / q
        bound = (u / slope) ** (1 / k)
        return Epoch(n, 2 * (u * bound ** (1 - k) + slope * bound), bound)

    def noisy_means(self, instance: Instance, viable: IntArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """Bits are independent, with a mean that follows from the truncated mean: one binomial number per arm."""
        assert isinstance(instance, HeavyTailedInstance)
        q, alpha, signs = self.contrast, self.corruption, _signs(instance, viable)
        scaled = instance.truncated_means(viable, epoch.truncation) / epoch.truncation
        struck = signs if self.order == "ltc" else q * signs
        mean_bits = np.clip((1 - alpha) * q * scaled + alpha * struck, -1.0, 1.0)
        ones = rng.binomial(epoch.rounds, (1 + mean_bits) / 2)
        return np.asarray(self.mean_of_bits(ones, epoch))

    def mean_of_bits(self, ones: IntArray | int, epoch: Epoch) -> FloatArray | float:
        """The mean of a batch with so many bits +1."""
        return epoch.truncation / self.contrast * (2 * ones / epoch.rounds - 1)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, scope=Scope.LOCAL)

    def legend(self) -> str:
        return f"{self.label} ({self.order.upper()}, α = {self.corruption:.3g})" if self.corruption else self.label

    # For audits: what is released, and what it costs.
    def batch_bounds(self, batch: Epoch, arms: int, domain: Domain) -> Bounds:
        """Bits of all arms favour the survivor with the least chance; then a reward of a rival changes."""
        q = self.contrast
        other = float(expit(-self.epsilon))
        own = 1 / 2 if domain is Domain.NONNEGATIVE else other
        lead = batch.threshold * batch.rounds * q / (2 * batch.truncation)  # by which its ones must exceed the other's
        shown, witness = bit_lead(batch.rounds, batch.rounds + math.floor(lead) + 1, (own, other), 1 - own, arms)
        return Bounds(math.inf, shown, witness, f"closed form, {arms} arms", 1e-9)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The bit of one reward, in units of the bound of its batch."""
        return (RandomBit("local bit", "", float(expit(-self.epsilon)), least=-1.0),)


def _signs(instance: Instance, viable: IntArray) -> FloatArray:
    """What the adversary sends for each of the `viable` arms, in units of the bound: -1 for best arms, else +1."""
    means = instance.mean_rewards
    return np.where(means[viable] == means.max(), -1.0, 1.0)


def _sum_of(instance: HeavyTailedInstance, arm: int, count: int, bound: float, rng: np.random.Generator) -> float:
    """A sum of `count` truncated rewards: parts of 2^j, whose laws are tabulated once, and a rest drawn one by one."""
    parts = [1 << j for j in range(count.bit_length()) if count >> j & 1 and 1 << j > WALKED]
    rest = count - sum(parts)
    arms = np.array([arm])
    sums = [float(instance.truncated_sums(arms, terms, bound, rng)[0]) for terms in (*parts, rest) if terms]
    return math.fsum(sums)
