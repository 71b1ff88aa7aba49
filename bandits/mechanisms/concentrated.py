"""Zero-concentrated differential privacy, zCDP (Bun and Steinke 2016).

A release is `rho`-zCDP if the Renyi divergence of every order alpha > 1 between its laws on neighbouring inputs is at
most rho alpha. The rho of several releases add up. Normal noise of variance s^2 / (2 rho) on a number that one reward
moves by at most s is rho-zCDP; it has the level sqrt(2 rho) of Gaussian differential privacy, which is stronger.
"""

import math

from bandits.parameters import require

RHOS = (1e-100, 1e100)


def require_rho(rho: float) -> None:
    """A rho of zCDP is a number above zero."""
    require(RHOS[0] <= rho <= RHOS[1], "rho", rho, "a finite number > 0 (in 1e-100..1e100)")


def concentrated_delta(rho: float, epsilon: float) -> float:
    """A delta for which `rho`-zCDP implies (`epsilon`, delta)-privacy: exp(-(epsilon - rho)^2 / (4 rho)).

    Bun and Steinke 2016, Proposition 1.3: epsilon = rho + 2 sqrt(rho log(1 / delta)). 1 for epsilon <= rho, where the
    proposition gives nothing.
    """
    return math.exp(-max(epsilon - rho, 0.0) / rho * max(epsilon - rho, 0.0) / 4)


def rho_of_pure(epsilon: float) -> float:
    """The least rho of zCDP that pure `epsilon`-privacy implies: epsilon tanh(epsilon / 2), at most epsilon^2 / 2.

    Randomised response has exactly this rho (docs/theorems.md, 6.5).
    """
    return epsilon * math.tanh(epsilon / 2)
