"""Users who send one random bit of their reward: randomised response."""

import numpy as np
from scipy.special import expit

from bandits.arrays import FloatArray
from bandits.audit.ledger import Release
from bandits.audit.releases import RandomBit
from bandits.guarantees import Guarantee, Scope
from bandits.parameters import require, require_epsilon

LARGEST_EPSILON = 700.0  # e^epsilon does not overflow


class RandomisedResponse:
    """What policies on one random bit per user share; subclasses are frozen dataclasses with a field `epsilon`.

    A user with the reward r in [0, 1] sends 1 with probability (r e^epsilon + 1 - r) / (1 + e^epsilon), else 0. The
    likelihood ratio of a bit is at most e^epsilon. Bits of an arm with mean m are independent Bernoulli(1 / (1 +
    e^epsilon) + m tanh(epsilon / 2)), whatever the law of its rewards: what is played on bits serves all rewards in
    [0, 1].

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    epsilon: float

    def _require_budget(self) -> None:
        require_epsilon(self.epsilon)
        require(self.epsilon <= LARGEST_EPSILON, "epsilon", self.epsilon, f"at most {LARGEST_EPSILON:g}")

    def chance(self, reward: FloatArray | float) -> FloatArray:
        """The probability that a user with this reward, or with rewards of this mean, sends 1."""
        return np.asarray(expit(-self.epsilon) + np.tanh(self.epsilon / 2) * np.asarray(reward))

    def report(self, reward: float, rng: np.random.Generator) -> float:
        """What a user with this `reward` in [0, 1] sends."""
        return float(rng.random() < self.chance(reward))

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon, scope=Scope.LOCAL)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The bit of one reward."""
        return (RandomBit("local bit", "", float(expit(-self.epsilon))),)
