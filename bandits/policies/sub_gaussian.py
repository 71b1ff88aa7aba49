"""DP-SE with noise whose tails are those of a normal law: normal noise, and shuffled coins (ours)."""

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.epoch_costs import coin_lead, gaussian_lead, shown_by_leads
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.releases import CoinCount, GaussianDraws
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee, Scope
from bandits.mechanisms.coins import coins_needed, require_countable
from bandits.mechanisms.concentrated import require_rho
from bandits.policies.base import Choices, require_bernoulli
from bandits.policies.elimination import Epoch, MeanElimination, require_beta
from bandits.policies.gaussian_budget import ConcentratedBudget


class SubGaussianElimination(MeanElimination):
    """Base of DP-SE-Gauss and Shuffle-SE: DP-SE, with other noise of the sum of an arm in an epoch.

    With S the viable arms, e the epoch, Delta_e = 2^-e and L = log(8 |S| e^2 / beta), each is pulled ceil(R) times,
    R = max(32 L / Delta_e^2, 8 s / Delta_e) + 1, where the noise of a sum exceeds s = `noise_bound`(L) with probability
    at most 2 e^-L. Arms whose noisy mean trails the best by more than 2 h + 2 c are removed, h = sqrt(L / (2R)) and
    c = s / R. By Hoeffding's inequality all means of all epochs are within h + c with probability at least 1 - beta:
    one fails with at most 4 e^-L = beta / (2 |S| e^2), and the sum of 1 / e^2 is below 2. Then the best arm stays, and
    an arm with a gap above Delta_e is removed, as 4 h + 4 c <= Delta_e.
    """

    beta: float | None

    @abstractmethod
    def noise_bound(self, log: float) -> float:
        """The bound that the noise of a sum exceeds in absolute value with probability at most 2 e^-`log`."""

    def epoch_of(self, viable: int, epoch: int, horizon: int) -> Epoch:
        inverse = horizon if self.beta is None else 1 / self.beta
        log, gap = math.log(8 * viable * epoch**2 * inverse), 2.0**-epoch
        bound = self.noise_bound(log)
        length = max(32 * log / gap**2, 8 * bound / gap) + 1
        return Epoch(math.ceil(length), 2 * math.sqrt(log / (2 * length)) + 2 * bound / length)

    # For audits: what is released, and what it costs.
    @abstractmethod
    def lead(self, epoch: Epoch, arms: int) -> tuple[float, str]:
        """A delta of the arms that survive an epoch of so many, and its witness."""

    @abstractmethod
    def strays(self, epoch: Epoch) -> float:
        """The probability that one arm removes another in an epoch in which their sums are equal."""

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The surviving set of an epoch; the lower bound is from the costliest one that ends before the horizon."""
        require_domain(0.0, domain)
        ended = self.epochs(arms, horizon)[:-1]
        return shown_by_leads(self.release_cost(arms, horizon, domain), [self.lead(epoch, arms) for epoch in ended])

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """A lower bound from the costliest epoch that ends before the horizon: the next pull shows a sole survivor.

        In earlier epochs all sums are equal; the bound is reduced by the probability that such an epoch removes an arm.
        """
        require_domain(0.0, domain)
        leads, kept_all = [], 1.0
        for epoch in self.epochs(arms, horizon)[:-1]:
            shown, witness = self.lead(epoch, arms)
            leads.append((max(kept_all, 0.0) * shown, witness))
            kept_all -= arms * (arms - 1) * self.strays(epoch)
        return shown_by_leads(releases, leads)


@dataclass(frozen=True)
class DPSEGauss(ConcentratedBudget, SubGaussianElimination):
    """DP-SE with normal noise for zCDP (ours; Sajed and Sheffet 2019, section 6, say that their results extend to it).

    Means of an epoch get Normal(0, 1 / (2 rho r^2)), r the pulls of an arm, see `SubGaussianElimination`; the noise of
    a sum exceeds sqrt(L / rho) with probability at most 2 e^-L. Regret is of order sum log(T) / gap + K
    sqrt(log(T) / rho).

    Guarantee: `rho`-zCDP of the transcript, one reward changed, and in fact the level sqrt(2 rho) of Gaussian privacy,
    quoted at epsilon = sqrt(2 rho). A reward moves one mean, by at most 1 / r, which is released once. Raises
    `ParameterError` for a rho <= 0.
    """

    name: ClassVar[str] = "dp_se_gauss"
    label: ClassVar[str] = "DP-SE-Gauss"
    citation: ClassVar[str] = "this repository, after Sajed and Sheffet (2019), section 6"
    rho: float
    beta: float | None = None

    def __post_init__(self) -> None:
        require_rho(self.rho)
        require_beta(self.beta)

    def noise_bound(self, log: float) -> float:
        return math.sqrt(log / self.rho)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        return sums / epoch.rounds + rng.normal(scale=1 / (self.level * epoch.rounds), size=len(sums))

    def legend(self) -> str:
        return f"{self.label} (ρ-zCDP)"

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mean of one arm in each epoch if no arm is removed."""
        return tuple(
            GaussianDraws(f"mean of epoch {number}", "", epoch.rounds, 1, (self.level * epoch.rounds) ** -2)
            for number, epoch in enumerate(self.epochs(arms, horizon), 1)
        )

    def lead(self, epoch: Epoch, arms: int) -> tuple[float, str]:
        return gaussian_lead(self.level, self.level, epoch.rounds, epoch.threshold * epoch.rounds, arms)

    def strays(self, epoch: Epoch) -> float:
        return float(scipy.special.ndtr(-self.level * epoch.threshold * epoch.rounds / math.sqrt(2)))


@dataclass(frozen=True)
class ShuffleSE(SubGaussianElimination):
    """Successive elimination by shuffled bits (ours, for the model of Tenenbaum, Kaplan, Mansour and Stemmer 2021).

    A user sends the reward, rounded at random to a bit, and fair coins. The users of an arm in an epoch, r of them,
    send N coins together, N = `coins_needed`(epsilon, delta) whatever r is: user i = 1, 2, ... sends
    floor(N / r) + 1{i <= N mod r}. The shuffler mixes the r + N bits, of which the learner counts the ones. The mean is
    (count - N / 2) / r, see `SubGaussianElimination`; heads exceed N / 2 by sqrt(N L / 2) with probability at most
    2 e^-L. Regret is of order sum log(T) / gap + K sqrt(N log T), N of order log(1 / delta) / epsilon^2.

    Guarantee: (`epsilon`, `delta`) of the shuffled bits, one reward changed, all users honest: mixed bits reveal only
    their number of ones, which one reward moves by 1 at most (bandits/mechanisms/coins.md, section 12). Only Bernoulli
    rewards are simulated, which need no rounding.
    """

    name: ClassVar[str] = "shuffle_se"
    label: ClassVar[str] = "Shuffle-SE"
    citation: ClassVar[str] = "this repository, after Tenenbaum, Kaplan, Mansour and Stemmer (2021)"
    epsilon: float
    delta: float
    beta: float | None = None

    def __post_init__(self) -> None:
        require_countable(self.epsilon, self.delta)
        require_beta(self.beta)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        """One user at a time: each rounds the reward to a bit and adds its coins; the learner counts the ones."""
        viable = list(range(arms))
        for number in itertools.count(1):
            if len(viable) == 1:
                break
            epoch = self.epoch_of(len(viable), number, horizon)
            ones = [0] * len(viable)
            for user in range(epoch.rounds):
                coins = self.coins // epoch.rounds + (user < self.coins % epoch.rounds)
                for place, arm in enumerate(viable):
                    bit = rng.random() < (yield arm)
                    ones[place] += int(bit) + int(rng.binomial(coins, 0.5))
            means = [(count - self.coins / 2) / epoch.rounds for count in ones]
            viable = [arm for arm, mean in zip(viable, means, strict=True) if max(means) - mean <= epoch.threshold]
        while True:
            yield viable[0]

    @property
    def coins(self) -> int:
        """N, of all users of an arm in an epoch together."""
        return coins_needed(self.epsilon, self.delta)

    def noise_bound(self, log: float) -> float:
        return math.sqrt(self.coins * log / 2)

    def released(self, sums: FloatArray, epoch: Epoch, rng: np.random.Generator) -> FloatArray:
        """The means from the numbers of rewards of 1, of which all are 0 or 1."""
        return (sums + rng.binomial(self.coins, 0.5, size=len(sums)) - self.coins / 2) / epoch.rounds

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, self.delta, Scope.SHUFFLE)

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The ones among the shuffled bits of one arm in each epoch if no arm is removed."""
        return tuple(
            CoinCount(f"shuffled bits of epoch {number}", "", self.coins)
            for number in range(1, len(self.epochs(arms, horizon)) + 1)
        )

    def lead(self, epoch: Epoch, arms: int) -> tuple[float, str]:
        return coin_lead(self.coins, self.epsilon, epoch.rounds, epoch.threshold * epoch.rounds, arms)

    def strays(self, epoch: Epoch) -> float:
        return float(scipy.stats.binom.sf(self.coins + math.floor(epoch.threshold * epoch.rounds), 2 * self.coins, 0.5))
