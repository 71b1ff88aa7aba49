"""Best-arm identification on randomised bits: CTB-TT (Azize, Jourdan, Al Marjani and Basu 2024)."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.loops.bit_top_two import bit_fit, bit_pair, bit_slack, bit_top_two, logs
from bandits.parameters import require
from bandits.policies.base import require_unit_rewards
from bandits.policies.identification import Identification
from bandits.policies.randomised_response import RandomisedResponse
from bandits.policies.top_two import Identifier


@dataclass(frozen=True)
class CTBTT(RandomisedResponse, Identifier):
    """CTB-TT (Azize et al. 2024): randomised response, and a Top Two rule on the bits.

    Only the abstract was read; the stopping rule and its proof are ours. For bits see `RandomisedResponse`. Every arm
    once. With n bits of an arm and their sum s, the leader G has the largest s / n (the first of these), and
    W_a = n_G kl(s_G / n_G, u) + n_a kl(s_a / n_a, u), u the mean of all bits of both. The run stops with G when
    W_a >= log((K - 1) / beta) + r_G + r_a for every other arm, r = log((n + 1) C(n, s) x^s (1 - x)^(n - s)), x = s / n.
    Else a fair coin says whether G is pulled or the arm with the least W_a + log n_a.

    The arm is the best one with probability at least 1 - beta, if the run stops (bandits/noisy_sums.md, 8.4).

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1]: the likelihood ratio of a
    bit is at most e^epsilon.
    """

    name: ClassVar[str] = "ctb_tt"
    label: ClassVar[str] = "CTB-TT"
    citation: ClassVar[str] = "Azize, Jourdan, Al Marjani and Basu (2024), arXiv 2406.06408, stopping rule of ours"
    epsilon: float
    beta: float

    def __post_init__(self) -> None:
        self._require_budget()
        require(1e-100 <= self.beta < 1, "beta", self.beta, "a number in (0, 1) (and at least 1e-100)")

    def simulate(self, instance: Instance, max_samples: int, rng: np.random.Generator) -> Identification:
        samples, arm = bit_top_two(self.chance(instance.mean_rewards), max_samples, float(self.beta), logs(), rng)
        return Identification(samples, arm if arm >= 0 else None)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The ledger's epsilon, and all of it is shown: the earliest stop fixes the value of every bit.

        All bits of arm 1 are 1 and all others 0; all arms are pulled equally often until it stops. If no other
        bits stop with arm 1 after these numbers of pulls, then this history has the probability of its bits times that
        of its coins: one reward changes it as much as the probability of its bit, by e^epsilon.
        """
        whole = super().transcript_within(releases, arms, horizon, domain, convention)
        pulls = self._earliest(arms)
        if whole.epsilon is None or pulls.sum() > horizon or not self._unique(pulls):
            return whole
        ratio = math.log(float(self.chance(1.0)) / float(self.chance(0.0)))
        witness = f"one reward of arm 1 from 1 to 0; arm 1 is named after {pulls.sum()} pulls, its bits 1, all others 0"
        method = "ledger; closed form, the only bits of one history"
        return replace(whole, epsilon=replace(whole.epsilon, shown=ratio, witness=witness, method=method, error=1e-12))

    def _earliest(self, arms: int) -> IntArray:
        """Pulls of each arm when it stops with arm 1, if all its bits are 1 and all others 0."""
        pulls = np.ones(arms, dtype=np.int64)
        while (challenger := self._challenger(pulls, np.concatenate([pulls[:1], np.zeros_like(pulls[1:])]))) >= 0:
            pulls[0 if pulls[0] <= pulls[1:].min() else challenger] += 1
        return pulls

    def _unique(self, pulls: IntArray) -> bool:
        """Whether after these `pulls` no other bits stop with arm 1: each pair of arms allows one pair of sums only."""
        first, stops = int(pulls[0]), 0
        for rival in pulls[1:].tolist():
            for own, others in itertools.product(range(first + 1), range(rival + 1)):
                pair = np.array([first, rival]), np.array([own, others])
                leader, challenger = self._pair(*pair, len(pulls))
                stops += leader == 0 and challenger < 0
        return stops == len(pulls) - 1

    def _challenger(self, pulls: IntArray, sums: IntArray) -> int:
        return self._pair(pulls, sums, len(pulls))[1]

    def _pair(self, pulls: IntArray, sums: IntArray, arms: int) -> tuple[int, int]:
        """The leader and its challenger after bits with these `sums`, or -1 if it stops; of `arms` that compete."""
        fits, slacks = (
            np.array([f(n, s, logs()) for n, s in zip(pulls, sums, strict=True)]) for f in (bit_fit, bit_slack)
        )
        return bit_pair(pulls, sums, fits, slacks, self.beta * (len(pulls) - 1) / (arms - 1), logs())
