"""Bounds on LDP-UCB-B and LDP-UCB-L (Ren, Zhou, Liu and Shroff 2020), derived here by the proof of UCB1."""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gaps, require_horizon
from bandits.parameters import require_epsilon


def ldp_ucb_b_regret(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """Sum over suboptimal arms of 8 log T / (gap tanh(epsilon / 2)^2) + (1 + pi^2 / 3) gap.

    Theorem 1 of Auer, Cesa-Bianchi and Fischer (2002) for bits, whose gaps are those of the rewards times
    tanh(epsilon / 2). Regret is counted in rewards.
    """
    _require(gaps, epsilon, horizon)
    return float(np.sum(8 * math.log(horizon) / (gaps * math.tanh(epsilon / 2) ** 2) + (1 + math.pi**2 / 3) * gaps))


def ldp_ucb_l_regret(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """Sum over suboptimal arms of 8 (1 + 4 / epsilon)^2 log T / gap + (2 + 2 pi^2 / 3) gap, for T >= 2.

    Hoeffding's and Bernstein's inequality each fail with probability t^-4 on each side: twice the pi^2 / 3 of UCB1. The
    forced pulls, up to 4 log(T + 1) <= 8 log T, are covered by the first term.
    """
    _require(gaps, epsilon, horizon)
    leading = 8 * (1 + 4 / epsilon) ** 2 * math.log(horizon) / gaps
    return float(np.sum(leading + (2 + 2 * math.pi**2 / 3) * gaps))


def _require(gaps: FloatArray, epsilon: float, horizon: int) -> None:
    require_gaps(gaps)
    require_epsilon(epsilon)
    require_horizon(horizon)
