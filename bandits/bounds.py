"""Regret and pulls that the papers' theorems allow, with the constants that their proofs give.

`gaps` are those of the suboptimal arms (an optimal arm has none), shape (arms - 1,), in (0, 1].
"""

import math

import numpy as np

from bandits.mechanisms.truncated_laplace import optimism
from bandits.parameters import require
from bandits.start_phases import beta_paper, gauss_paper
from bandits.types import FloatArray


def suboptimal_gaps(gaps: FloatArray) -> FloatArray:
    """The gaps above 0."""
    return gaps[gaps > 0]


def dp_se_pulls(gap: float, arms: int, epsilon: float, horizon: int) -> float:
    """Pulls of an arm by DP-SE that are exceeded with probability 1/horizon at most.

    log(K log2(2/gap) / beta) (1024 / gap^2 + 96 / (epsilon gap)), beta = 1/horizon: the end of the proof of
    Lemma 4.2 of Sajed and Sheffet (2019).
    """
    return math.log(arms * math.log2(2 / gap) * horizon) * (1024 / gap**2 + 96 / (epsilon * gap))


def dp_se_regret(gaps: FloatArray, epsilon: float, horizon: int) -> float:
    """Expected regret of DP-SE (Theorem 4.3 of Sajed and Sheffet 2019, with the constants of Lemma 4.2)."""
    arms = len(gaps) + 1
    return 1 + sum(float(gap) * dp_se_pulls(float(gap), arms, epsilon, horizon) for gap in gaps)


def dp_ftpl_gauss_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int, slack: float) -> float:
    """The leading term of Theorem 11 of Wang and Zhu (2024), 0 < slack < gap / 2; O(arms / slack^4) comes on top."""
    _require_slack(gaps, slack)
    learning = 2 * gaps * math.log(horizon) / (gaps - 2 * slack) ** 2
    return float(np.maximum(learning, gauss_paper(epsilon, delta) * gaps).sum())


def dp_ftpl_beta_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int, slack: float) -> float:
    """The leading term of Theorem 13 of Wang and Zhu (2024), 0 < slack < gap / 2; O(arms / slack^4) comes on top."""
    _require_slack(gaps, slack)
    learning = 5 * gaps * math.log(horizon) / (2 * (gaps - 2 * slack) ** 2)
    return float(np.maximum(learning, beta_paper(epsilon, delta) * gaps).sum())


def dp_ftpl_new_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int) -> float:
    """Expected regret of DP-FTPL-New (Theorem 16 of Wang and Zhu 2024), also for epsilon = 0 or delta = 0."""
    privacy = 4 * optimism(horizon, epsilon, delta)
    return float(np.maximum(16 * math.log(horizon) / gaps, privacy).sum()) + 4 * (len(gaps) + 1)


def gdp_elim_new_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int) -> float:
    """Expected regret of GDP-Elim-New (Theorem 18 of Wang and Zhu 2024)."""
    least = float(gaps.min())
    learning = 1024 * gaps * math.log(horizon) / least**2
    privacy = 32 * gaps / least * optimism(horizon**2, epsilon, delta / 2)
    return float((learning + privacy).sum()) + 4 * (len(gaps) + 1)


def transcript_lower_bound(epsilon: float, delta: float, horizon: int, scale: float, power: float) -> float:
    """Regret that some two-armed instance forces (Theorem 4 of Wang and Zhu 2024).

    For every policy with an (epsilon, delta)-private transcript whose regret is at most scale x T^power on
    all instances, scale > 0 and power < 1: log((g T^(1-power) + 5 delta T^(1-power)) / (40 scale g +
    5 delta T^(1-power))) / (16 epsilon), g = e^epsilon - 1, and never below 0.
    """
    require(scale > 0, "scale", scale, "a number > 0")
    require(0 < power < 1, "power", power, "a number in (0, 1)")
    growth, room = math.expm1(epsilon), float(horizon) ** (1 - power)
    return max(0.0, math.log((growth + 5 * delta) * room / (40 * scale * growth + 5 * delta * room)) / (16 * epsilon))


def _require_slack(gaps: FloatArray, slack: float) -> None:
    least = float(gaps.min())
    require(0 < slack < least / 2, "slack", slack, f"a number in (0, {least / 2:g}), half of the least gap")
