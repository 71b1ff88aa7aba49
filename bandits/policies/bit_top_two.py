"""Best-arm identification on randomised bits: CTB-TT (Azize, Jourdan, Al Marjani and Basu 2024)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from bandits.arrays import FloatArray
from bandits.audit.ledger import Release
from bandits.audit.releases import RandomBit
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee, Scope
from bandits.loops.bit_top_two import bit_top_two
from bandits.parameters import require, require_epsilon
from bandits.policies.base import require_unit_rewards
from bandits.policies.identification import Identification
from bandits.policies.local_ucb import LARGEST_EPSILON
from bandits.policies.top_two import Identifier


@dataclass(frozen=True)
class CTBTT(Identifier):
    """CTB-TT (Azize et al. 2024): randomised response, and a Top Two rule on the bits.

    Only the abstract was read; the stopping rule and its proof are ours. A user with the reward r in [0, 1] sends 1
    with probability (r e^epsilon + 1 - r) / (1 + e^epsilon), else 0, as in `bandits.policies.local_ucb.BitPolicy`.
    Every arm once; then, n and s the bits of an arm and their sum, the leader G has the largest s / n (the first of
    these), and W_a = n_G kl(s_G / n_G, u) + n_a kl(s_a / n_a, u), u the mean of all bits of both. It stops with G when
    W_a >= log((K - 1) / beta) + r_G + r_a for every other arm, r = log((n + 1) C(n, s) x^s (1 - x)^(n - s)), x = s / n.
    Else a fair coin says whether G is pulled or the arm with the least W_a + log n_a.

    The arm is the best one with probability at least 1 - beta, if it stops (docs/theorems.md, 8.4).

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1]: the likelihood ratio of a
    bit is at most e^epsilon.
    """

    name: ClassVar[str] = "ctb_tt"
    label: ClassVar[str] = "CTB-TT"
    citation: ClassVar[str] = "Azize, Jourdan, Al Marjani and Basu (2024), arXiv 2406.06408, stopping rule of ours"
    epsilon: float
    beta: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(self.epsilon <= LARGEST_EPSILON, "epsilon", self.epsilon, f"at most {LARGEST_EPSILON:g}")
        require(1e-100 <= self.beta < 1, "beta", self.beta, "a number in (0, 1) (and at least 1e-100)")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, scope=Scope.LOCAL)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    def chance(self, mean: FloatArray | float) -> FloatArray:
        """The probability that a user with rewards of this mean sends 1."""
        return np.asarray(expit(-self.epsilon) + np.tanh(self.epsilon / 2) * np.asarray(mean))

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The bit of one reward."""
        return (RandomBit("local bit", "", float(self.chance(0.0)), float(self.chance(1.0))),)

    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        samples, arm = bit_top_two(self.chance(instance.mean_rewards), max_samples, float(self.beta), rng)
        return Identification(samples, arm if arm >= 0 else None)
