"""Best-arm identification by two arms that compete for every pull: AdaP-TT (Azize et al. 2023)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bandits.audit.ledger import LaplaceRelease, Release
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.learner import Learner
from bandits.loops.top_two import TopTwo, top_two
from bandits.parameters import require, require_epsilon
from bandits.policies.base import require_bernoulli
from bandits.policies.identification import Identification


class Identifier(Learner[Instance]):
    """A policy that looks for the best arm and stops by itself. It releases its pulls, when it stops, and the arm."""

    faces: ClassVar[type[Any]] = Instance

    @abstractmethod
    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        """One run on `instance`, which ends after `max_samples` pulls at the latest."""


@dataclass(frozen=True)
class AdaPTT(Identifier):
    """AdaP-TT (Azize, Jourdan, Al Marjani and Basu 2023): Top Two with adaptive phases and Laplace noise.

    Every arm once. A phase of an arm lasts until its pulls have doubled: n = 1, 1, 2, 4, ... rewards, and its noisy
    mean is that of its last phase plus Lap(1 / (epsilon n)). T are the pulls in finished phases, N all pulls of an arm.
    At every step the leader B is the arm with the largest mean + log T / (epsilon n) + sqrt(log T / (2 n)); it is
    pulled with probability 1/2, else the challenger, for which (mean_B - mean + 1 / (1 + sqrt T)) / sqrt(1 / N_B +
    1 / N) is the least. Whenever a phase ends, it stops with the arm of the largest mean if
    (mean - mean_a)^2 / (2 (1 / n + 1 / n_a)) is at least the threshold for every other arm a:

    - `proved`: 2 C(log((K - 1) zeta(2) k^2 / beta) / 2) + 2 log(4 + log n) + 2 log(4 + log n_a)
      + (1 / n + 1 / n_a) log(2 K zeta(2) k^2 / beta)^2 / epsilon^2, C(x) = x + log x, k the larger number of phases;
    - `plotted`, that of their plots: log(1 / beta) + log(1 + log n) + log(1 + log n_a)
      + (1 / n + 1 / n_a) log(1 / beta)^2 / epsilon^2. No proof bounds how often it is wrong.

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

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} ({self.threshold} threshold)"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The means of the phases of one arm."""
        lengths = [1] + [2**k for k in range(max(1, horizon.bit_length()))]
        return tuple(
            LaplaceRelease(f"mean of phase {number}", "", 0.0, 1.0, length, 1 / (self.epsilon * length))
            for number, length in enumerate(lengths, 1)
        )

    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        rule = TopTwo(float(self.epsilon), float(self.beta), self.threshold == "proved")
        samples, arm = top_two(instance.mean_rewards, max_samples, rule, rng)
        return Identification(samples, arm if arm >= 0 else None)
