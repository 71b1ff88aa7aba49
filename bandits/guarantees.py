"""Privacy guarantees of policies, as data; proofs of which implies which: guarantees.md."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from bandits.mechanisms.concentrated import (
    concentrated_delta,
    require_rho,
    rho_of_discrete_laplace,
    rho_of_laplace,
    rho_of_pure,
)
from bandits.mechanisms.gaussian import gaussian_delta, level_of_pure, require_level
from bandits.parameters import ParameterError, real_number, require


class Scope(StrEnum):
    """Which output the guarantee covers.

    TRANSCRIPT: all that is released: the sequence of pulled arms, or the stopping time and estimate of a stopping rule.
    DECISION: the single arm pulled at one step, the history before it held fixed.
    LOCAL: every reward, before the learner sees it.
    SHUFFLE: the messages of each batch of users in a random order, which is all that the learner receives.
    DISTRIBUTED: every sum that the learner receives; no server sees a reward, and the arms follow from the sums.
    NONE: nothing; the policy is not private.
    """

    TRANSCRIPT = "transcript"
    DECISION = "decision"
    LOCAL = "local"
    SHUFFLE = "shuffle"
    DISTRIBUTED = "distributed"
    NONE = "none"


WIDER = {
    Scope.LOCAL: Scope.SHUFFLE,
    Scope.SHUFFLE: Scope.DISTRIBUTED,
    Scope.DISTRIBUTED: Scope.TRANSCRIPT,
    Scope.TRANSCRIPT: Scope.DECISION,
}  # a guarantee about the key implies one about the value, with the same epsilon except about a decision
ROUNDING = 1e-9  # relative; guarantees that differ by less are equal


class Neighbours(StrEnum):
    """Which two inputs must be hard to distinguish."""

    ONE_REWARD = "one reward changed"
    ONE_LOSS_VECTOR = "the losses of one step changed"
    ONE_VALUE = "one value of the stream changed"


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of `scope` between `neighbours`.

    A policy that is not private has `epsilon = inf` and scope NONE; with `declared` False it makes no statement.
    Gaussian differential privacy has a `level` beside the one pair (epsilon, delta) at which it is quoted, and
    `delta_at` gives the others; likewise zero-concentrated privacy, zCDP, has a `rho`. Gaussian noise has a level,
    which implies rho = level^2 / 2 and says more. With delta = 0 both hold, pure `epsilon` and `rho`, as for Laplace
    noise, whose rho is less than what pure privacy implies. Numbers are kept as floats, and texts as the scope or
    neighbours that they name. Raises `ParameterError` for what is no number or name, a negative or undefined epsilon, a
    delta outside [0, 1), a scope that contradicts epsilon, a guarantee that is not declared, a level beside a rho, or a
    level or rho that does not imply (epsilon, delta).
    """

    epsilon: float
    delta: float = 0.0
    scope: Scope = Scope.TRANSCRIPT
    neighbours: Neighbours = Neighbours.ONE_REWARD
    level: float | None = None
    declared: bool = True
    rho: float | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "level", "rho"):
            value = getattr(self, name)
            if value is not None or name in ("epsilon", "delta"):
                object.__setattr__(self, name, real_number(value, name))
        for name, words in (("scope", Scope), ("neighbours", Neighbours)):
            value = getattr(self, name)
            if not isinstance(value, words):
                require(value in list(words), name, repr(value), f"one of {', '.join(map(repr, map(str, words)))}")
                object.__setattr__(self, name, words(value))
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
        if self.rho is not None:
            require(self.level is None, "rho", self.rho, "left out where there is a level, which says more")
            require_rho(self.rho)
            if self.delta == 0:
                implied = rho_of_pure(self.epsilon)
                allowed = f"at most {implied:.6g}, which pure {self.epsilon:g}-privacy implies; or give a delta > 0"
                require(self.rho <= implied * (1 + ROUNDING), "rho", self.rho, allowed)
            else:
                least = concentrated_delta(self.rho, self.epsilon)
                allowed = f"at least {least:.6g}, which is known for {self.rho:g}-zCDP"
                require(self.delta >= least * (1 - 1e-9), "delta", self.delta, allowed)

    @classmethod
    def gaussian(cls, level: float, epsilon: float, scope: Scope = Scope.TRANSCRIPT) -> Self:
        """`level`-GDP, quoted at `epsilon` with its delta there, moved into (0, 1)."""
        require_level(level)
        return cls(epsilon, _within(gaussian_delta(level, epsilon)), scope, level=level)

    @classmethod
    def concentrated(cls, rho: float, epsilon: float, scope: Scope = Scope.TRANSCRIPT) -> Self:
        """`rho`-zCDP, quoted at `epsilon` with the delta that is known there, moved into (0, 1)."""
        require_rho(rho)
        return cls(epsilon, _within(concentrated_delta(rho, epsilon)), scope, rho=rho)

    @classmethod
    def laplace(
        cls, epsilon: float, scope: Scope = Scope.TRANSCRIPT, neighbours: Neighbours = Neighbours.ONE_REWARD
    ) -> Self:
        """Pure `epsilon` of Laplace noise on sums, with its rho (guarantees.md, 6.7).

        All that `scope` covers must follow from the noisy sums. One reward may be in several, if they cost `epsilon`
        together. Not for a comparison with noise that is not released, as a sparse vector's.
        """
        return cls(epsilon, scope=scope, neighbours=neighbours, rho=rho_of_laplace(epsilon))

    @classmethod
    def discrete_laplace(cls, epsilon: float, steps: int, scope: Scope = Scope.TRANSCRIPT) -> Self:
        """As `laplace`, for discrete Laplace noise on sums of which one reward moves one, by at most `steps` steps."""
        return cls(epsilon, scope=scope, rho=rho_of_discrete_laplace(epsilon, steps))

    @property
    def private(self) -> bool:
        return self.scope is not Scope.NONE

    @property
    def absence(self) -> str:
        """The text for a guarantee that promises nothing: `not private` if declared so, else `no promise`."""
        return "not private" if self.declared else "no promise"

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta for which (`epsilon`, delta)-privacy is known; 1 if nothing is known.

        Below the epsilon of the promise it is delta + (1 - delta) (e^promised - e^epsilon) / (1 + e^promised), the
        best possible (Kairouz, Oh and Viswanath 2015; guarantees.md, 6.2).
        """
        if self.level is not None:
            return gaussian_delta(self.level, epsilon)
        if not self.private:
            return 1.0
        concentrated = 1.0 if self.rho is None else concentrated_delta(self.rho, epsilon)
        if self.rho is not None and self.delta > 0:
            return concentrated
        excess = -math.expm1(min(epsilon - self.epsilon, 0.0)) / (1 + math.exp(-self.epsilon))
        return min(concentrated, self.delta + (1 - self.delta) * excess)

    def about(self, scope: Scope) -> Self | None:
        """The guarantee about another scope that this one implies, None if none (guarantees.md, 6.1 and 6.4).

        A local guarantee implies one about shuffled messages, that one about their sums (distributed), and that one
        about the transcript, with the same epsilon and delta. A purely epsilon-private transcript makes one decision,
        its history fixed, 2 epsilon-private. With delta > 0, a level or a rho nothing follows for a decision: its
        history may be a rare one.
        """
        if scope is self.scope or not self.private:
            return self if scope is self.scope else None
        if self.scope not in WIDER:
            return None
        wider = WIDER[self.scope]
        if wider is not Scope.DECISION:
            return replace(self, scope=wider).about(scope)
        if scope is not wider or self.delta > 0:
            return None
        return replace(self, epsilon=2 * self.epsilon, scope=wider, rho=None)

    def implies(self, other: "Guarantee") -> bool:
        """Whether every mechanism with this guarantee also has the `other` (guarantees.md, section 6)."""
        if not other.private:
            return True
        own = self.about(other.scope) if self.neighbours is other.neighbours else None
        if own is None:
            return False
        if other.level is not None:
            return own.least_level <= other.level * (1 + ROUNDING)
        if other.rho is not None and own.least_rho > other.rho * (1 + ROUNDING):
            return False
        if other.delta == 0:
            return own.delta == 0 and own.epsilon <= other.epsilon * (1 + ROUNDING)
        if other.rho is not None:
            return True
        return own.delta_at(other.epsilon) <= other.delta * (1 + ROUNDING)

    @property
    def least_level(self) -> float:
        """The least level of GDP that is known: infinite for a rho, or for one pair (epsilon, delta) with delta > 0."""
        if self.level is not None:
            return self.level
        return math.inf if self.delta > 0 else level_of_pure(self.epsilon)

    @property
    def least_rho(self) -> float:
        """The least rho of zCDP that follows: infinite for a single pair (epsilon, delta) with delta > 0."""
        if self.level is not None:
            return self.level**2 / 2
        if self.rho is not None:
            return self.rho
        return math.inf if self.delta > 0 else rho_of_pure(self.epsilon)

    @property
    def quoted(self) -> Self:
        """What rivals of a policy must promise: this without the rho beside a pure epsilon, which is an extra."""
        return replace(self, rho=None) if self.delta == 0 else self

    def composed(self, decisions: int) -> tuple[float, float]:
        """Epsilon and delta of several decisions together: their sums. A delta of 1 promises nothing."""
        return self.epsilon * decisions if decisions > 0 else 0.0, min(1.0, self.delta * max(decisions, 0))

    @property
    def pure(self) -> float:
        """The epsilon of pure privacy, delta = 0. Raises `ParameterError` for a guarantee that has none."""
        if self.level is not None:
            raise ParameterError("delta", f"must be > 0: {self.level:g}-GDP is purely epsilon-private for no epsilon")
        if self.rho is not None and self.delta > 0:
            raise ParameterError("delta", f"must be > 0: {self.rho:g}-zCDP need not be purely epsilon-private")
        if self.delta > 0:
            raise ParameterError("delta", f"must be {self.delta:g}: nothing is promised for a smaller one")
        return self.epsilon


def _within(delta: float) -> float:
    """The nearest number in (0, 1)."""
    return min(max(delta, math.ulp(0.0)), math.nextafter(1.0, 0.0))


NOT_PRIVATE = Guarantee(epsilon=math.inf, scope=Scope.NONE)
NO_PROMISE = Guarantee(epsilon=math.inf, scope=Scope.NONE, declared=False)
