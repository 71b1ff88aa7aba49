"""Perturbed leaders with Gaussian values, such as DP-FTPL-Gauss: our own theorems (gaussian_leaders.md, section 7).

Every arm is pulled `start` times. Then the value of an arm after N pulls is Normal(its mean reward, variance / N),
drawn anew at every step, and the arm with the largest value is pulled. Wang and Zhu (2024), Algorithm 1, have variance
2; Thompson sampling with a Gaussian prior has 1 (Agrawal and Goyal 2013). Rewards lie in [0, 1] and are independent.
"""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gaps, require_horizon
from bandits.parameters import require


def gaussian_leader_slope(gaps: FloatArray, value_variance: float) -> float:
    """The limit of expected regret / log T as T grows: the sum of 2 variance / gap (gaussian_leaders.md, 7.2).

    For variance >= 1; the start phase does not matter.
    """
    require_gaps(gaps)
    require(1 <= value_variance < math.inf, "value_variance", value_variance, "a number >= 1")
    return float((2 * value_variance / gaps).sum())


def gaussian_leader_regret(gaps: FloatArray, start: int, value_variance: float, horizon: float, slack: float) -> float:
    """An upper bound on expected regret, all terms included (gaussian_leaders.md, 7.1); 0 < slack < least gap / 2.

    The sum over suboptimal arms of gap (max(start, 2 variance log(T) / (gap - 2 slack)^2) + 3/2 + 1 / (2 slack^2) + r),
    r = (8 variance + 2) / slack^2 + (4 sqrt(2 pi) / 3) (1/a + a^(-3/2)), a = 3 slack^2 / 2. Variance is at least 1.
    """
    require_gaps(gaps)
    require_horizon(horizon)
    require(start >= 1, "start", start, "a whole number >= 1")
    require(1 <= value_variance < math.inf, "value_variance", value_variance, "a number >= 1")
    least = float(gaps.min())
    require(0 < slack < least / 2, "slack", slack, f"a number in (0, {least / 2:g}), half of the least gap")
    learning = np.maximum(start, 2 * value_variance * math.log(horizon) / (gaps - 2 * slack) ** 2)
    rate = 1.5 * slack**2
    behind = (8 * value_variance + 2) / slack**2 + 4 * math.sqrt(2 * math.pi) / 3 * (1 / rate + rate**-1.5)
    return float((gaps * (learning + 1.5 + 1 / (2 * slack**2) + behind)).sum())
