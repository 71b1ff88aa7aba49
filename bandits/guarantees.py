"""What a policy promises about privacy, as data."""

import math
from dataclasses import dataclass
from enum import StrEnum

from bandits.parameters import require


class Scope(StrEnum):
    """Which output the promise covers.

    TRANSCRIPT: all that is released: the whole sequence of pulled arms, or when a stopping rule halts and its estimate.
    DECISION: the single arm pulled at one step, the history before it held fixed.
    LOCAL: every reward, before the learner sees it.
    NONE: nothing; the policy is not private.
    """

    TRANSCRIPT = "transcript"
    DECISION = "decision"
    LOCAL = "local"
    NONE = "none"


class Neighbours(StrEnum):
    """Which two inputs must be hard to tell apart."""

    ONE_REWARD = "one reward changed"
    ONE_LOSS_VECTOR = "the losses of one step changed"
    ONE_VALUE = "one value of the stream changed"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of `scope` between `neighbours`.

    A policy that is not private has `epsilon = inf` and scope NONE. Raises `ParameterError` for a
    negative or undefined epsilon, a delta outside [0, 1), or a scope that contradicts epsilon.
    """

    epsilon: float
    delta: float = 0.0
    scope: Scope = Scope.TRANSCRIPT
    neighbours: Neighbours = Neighbours.ONE_REWARD

    def __post_init__(self) -> None:
        require(self.epsilon >= 0, "epsilon", self.epsilon, "a number >= 0")
        require(0 <= self.delta < 1, "delta", self.delta, "a number in [0, 1)")
        private = self.scope is not Scope.NONE
        require(private == math.isfinite(self.epsilon), "scope", self.scope, "none exactly when epsilon is infinite")

    @property
    def private(self) -> bool:
        return self.scope is not Scope.NONE


NOT_PRIVATE = Guarantee(epsilon=math.inf, scope=Scope.NONE)
