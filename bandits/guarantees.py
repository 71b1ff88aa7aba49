"""What a policy promises about privacy, as data."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from bandits.mechanisms.gaussian import gaussian_delta, require_level
from bandits.parameters import ParameterError, require


class Scope(StrEnum):
    """Which output the promise covers.

    TRANSCRIPT: all that is released: the whole sequence of pulled arms, or when a stopping rule halts and its estimate.
    DECISION: the single arm pulled at one step, the history before it held fixed.
    LOCAL: every reward, before the learner sees it.
    DISTRIBUTED: every sum that the learner receives; no server is trusted with rewards, and the arms follow from sums.
    NONE: nothing; the policy is not private.
    """

    TRANSCRIPT = "transcript"
    DECISION = "decision"
    LOCAL = "local"
    DISTRIBUTED = "distributed"
    NONE = "none"


class Neighbours(StrEnum):
    """Which two inputs must be hard to tell apart."""

    ONE_REWARD = "one reward changed"
    ONE_LOSS_VECTOR = "the losses of one step changed"
    ONE_VALUE = "one value of the stream changed"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of `scope` between `neighbours`.

    A policy that is not private has `epsilon = inf` and scope NONE; so has one that does not say, `declared` False.
    Gaussian differential privacy has a `level` beside the one pair (epsilon, delta) at which it is quoted, and
    `delta_at` gives the others. Raises `ParameterError` for a negative or undefined epsilon, a delta outside [0, 1), a
    scope that contradicts epsilon, a promise that is not declared, or a level that does not keep (epsilon, delta).
    """

    epsilon: float
    delta: float = 0.0
    scope: Scope = Scope.TRANSCRIPT
    neighbours: Neighbours = Neighbours.ONE_REWARD
    level: float | None = None
    declared: bool = True

    def __post_init__(self) -> None:
        require(self.epsilon >= 0, "epsilon", self.epsilon, "a number >= 0")
        require(0 <= self.delta < 1, "delta", self.delta, "a number in [0, 1)")
        private = self.scope is not Scope.NONE
        require(private == math.isfinite(self.epsilon), "scope", self.scope, "none exactly when epsilon is infinite")
        require(self.declared or not private, "declared", self.declared, "True for a promise")
        if self.level is not None:
            require_level(self.level)
            least = gaussian_delta(self.level, self.epsilon)
            allowed = f"above 0 and at least {least:.6g}: {self.level:g}-GDP is private for no smaller one"
            require(0 < self.delta >= least * (1 - 1e-9), "delta", self.delta, allowed)

    @classmethod
    def gaussian(cls, level: float, epsilon: float, scope: Scope = Scope.TRANSCRIPT) -> Self:
        """`level`-GDP, quoted at `epsilon` with its delta there, or the nearest number in (0, 1)."""
        require_level(level)
        delta = min(max(gaussian_delta(level, epsilon), math.ulp(0.0)), math.nextafter(1.0, 0.0))
        return cls(epsilon, delta, scope, level=level)

    @property
    def private(self) -> bool:
        return self.scope is not Scope.NONE

    @property
    def absence(self) -> str:
        """What there is in place of a promise, in words: a policy without privacy says so, or says nothing."""
        return "not private" if self.declared else "no promise"

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta at which it is known to be (`epsilon`, delta)-private: 1 where nothing is known."""
        if self.level is not None:
            return gaussian_delta(self.level, epsilon)
        return self.delta if epsilon >= self.epsilon else 1.0

    @property
    def pure(self) -> float:
        """The epsilon of pure privacy, delta = 0. Raises `ParameterError` for a guarantee that has none."""
        if self.level is not None:
            raise ParameterError("delta", f"must be > 0: {self.level:g}-GDP is purely epsilon-private for no epsilon")
        if self.delta > 0:
            raise ParameterError("delta", f"must be {self.delta:g}: nothing is promised for a smaller one")
        return self.epsilon


NOT_PRIVATE = Guarantee(epsilon=math.inf, scope=Scope.NONE)
NO_PROMISE = Guarantee(epsilon=math.inf, scope=Scope.NONE, declared=False)
