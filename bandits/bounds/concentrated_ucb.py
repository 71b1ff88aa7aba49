"""The regret of AdaC-UCB, our form of the policy of Azize and Basu (2023): concentrated_ucb.md, 11.2."""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gap, require_gaps, require_horizon
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require

ADDED = 1000  # terms that are added one by one; an integral bounds the others


def adac_ucb_regret(gaps: FloatArray, rho: float, horizon: float, alpha: float) -> float:
    """Expected regret of AdaC-UCB is at most this (11.2): a sum over suboptimal arms of gap times

    1 + 4 `last_episode` + `failed_pulls`, that is 8 alpha log(T) / gap + 8 sqrt(alpha log(T) / rho) + O(gap). The
    term with rho is of the order of sqrt(log T).
    """
    require_gaps(gaps)
    wrong = 1 + failed_pulls(alpha, horizon)
    return float(sum(gap * (wrong + 4 * last_episode(float(gap), rho, horizon, alpha)) for gap in gaps))


def last_episode(gap: float, rho: float, horizon: float, alpha: float) -> float:
    """While no index fails, an arm is chosen again only after an episode of at most this many pulls (11.1).

    2 alpha L / gap^2 + 2 sqrt(alpha L / rho) / gap, L = log T.
    """
    require_gap(gap)
    require_rho(rho)
    require_horizon(horizon)
    require(2 < alpha <= 1e100, "alpha", alpha, "a finite number > 2")
    log = alpha * math.log(horizon)
    return 2 * log / gap**2 + 2 * math.sqrt(log / rho) / gap


def failed_pulls(alpha: float, horizon: float) -> float:
    """An upper bound on expected pulls of an arm in episodes chosen while an index fails, up to step `horizon`.

    The sum over steps t from 3 to T of 2 (1 + log2(t)) t^(1 - alpha); beyond `ADDED` it is bounded by the integral.
    """
    require_horizon(horizon)
    require(2 < alpha <= 1e100, "alpha", alpha, "a finite number > 2")
    t = np.arange(3, min(horizon, ADDED) + 1)
    total = float((2 * (1 + np.log2(t)) * t ** (1 - alpha)).sum())
    if horizon <= ADDED:
        return total
    power = alpha - 2
    beyond = float(2 * ADDED**-power / power)
    return total + beyond * (1 + math.log2(ADDED) + 1 / (power * math.log(2)))
