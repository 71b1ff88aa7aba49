"""Zero-concentrated differential privacy, zCDP (Bun and Steinke 2016).

A release is `rho`-zCDP if the Renyi divergence of every order alpha > 1 between its laws on neighbouring inputs is at
most rho alpha. The rho of several releases add up. Normal noise of variance s^2 / (2 rho) on a number that one reward
moves by at most s is rho-zCDP; it has the level sqrt(2 rho) of Gaussian differential privacy, which is stronger.
"""

import math

from bandits.parameters import require

RHOS = (1e-201, 1e100)  # rho of a pure epsilon down to 1e-100
LEAST_LOG = -700.0  # of an order less 1: below it delta is 1
HALVINGS = 60  # of a range of less than 1200 in the logarithm of an order
SMALL = 1e-3  # of an epsilon
PURE_HALVINGS = 100  # of a range of epsilon that is at most 1 or twice its low end


def require_rho(rho: float) -> None:
    """A rho of zCDP is a number above zero."""
    require(RHOS[0] <= rho <= RHOS[1], "rho", rho, f"a finite number > 0 (in {RHOS[0]:g}..{RHOS[1]:g})")


def concentrated_delta(rho: float, epsilon: float) -> float:
    """A delta for which `rho`-zCDP implies (`epsilon`, delta)-privacy.

    The infimum over a > 1 of exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a (Canonne, Kamath and Steinke 2020,
    Proposition 12). The derivative of its logarithm, (2a - 1) rho - epsilon + log(1 - 1/a), grows in a: it is least
    where that is 0. Every a gives a valid delta, so that an inexact root is no error. Not the least delta: normal noise
    has a smaller one (bandits/guarantees.md, 6.5).
    """
    if math.isinf(epsilon):
        return 0.0
    low, high = LEAST_LOG, math.log1p((epsilon + 1) / rho)  # of a - 1; at `high` the derivative is above 2 - log 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = (2 * math.exp(middle) + 1) * rho - epsilon - math.log1p(math.exp(-middle)) > 0
        low, high = (low, middle) if rises else (middle, high)
    return min(1.0, math.exp(_log_delta(rho, epsilon, high)))


def _log_delta(rho: float, epsilon: float, log_excess: float) -> float:
    """The logarithm of the delta at the order a = 1 + e^`log_excess`."""
    excess = math.exp(log_excess)
    return excess * ((1 + excess) * rho - epsilon) - log_excess - (1 + excess) * math.log1p(math.exp(-log_excess))


def rho_of_pure(epsilon: float) -> float:
    """The least rho of zCDP that pure `epsilon`-privacy implies: epsilon tanh(epsilon / 2), at most epsilon^2 / 2.

    Randomised response has exactly this rho (Desfontaines 2024; bandits/guarantees.md, 6.5).
    """
    return epsilon * math.tanh(epsilon / 2)


def pure_of_rho(rho: float) -> float:
    """The largest epsilon whose pure privacy implies `rho`-zCDP, the inverse of `rho_of_pure`, rounded down."""
    require_rho(rho)
    low, high = 0.0, 1.0
    while rho_of_pure(high) <= rho:
        low, high = high, 2 * high
    for _ in range(PURE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_of_pure(middle) <= rho else (low, middle)
    return low


def rho_of_laplace(epsilon: float) -> float:
    """The rho of Laplace noise that is purely `epsilon`-private: epsilon + e^-epsilon - 1, less than of pure privacy.

    Harrison and Manurangsi (2026, arXiv 2510.25746). The function is convex and 0 at 0, so it also holds for several
    numbers that one reward moves, each with Laplace noise, if they cost epsilon together (bandits/guarantees.md, 6.7).
    """
    if epsilon < SMALL:  # the sum would cancel
        return epsilon**2 / 2 * (1 - epsilon / 3 + epsilon**2 / 12 - epsilon**3 / 60)
    return epsilon + math.expm1(-epsilon)


def rho_of_discrete_laplace(epsilon: float, steps: int) -> float:
    """The rho of discrete Laplace noise, Pr[j] proportional to e^(-|j| epsilon / `steps`), on a number in whole steps.

    One reward moves the number by at most `steps`. With x = epsilon / `steps` it is the rho of Laplace noise plus
    (1 - e^-epsilon)(1 - x / sinh x): `rho_of_pure` for one step, and near `rho_of_laplace` for many
    (bandits/guarantees.md, 6.7).
    """
    require(steps >= 1, "steps", steps, "a whole number >= 1")
    x = epsilon / steps
    near, far = x**2 / 6 - 7 * x**4 / 360, 1 + 2 * x * math.exp(-x) / math.expm1(-2 * x)  # 1 - x / sinh x
    return rho_of_laplace(epsilon) - math.expm1(-epsilon) * (near if x < SMALL else far)  # far cancels near 0
