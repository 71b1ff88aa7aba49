"""Regret of RW-FTPL as Jacobsen and Fawaz (2026, arXiv 2512.06971) state it; read in summaries, without its number."""

import math

from bandits.bounds.common import require_horizon
from bandits.mechanisms.gaussian import require_level
from bandits.parameters import require_arms


def rw_ftpl_regret(arms: int, horizon: float, level: float) -> float:
    """Expected regret of RW-FTPL for any losses in [0, 1]: (eta + 2 / eta) sqrt(2 T log K), eta = sqrt(K) / `level`."""
    require_arms(arms)
    require_horizon(horizon)
    require_level(level)
    deviation = math.sqrt(arms) / level
    return (deviation + 2 / deviation) * math.sqrt(2 * horizon * math.log(arms))
