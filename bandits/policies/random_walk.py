"""Follow the leader of losses that users perturb themselves: Devroye, Lugosi and Neu (2013), Jacobsen and Fawaz (2026).

The noise of all steps stays in the sums, so that it is a random walk. It stabilises the leader, as in every perturbed
leader, and each loss vector is private before the learner sees it.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.ledger import Release
from bandits.audit.releases import GaussianVector
from bandits.environments.full_information import FullInformation
from bandits.guarantees import Guarantee, Neighbours, Scope
from bandits.policies.full_information import BLOCK, COST, WALKED, FullInformationPolicy, fresh_sums
from bandits.policies.gaussian_budget import GaussianBudget

MISSED = 1e-12  # the probability that a run misses a change of the leader


@dataclass(frozen=True)
class RWFTPL(GaussianBudget, FullInformationPolicy):
    """RW-FTPL (Jacobsen and Fawaz 2026, after Devroye, Lugosi and Neu 2013): the leader of noisy loss vectors.

    Each user adds Normal(0, eta^2) to every loss of its vector; the learner plays the arm with the least sum of noisy
    losses so far, which begins with one noise alone: argmin over i of L_i(t - 1) + S_i(t - 1), S a random walk of t
    steps. A changed vector in [0, 1]^K moves by at most sqrt(K) in the Euclidean norm, so that eta = sqrt(K) / level.
    The paper has gains, which are the same: noise is symmetric. Summaries of the paper were read, not its text.

    Guarantee: `level`-GDP of every loss vector before the learner sees it (bandits/bounds/local_experts.md, 16.1). The
    `level` is given, or is the largest that is (epsilon, delta)-private. The transcript has the same level.

    `simulate` draws `rounds` loss vectors as one sum where the leader is so far ahead that it changes within them with
    a probability of at most `MISSED` rounds / T, by a maximal inequality; else it walks through the steps. So its law
    differs from that of a loop by at most `MISSED` in total variation, and once one arm leads by far, time grows with
    log T.
    """

    name: ClassVar[str] = "rw_ftpl"
    label: ClassVar[str] = "RW-FTPL"
    citation: ClassVar[str] = "Jacobsen and Fawaz (2026), arXiv 2512.06971"
    time_grows: ClassVar[bool] = False
    epsilon: float
    delta: float | None = None
    level: float | None = None

    def __post_init__(self) -> None:
        self.require_budget()
        _ = self.guarantee

    def leaders(self, table: FloatArray, rng: np.random.Generator) -> IntArray:
        arms, horizon = table.shape
        noisy = rng.normal(scale=self.deviation(arms), size=(horizon, arms))
        noisy[1:] += table.T[:-1]
        return np.asarray(np.argmin(np.cumsum(noisy, axis=0), axis=1))

    def simulate(
        self, instance: FullInformation, horizon: int, checkpoints: IntArray, rng: np.random.Generator
    ) -> IntArray:
        groups = len(instance.counts)
        group_of = np.repeat(np.arange(groups), instance.counts)
        members = [np.flatnonzero(group_of == group) for group in range(groups)]
        deviation = self.deviation(len(group_of))
        plays = np.zeros((len(checkpoints), groups), dtype=np.int64)
        sums, step = rng.normal(scale=deviation, size=len(group_of)), 0
        while step < horizon:
            rounds = self._quiet(instance, group_of, sums, horizon, horizon - step)
            if rounds * len(sums) >= groups * COST:
                plays[:, group_of[np.argmin(sums)]] += np.clip(checkpoints - step, 0, rounds)
                sums += fresh_sums(instance, members, rounds, rng)
                sums += rng.normal(scale=deviation * math.sqrt(rounds), size=len(sums))
            else:
                rounds = min(max(WALKED, step // 8), max(1, BLOCK // len(sums)), horizon - step)
                noisy = instance.losses_of(group_of, rounds, rng)
                noisy += rng.normal(scale=deviation, size=noisy.shape)
                after = sums + np.cumsum(noisy, axis=0)
                leaders = group_of[np.argmin(np.concatenate([sums[None], after[:-1]]), axis=1)]
                for group in range(groups):
                    played = np.concatenate([[0], np.cumsum(leaders == group)])
                    plays[:, group] += played[np.clip(checkpoints - step, 0, rounds)]
                sums = after[-1]
            step += rounds
        return plays

    def _quiet(self, instance: FullInformation, group_of: IntArray, sums: FloatArray, horizon: int, most: int) -> int:
        """A power of two, at most `most`, of vectors within which another arm leads with a probability of at most
        `MISSED` rounds / horizon; else 1.

        How far an arm is behind changes at every step by independent losses and noises, of variance factor 2 (1/4 +
        eta^2) (Hoeffding), and on average by the difference of the means.
        """
        leader = int(np.argmin(sums))
        leads = np.delete(sums - sums[leader], leader)
        means = instance.mean_losses[group_of]
        lost = np.maximum(means[leader] - np.delete(means, leader), 0.0)
        spread = 0.5 + 2 * self.deviation(len(sums)) ** 2
        longest = leads.min() ** 2 / (2 * spread * -math.log(MISSED))
        rounds = 1 << (int(max(1.0, min(longest, float(most)))).bit_length() - 1)
        while rounds > 1:
            left = np.maximum(leads - rounds * lost, 0.0)
            if np.exp(-(left**2) / (2 * rounds * spread)).sum() <= MISSED * rounds / horizon:
                break
            rounds //= 2
        return rounds

    def deviation(self, arms: int) -> float:
        """eta, the standard deviation of the noise of one loss."""
        return math.sqrt(arms) / self.promised

    @property
    def guarantee(self) -> Guarantee:
        return replace(self.gaussian_guarantee(Scope.LOCAL), neighbours=Neighbours.ONE_LOSS_VECTOR)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The noisy losses of one step."""
        return (GaussianVector("noisy losses of one step", "", 1, arms, self.deviation(arms) ** 2),)
