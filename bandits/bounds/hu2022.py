"""Hu, Huang and Mehta (2021) and Hu and Hegde (2022): Anytime-Lazy-UCB and Lazy-DP-TS, orders only."""

import math

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gaps, require_horizon
from bandits.parameters import require_arms, require_epsilon


def lazy_regret_order(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """The order of the regret of both policies: the sum of log(T) / min(gap, epsilon)."""
    require_gaps(gaps)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return sum(math.log(horizon) / min(float(gap), epsilon) for gap in gaps)


def lazy_worst_case_regret_order(arms: int, epsilon: float, horizon: int) -> float:
    """The order of the regret of both policies for all gaps: sqrt(K T log T) + K log(T) / epsilon."""
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return math.sqrt(arms * horizon * math.log(horizon)) + arms * math.log(horizon) / epsilon
