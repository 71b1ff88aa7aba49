"""Policies for heavy tails on given rewards: the moment, which otherwise comes from the instance, is a parameter."""

import itertools
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.costs import NOTHING, PrivacyCost
from bandits.audit.epoch_costs import epoch_bounds
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Domain, Release
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.policies.base import Choices, Policy
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, HeavyTailedPolicy, Moment


@dataclass(frozen=True)
class GivenMoments(Policy):
    """A policy of Tao et al. (2022) that is told E |X|^(1+v) <= u, so that it can be played on a table of rewards.

    A table does not contain u and v, which set the truncation of rewards and the scale of the noise. Rewards beyond the
    truncation count as 0, as in the policy itself, so every table is allowed. Guarantee: that of the policy.
    """

    policy: HeavyTailedPolicy
    moment: Moment

    domain = Domain.SIGNED

    @classmethod
    def of(cls, policy: HeavyTailedPolicy, instance: Instance) -> Self:
        """The policy with the moment that it would take from `instance`. Raises `ParameterError` if it refuses that."""
        policy.check(instance)
        return cls(policy, policy.moment(instance))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the policy."""
        return self.policy.name

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        return self.policy.steps(self.moment, arms, horizon, rng)

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        return self.policy.simulate(instance, horizon, checkpoints, rng)

    @property
    def guarantee(self) -> Guarantee:
        return self.policy.guarantee

    @property
    def paper_guarantee(self) -> Guarantee:
        return self.policy.paper_guarantee

    def reward_limits(self, arms: int, horizon: int, domain: Domain) -> tuple[float, float]:
        bound = self.policy.first_bound(self.moment, arms, horizon)
        return (0.0 if domain is Domain.NONNEGATIVE else -bound), bound

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        if isinstance(self.policy, DPRUCB):
            return self.policy.ledger(arms, horizon, self.moment.v)
        return self.policy.ledger(arms, horizon)

    def index_rule(self, arms: int, horizon: int) -> IndexRule | None:
        return self.policy.rule(self.moment, arms, horizon) if isinstance(self.policy, DPRUCB) else None

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """For DPRSE: the most expensive epoch of two arms that ends before the horizon if no arm is removed."""
        policy = self.policy
        if not isinstance(policy, DPRSE):
            return super().transcript_within(releases, arms, horizon, domain, convention)
        assert releases.epsilon is not None
        sides = 1.0 if domain is Domain.NONNEGATIVE else 2.0
        worst, pulls = replace(NOTHING, kept=releases.epsilon.kept), 0
        for number in itertools.count(1):
            epoch = policy.epoch_of(self.moment, arms, number, horizon)
            pulls += arms * epoch.rounds
            if pulls >= horizon:
                break
            width = sides * epoch.truncation
            bounds = epoch_bounds(epoch.rounds, epoch.threshold / width, policy.noise_scale(epoch) / width)
            worst = max(worst, replace(bounds, kept=releases.epsilon.kept), key=lambda one: one.shown)
        return replace(releases, epsilon=replace(worst, method=f"ledger; {worst.method}"))
