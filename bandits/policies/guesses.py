"""DP-SE without a horizon: it guesses one, and restarts when the guess is reached (guesses.md)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain, Release
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.parameters import require_epsilon
from bandits.policies.base import Choices, Policy, require_unit_rewards
from bandits.policies.elimination import DPSE

FIRST_GUESS = 4
LARGEST_GUESS = 1e99  # DP-SE takes no smaller beta; no run gets there


@dataclass(frozen=True)
class GuessDPSE(Policy):
    """DP-SE with guesses of the horizon (Sajed and Sheffet 2019, after Theorem 4.3).

    DP-SE restarts for each guess G = 4, ..., with beta = 1/G, and forgets earlier rewards. With `growth` "double", as
    in the paper, G is doubled at time G/2; with "square" (ours) G is squared at time G. The regret is of order log(T)^2
    with "double" and log(T) with "square" (guesses.md, 14.1). Without a restart the best arm, removed with
    probability 1/G, would stay removed.

    Guarantee: epsilon-DP of the transcript, one reward changed: a reward enters one run of DP-SE.
    """

    name: ClassVar[str] = "guess_dp_se"
    label: ClassVar[str] = "DP-SE, guesses of T"
    citation: ClassVar[str] = "Sajed and Sheffet (2019), after Theorem 4.3"
    time_grows: ClassVar[bool] = False
    epsilon: float
    growth: Literal["double", "square"] = "double"

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        for policy, begun, ended in self.runs(2**200):  # longer than any play
            steps = policy.choices(arms, ended - begun, rng)
            arm = next(steps)
            for _ in range(begun, ended):
                arm = steps.send((yield arm))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        before = np.zeros(len(instance.mean_rewards), dtype=np.int64)
        rows = []
        for policy, begun, ended in self.runs(horizon):
            inside = checkpoints[(begun < checkpoints) & (checkpoints <= ended)] - begun
            pulls = policy.simulate(instance, ended - begun, np.union1d(inside, [ended - begun]), rng)
            rows.append(before + pulls[: len(inside)])
            before = before + pulls[-1]
        return np.concatenate(rows)

    def runs(self, horizon: int) -> Iterator[tuple[DPSE, int, int]]:
        """Each run of DP-SE up to the horizon: policy, steps before it begins, and the step at which it ends."""
        guess, begun = FIRST_GUESS, 0
        while begun < horizon:
            ended = min(guess // 2 if self.growth == "double" else guess, horizon)
            yield DPSE(self.epsilon, 1 / min(guess, LARGEST_GUESS)), begun, ended
            guess, begun = guess * 2 if self.growth == "double" else guess**2, ended

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} ({'doubled' if self.growth == 'double' else 'squared'})"

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The means of one arm in the epochs of all runs."""
        return tuple(
            release for policy, begun, ended in self.runs(horizon) for release in policy.ledger(arms, ended - begun)
        )

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The cost of a decision in the most expensive run of DP-SE."""
        costs = [policy.decision_cost(arms, ended - begun, domain) for policy, begun, ended in self.runs(horizon)]
        bounds = [cost.epsilon for cost in costs if cost.epsilon is not None]
        shown = max(bounds, key=lambda bound: bound.shown)
        return replace(costs[-1], epsilon=replace(shown, kept=max(bound.kept for bound in bounds)))

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of a decision: a reward is used in one epoch of one run."""
        return self.decision_cost(arms, horizon, domain)
