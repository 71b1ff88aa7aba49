"""Best-arm identification by two arms that compete for every pull.

AdaP-TT (Azize et al. 2023), and DP-TT after Jourdan and Azize (2025).
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar, Literal

import numpy as np

from bandits.audit.batch_rules import BatchRule, first_choice
from bandits.audit.costs import PrivacyCost
from bandits.audit.epoch_costs import epoch_bounds
from bandits.audit.ledger import Domain, LaplaceRelease, Release
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.learner import MOST_STEPS, Learner
from bandits.loops.batches import UCB, Rule
from bandits.loops.private_top_two import PrivateTopTwo, next_length, private_top_two
from bandits.loops.top_two import TopTwo, top_two
from bandits.loops.top_two import threshold as stopping_threshold
from bandits.parameters import as_whole, require, require_epsilon
from bandits.policies.base import require_bernoulli
from bandits.policies.identification import Identification

LARGEST_EPSILON = 700.0  # e^epsilon does not overflow


class Identifier(Learner[Instance]):
    """A policy that looks for the best arm and stops by itself. It releases its pulls, when it stops, and the arm."""

    faces: ClassVar[type[Any]] = Instance

    def __init_subclass__(cls) -> None:
        """Make every `simulate` of a subclass check `max_samples`, and take it as an int."""
        super().__init_subclass__()
        if "simulate" in vars(cls):
            cls.simulate = _with_checked_samples(vars(cls)["simulate"])  # type: ignore[method-assign]

    @abstractmethod
    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        """One run on `instance`, which ends after `max_samples` >= 1 pulls at the latest. Raises `ParameterError`."""

    def least_samples(self, arms: int) -> int:
        """The pulls before which no run stops: one of every arm, unless there are more in a first batch."""
        return arms


def _with_checked_samples(simulate: Callable[..., Identification]) -> Callable[..., Identification]:
    @wraps(simulate)
    def checked(self: Any, instance: Any, max_samples: Any, rng: Any) -> Identification:
        most = as_whole(max_samples, "max_samples")
        require(1 <= most <= MOST_STEPS, "max_samples", most, f"a number of pulls in 1..{MOST_STEPS}")
        return simulate(self, instance, most, rng)

    return checked


@dataclass(frozen=True)
class AdaPTT(Identifier):
    """AdaP-TT (Azize, Jourdan, Al Marjani and Basu 2023): Top Two with adaptive phases and Laplace noise.

    Every arm once. A phase of an arm lasts until its pulls have doubled: n = 1, 1, 2, 4, ... rewards, and its noisy
    mean is that of its last phase plus Lap(1 / (epsilon n)). T are the pulls in finished phases, N all pulls of an arm.
    At every step the leader B is the arm with the largest mean + log T / (epsilon n) + sqrt(log T / (2 n)); it is
    pulled with probability 1/2, else the challenger, which has the least
    (mean_B - mean + 1 / (1 + sqrt T)) / sqrt(1 / N_B + 1 / N). Whenever a phase ends, the run stops with the arm of the
    largest mean if (mean - mean_a)^2 / (2 (1 / n + 1 / n_a)) is at least the threshold for every other arm a:

    - `proved`: 2 C(log((K - 1) zeta(2) k^2 / beta) / 2) + 2 log(4 + log n) + 2 log(4 + log n_a)
      + (1 / n + 1 / n_a) log(2 K zeta(2) k^2 / beta)^2 / epsilon^2, C(x) = x + log x, k the larger number of phases;
    - `plotted`, that of their plots: log(1 / beta) + log(1 + log n) + log(1 + log n_a)
      + (1 / n + 1 / n_a) log(1 / beta)^2 / epsilon^2. No proof bounds how often it is wrong.

    The proof of the paper needs C_G of Kaufmann and Koolen (2021) in place of C, which the code approximates by less:
    3.49 where C_G is 4.17, for two arms at beta = 0.01. For rewards in [0, 1] `proved` is proved all the same (ours): a
    difference of two means errs by a of rewards plus b of noise, (a + b)^2 <= 2 a^2 + 2 b^2. |b| exceeds
    (1 / n + 1 / n_a) log(2 K zeta(2) k^2 / beta) / epsilon in any phases with probability at most beta / 2; by
    Hoeffding's inequality a^2 / (1 / n + 1 / n_a) exceeds the rest c of the threshold with probability at most
    exp(-2 c) for each pair of phases, and these add up to less than beta / 100 over all pairs and arms.

    The rules follow the authors' code, except for a mistake there: the code tests the leader but returns the arm with
    the largest mean. (Their DP-SE divides by the rewards of all epochs; ours does not.) Only the abstract of the paper
    was read.

    Guarantee: epsilon-DP of pulls, stopping time and arm, one reward changed: a reward is in one noisy mean.
    """

    name: ClassVar[str] = "adap_tt"
    label: ClassVar[str] = "AdaP-TT"
    citation: ClassVar[str] = "Azize, Jourdan, Al Marjani and Basu (2023), arXiv 2309.02202"
    revision: ClassVar[int] = 2  # its loop draws the leader's pulls between two others; revision 1 drew every step
    epsilon: float
    beta: float
    threshold: Literal["proved", "plotted"] = "proved"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(1e-100 <= self.beta < 1, "beta", self.beta, "a number in (0, 1) (and at least 1e-100)")

    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        samples, arm = top_two(instance.mean_rewards, max_samples, self.rule, rng)
        return Identification(samples, arm if arm >= 0 else None)

    @property
    def rule(self) -> TopTwo:
        return TopTwo(float(self.epsilon), float(self.beta), self.threshold == "proved")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} ({self.threshold} threshold)"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The means of the phases of one arm."""
        lengths = [1] + [2**k for k in range(max(1, horizon.bit_length()))]
        return tuple(
            LaplaceRelease(f"mean of phase {number}", "", 0.0, 1.0, length, 1 / (self.epsilon * length))
            for number, length in enumerate(lengths, 1)
        )

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The ledger's epsilon, and what a run shows that stops as soon as every arm was pulled once.

        Then two noisy rewards are as far apart as the threshold needs; further arms only raise the ratio.
        """
        whole = super().transcript_within(releases, arms, horizon, domain, convention)
        if whole.epsilon is None or arms > horizon:
            return whole
        needed = math.sqrt(4 * stopping_threshold(1, 1, 1, arms, self.rule))  # (m - m')^2 / (2 (1 + 1)) is to reach it
        shown = epoch_bounds(1, needed, 1 / self.epsilon)
        witness = f"arm 1 with the reward 0 or 1, all others 1; it is named after {arms} pulls"
        method = f"ledger; {shown.method}"
        return replace(whole, epsilon=replace(shown, kept=whole.epsilon.kept, witness=witness, method=method))


@dataclass(frozen=True)
class DPTT(Identifier):
    """DP-TT: two arms take turns, and the exact cost of noisy sums says when to stop.

    The idea is that of Jourdan and Azize (2025): a Top Two rule with the private divergence d_epsilon and geometric
    batches. Only their abstract was read; batches, cost, thresholds and proof are ours.

    The sum of every batch is released with Lap(1 / epsilon). S, n, m are the noisy sum, the rewards and the noises of
    an arm, k its batches so far. The first batch has ceil(4 / epsilon) rewards; each further one brings n to max(n + 1,
    ceil(`ratio` n)). After every release the leader G has the largest S / n (the first of these), and W_a is the least
    over u in [0, 1] of D+_G(u) + D-_a(u), see `bandits.noisy_sums`. The run stops with G when W_a >= c_a for every
    other arm, (1 + c_a) exp(-c_a) = beta / ((K - 1) k_G (k_G + 1) k_a (k_a + 1)). The challenger C has the least
    W_a + log n_a. G, C, G, C, ... are pulled until a batch of one of them is full; the pulls of the other wait for its
    own batch. With `memory` "last" a batch has ceil(`ratio` n) rewards, and S, n, m are those of the last batch alone.

    Guarantee: epsilon-DP of pulls, stopping time and arm, one reward changed: a reward is in one noisy sum, of
    sensitivity 1, and which batch it is in follows from earlier releases.

    The arm is the best one with probability at least 1 - beta, if the run stops (bandits/noisy_sums.md, 8.2). With two
    best arms it need not stop; it then ends after the most samples that are allowed.
    """

    name: ClassVar[str] = "dp_tt"
    label: ClassVar[str] = "DP-TT"
    citation: ClassVar[str] = "Jourdan and Azize (2025), arXiv 2510.17348, reconstructed with a cost of ours"
    time_grows: ClassVar[bool] = False
    epsilon: float
    beta: float
    ratio: float = 2.0
    memory: Literal["all", "last"] = "all"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(self.epsilon <= LARGEST_EPSILON, "epsilon", self.epsilon, f"at most {LARGEST_EPSILON:g}")
        require(1e-100 <= self.beta < 1, "beta", self.beta, "a number in (0, 1) (and at least 1e-100)")
        require(1.001 <= self.ratio <= 1e6, "ratio", self.ratio, "a number > 1 (in 1.001..1e6)")

    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        if self.least_samples(len(instance.mean_rewards)) > max_samples:
            return Identification(max_samples, None)
        samples, arm = private_top_two(instance.mean_rewards, max_samples, self.rule, rng)
        return Identification(samples, arm if arm >= 0 else None)

    @property
    def first_batch(self) -> int:
        """The rewards of the first batch of an arm: enough that noise moves their mean by about 1 / 4."""
        return math.ceil(4 / self.epsilon)

    @property
    def rule(self) -> PrivateTopTwo:
        kept = int(self.memory == "all")
        return PrivateTopTwo(float(self.epsilon), float(self.beta), self.first_batch, float(self.ratio), kept)

    def least_samples(self, arms: int) -> int:
        return arms * self.first_batch

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        changed = ([f"ratio {self.ratio:g}"] if self.ratio != 2 else []) + (
            ["last batch alone"] if self.memory == "last" else []
        )
        return f"{self.label} ({', '.join(changed)})" if changed else self.label

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The sums of the batches of one arm that is pulled at every step; other arms cost no more."""
        releases: list[Release] = []
        rule, pulls, counted = self.rule, self.first_batch, self.first_batch
        while pulls <= horizon or not releases:
            number = len(releases) + 1
            releases.append(LaplaceRelease(f"sum of batch {number}", "", 0.0, 1.0, 1.0, 1 / self.epsilon))
            length = next_length(rule, float(counted))
            pulls, counted = pulls + length, rule.kept * counted + length
        return tuple(releases)

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The ledger's epsilon, and what the first leader shows: the arm that is named or pulled first."""
        whole = super().transcript_within(releases, arms, horizon, domain, convention)
        if whole.epsilon is None or arms * self.first_batch >= horizon:  # no pull would show the leader
            return whole
        leader = Rule(UCB, self.epsilon, 0.0, float(self.first_batch), self.ratio, 1.0)  # the largest noisy mean
        shown = first_choice(BatchRule(leader, 1 / self.epsilon), arms)
        method = f"ledger; {shown.method}"
        return replace(whole, epsilon=replace(shown, kept=whole.epsilon.kept, method=method))
