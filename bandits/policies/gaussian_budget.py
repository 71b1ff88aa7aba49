"""What policies share that promise a level of Gaussian privacy: given itself, by epsilon and delta, or by rho."""

import math

from bandits.guarantees import Guarantee, Scope
from bandits.mechanisms.gaussian import gaussian_level, require_level, require_one


class GaussianBudget:
    """Base of a policy with a `level` or a delta: then the level is the largest that is (epsilon, delta)-private."""

    epsilon: float
    delta: float | None
    level: float | None

    def require_budget(self) -> None:
        """Raise `ParameterError` unless exactly one of delta and level is given, and in its range."""
        require_one(self.delta, self.level, "level")
        if self.level is not None:
            require_level(self.level)

    @property
    def promised(self) -> float:
        """The level of GDP."""
        if self.level is not None:
            return self.level
        assert self.delta is not None
        return gaussian_level(self.epsilon, self.delta)

    def gaussian_guarantee(self, scope: Scope = Scope.TRANSCRIPT) -> Guarantee:
        """The promise at the epsilon of the budget, with its level."""
        if self.delta is None:
            return Guarantee.gaussian(self.promised, self.epsilon, scope)
        return Guarantee(self.epsilon, self.delta, scope, level=self.promised)


class ConcentratedBudget:
    """Base of a policy with a budget of zCDP all of whose noise is normal: `rho`-zCDP, and in fact a level."""

    rho: float

    @property
    def level(self) -> float:
        """The level of Gaussian differential privacy, sqrt(2 rho)."""
        return math.sqrt(2 * self.rho)

    @property
    def guarantee(self) -> Guarantee:
        """The level, quoted at epsilon = sqrt(2 rho): epsilon-privacy implies epsilon^2 / 2-zCDP, not conversely."""
        return Guarantee.gaussian(self.level, self.level)
