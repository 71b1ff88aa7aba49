"""What an audit plays: a policy, the size of the tables of rewards that it is played on, and how they are read."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit import sampled
from bandits.audit.audits import Level, cost_at
from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.planted import ScaledNoise
from bandits.audit.transcripts import Convention
from bandits.policies.base import Policy
from bandits.policies.given_moments import GivenMoments
from bandits.seeds import stream
from experiments.own_code.user_code import is_own


@dataclass(frozen=True)
class AuditGame:
    """A policy that is played; `noise` multiplies the noise of its generator, see `bandits.audit.planted`."""

    policy: Any
    arms: int
    horizon: int
    domain: Domain
    convention: Convention
    noise: float = 1.0

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest reward that the policy accepts, of losses 0 and 1."""
        if isinstance(self.policy, Policy):
            return self.policy.reward_limits(self.arms, self.horizon, self.domain)
        return 0.0, 1.0

    @property
    def own(self) -> bool:
        """Whether the policy, or the one that `GivenMoments` plays, is a class of the user."""
        return is_own(self.policy.policy if isinstance(self.policy, GivenMoments) else self.policy)

    @property
    def identity(self) -> str:
        """The text that seeds of plays follow from."""
        return f"audit {self.policy!r} {self.arms} {self.horizon} {self.convention}"

    def at(self, horizon: int) -> "AuditGame":
        """The same for so many steps."""
        return replace(self, horizon=horizon)

    def of(self, policy: Any, noise: float = 1.0) -> "AuditGame":
        """The same of another policy, or with other noise."""
        return replace(self, policy=policy, noise=noise)

    def cost(self, level: Level) -> PrivacyCost:
        """As `cost_at`."""
        return cost_at(level, self.policy, self.arms, self.horizon, self.domain, self.convention)

    def generator(self, identity: str, number: int) -> np.random.Generator:
        """The generator of some plays, with its noise multiplied."""
        rng = stream(identity, number)
        return rng if self.noise == 1 else ScaledNoise(rng.bit_generator, self.noise)

    def played(self, table: FloatArray, runs: int, rng: np.random.Generator) -> IntArray:
        """The arms of some plays on a table, shape (runs, steps). Raises whatever the policy does."""
        return sampled.played(self.policy, table, runs, rng, self.convention)
