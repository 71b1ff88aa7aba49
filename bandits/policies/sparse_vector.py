"""Elimination whose epochs end by a sparse vector: each lasts until some arm is seen to trail (sparse_vector.md)."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.epoch_costs import epoch_bounds
from bandits.audit.ledger import Domain, Release
from bandits.audit.sparse_vector import SumSpread
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_sums, require_unit_rewards
from bandits.recording import PullLog


class _Question(NamedTuple):
    """A question of an epoch: has the spread of the sums reached `required`, up to noise?

    Attributes
    ----------
    rounds: n, pulls of every viable arm in this epoch so far.
    off: U, the bound on the error of every noisy sum.
    required: 8 U + v.
    """

    rounds: int
    off: float
    required: float


@dataclass(frozen=True)
class SVTSE(Policy):
    """Successive elimination with a sparse vector (ours; Sajed and Sheffet 2019 mention such a form and drop it).

    In epoch e the viable arms S are pulled in turn, from sums of 0 on. After n = 2, 4, 8, ... = 2^j pulls of each, with

        L = log(5 |S| e^2 (j + 1)^2 / beta),    U = sqrt(n L / 2) + 2 L / epsilon,    v = 12 L / epsilon,

    the epoch ends if max S_i - min S_i + Lap(8/epsilon) >= 8 U + v + B, B ~ Lap(4/epsilon) drawn once an epoch. Then
    the arms stay whose S_i + Lap(2/epsilon) is at most 2 U below the largest. The best arm stays with probability at
    least 1 - `beta` (sparse_vector.md, 14.2); left out, beta = 1/horizon.

    Guarantee: epsilon-DP of the transcript, one reward changed: a reward enters one epoch, whose sparse vector and
    whose noisy sums spend epsilon/2 each.
    """

    name: ClassVar[str] = "svt_se"
    label: ClassVar[str] = "SVT-SE"
    citation: ClassVar[str] = "after a remark of Sajed and Sheffet (2019), section 1; form and proof are ours"
    time_grows: ClassVar[bool] = False
    epsilon: float
    beta: float | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        allowed = self.beta is None or 1e-100 <= self.beta < 1
        require(allowed, "beta", self.beta, "a number in (0, 1) (and at least 1e-100), or null")

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        viable = np.arange(arms)
        for epoch in itertools.count(1):
            if len(viable) == 1:
                break
            sums, done, threshold = np.zeros(len(viable)), 0, self.threshold_noise(rng)
            for number in itertools.count(1):
                question = self.question(len(viable), epoch, number, horizon)
                for _ in range(done, question.rounds):
                    for place, arm in enumerate(viable):
                        sums[place] += yield int(arm)
                done = question.rounds
                if self.ends(sums, question, threshold, rng):
                    break
            viable = viable[self.kept(sums, question, rng)]
        while True:
            yield int(viable[0])

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = len(instance.mean_rewards)
        log = PullLog(arms, horizon, checkpoints)
        viable = np.arange(arms)
        for epoch in itertools.count(1):
            if len(viable) == 1:
                break
            sums, done, threshold = np.zeros(len(viable)), 0, self.threshold_noise(rng)
            for number in itertools.count(1):
                question = self.question(len(viable), epoch, number, horizon)
                more = question.rounds - done
                if not log.round_robin(viable, more):  # the horizon ended before this question
                    return log.pulls
                sums += require_sums(self, instance.sums(viable, more, rng), 0, more)
                done = question.rounds
                if self.ends(sums, question, threshold, rng):
                    break
            viable = viable[self.kept(sums, question, rng)]
        return log.exploit(viable[0])

    def question(self, viable: int, epoch: int, number: int, horizon: int) -> _Question:
        """The question after 2^`number` pulls of each of the `viable` arms."""
        beta = 1 / horizon if self.beta is None else self.beta
        log = math.log(5 * viable * epoch**2 * (number + 1) ** 2 / beta)
        off = math.sqrt(2**number * log / 2) + 2 * log / self.epsilon
        return _Question(2**number, off, 8 * off + 12 * log / self.epsilon)

    def threshold_noise(self, rng: np.random.Generator) -> float:
        """The noise B of the threshold."""
        return float(rng.laplace(scale=4 / self.epsilon))

    def ends(self, sums: FloatArray, question: _Question, threshold: float, rng: np.random.Generator) -> bool:
        """The answer to a question."""
        noise = rng.laplace(scale=8 / self.epsilon)
        return bool(sums.max() - sums.min() + noise >= question.required + threshold)

    def kept(self, sums: FloatArray, question: _Question, rng: np.random.Generator) -> FloatArray:
        """Which of the viable arms stay, shape (viable,)."""
        noisy = sums + rng.laplace(scale=2 / self.epsilon, size=len(sums))
        return np.asarray(noisy.max() - noisy <= 2 * question.off)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon)

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    # For audits: what is released, and what it costs.
    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The ledger's epsilon, and what the first epoch shows: when it ends, with arm 1 alone.

        All other arms have the rewards of arm 2, so that the spread is that of two arms, and more rivals only raise the
        ratio of the arm that is alone (`bandits.audit.epoch_costs`). The epoch is one that ends with equal sums, see
        `SumSpread.ending`. Given the sums its end and the noisy sums are independent, so that log ratios add up; after
        it one arm is pulled twice in a row.
        """
        whole = super().transcript_within(releases, arms, horizon, domain, convention)
        if whole.epsilon is None:
            return whole
        most = max(1, ((horizon - 2) // arms).bit_length() - 1)
        epoch = self._first_epoch(arms, horizon, most)
        number, ratio, told = epoch.ending()
        question = self.question(arms, 1, number + 1, horizon)
        if arms * question.rounds + 2 > horizon:
            return whole
        scale = epoch.scales.output / question.rounds
        alone = epoch_bounds(question.rounds, 2 * question.off / question.rounds - 1, scale)
        cost = replace(
            whole.epsilon,
            shown=ratio + alone.shown,
            witness=f"{told}, with arm 1 alone",
            method="ledger; exact law of one pair",
            error=1e-9,
        )
        return replace(whole, epsilon=cost)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The first epoch, if it lasts up to the horizon; other epochs ask fewer questions with the same noise."""
        return (self._first_epoch(arms, horizon, max(1, (horizon // arms).bit_length())),)

    def _first_epoch(self, arms: int, horizon: int, questions: int) -> SumSpread:
        required = [self.question(arms, 1, number, horizon).required for number in range(1, questions + 1)]
        return SumSpread("sparse vector and noisy sums", "", tuple(required), self.epsilon)
