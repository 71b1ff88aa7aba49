"""RW-FTPL, and what experts must cost under local Gaussian privacy. Theorems of our own.

Proofs: local_experts.md, section 16. `level` is that of Gaussian differential privacy of every loss vector.
"""

import math

import numpy as np
from scipy.special import gammainc, ndtr

from bandits.bounds.common import require_gap, require_horizon
from bandits.mechanisms.gaussian import require_level
from bandits.parameters import require, require_arms

SUMMED = 10_000  # steps; later ones are integrated


def any_losses_regret(arms: int, horizon: float, level: float) -> float:
    """Expected regret of RW-FTPL for any losses in [0, 1] that do not depend on its noise (local_experts.md, 16.1).

    (eta + 1 / (2 eta)) sqrt(2 T log K), eta = sqrt(K) / `level`. `jacobsen2026.rw_ftpl_regret` has 2 / eta.
    """
    require_arms(arms)
    require_horizon(horizon)
    require_level(level)
    deviation = math.sqrt(arms) / level
    return (deviation + 1 / (2 * deviation)) * math.sqrt(2 * horizon * math.log(arms))


def one_gap_regret(arms: int, level: float, gap: float) -> float:
    """Expected regret of RW-FTPL at every horizon where all worse arms have one `gap` (local_experts.md, 16.2).

    2 gap + 2 v (1 + log K) / gap, v = 1 + 2 K / `level`^2, for loss vectors that are independent from step to step.
    """
    require_gap(gap)
    return 2 * gap + _per_gap(arms, level) / gap


def least_gap_regret(arms: int, level: float, least_gap: float) -> float:
    """The same for any gaps of at least `least_gap`: 2 + 4 v (1 + log K) / `least_gap` (local_experts.md, 16.2)."""
    require_gap(least_gap)
    return 2 + 2 * _per_gap(arms, level) / least_gap


def _per_gap(arms: int, level: float) -> float:
    require_arms(arms)
    require_level(level)
    return 2 * (1 + 2 * arms / level**2) * (1 + math.log(arms))


def two_armed_local_lower_bound(level: float, horizon: float, gap: float = 1.0) -> float:
    """Regret of every locally `level`-GDP policy on two arms (local_experts.md, 16.3).

    On one of the two instances with losses (0, gap) or (gap, 0) at every step: gap times the sum over n = 0, ..., T - 1
    of Phi(-level sqrt(n) / 2). From step `SUMMED` on the integral stands for the sum, which is larger.
    """
    require_level(level)
    require_gap(gap)
    require(horizon >= 1, "horizon", horizon, "a number of steps, at least 1")
    steps = int(min(horizon, SUMMED))
    first = float(ndtr(-level * np.sqrt(np.arange(steps)) / 2).sum())
    return gap * (first + _integral(level, horizon) - _integral(level, steps))


def _integral(level: float, steps: float) -> float:
    """The integral of Phi(-level sqrt(x) / 2) over x in [0, `steps`]."""
    slope = level / 2
    inner = float(gammainc(1.5, slope**2 * steps / 2)) / (2 * slope**2)  # of x phi(slope sqrt(x)) slope / (2 sqrt(x))
    return inner + (steps * float(ndtr(-slope * math.sqrt(steps))) if math.isfinite(steps) else 0.0)
