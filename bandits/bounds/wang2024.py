"""Wang and Zhu (2024): regret of the perturbed leaders and GDP-Elim-New, and a lower bound for private transcripts.

Theorems 16 and 18 are explicit. Theorems 11 and 13 add O(N / slack^4) to a leading term with constants: the
functions give the leading term, `dp_ftpl_remainder_order` the order of the rest. Theorem 11 is false as printed.
"""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gaps, require_horizon
from bandits.mechanisms.start_phases import beta_paper, gauss_paper
from bandits.mechanisms.truncated_laplace import optimism
from bandits.parameters import require, require_arms, require_epsilon
from bandits.policies.perturbed_leader import require_budget


def dp_ftpl_gauss_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int, slack: float) -> float:
    """The leading term of Theorem 11 of Wang and Zhu (2024), 0 < slack < gap / 2; O(arms / slack^4) comes on top.

    As printed, with a leading constant that is half of the true one: the proof assumes values of variance 1 / N, but
    Algorithm 1 draws them with 2 / N. For the correct bound see `bandits.bounds.gaussian_leaders`, variance 2.
    """
    _require(gaps, horizon)
    _require_slack(gaps, slack)
    learning = 2 * gaps * math.log(horizon) / (gaps - 2 * slack) ** 2
    return float(np.maximum(learning, gauss_paper(epsilon, delta) * gaps).sum())


def dp_ftpl_beta_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int, slack: float) -> float:
    """The leading term of Theorem 13 of Wang and Zhu (2024), 0 < slack < gap / 2; O(arms / slack^4) comes on top."""
    _require(gaps, horizon)
    _require_slack(gaps, slack)
    learning = 5 * gaps * math.log(horizon) / (2 * (gaps - 2 * slack) ** 2)
    return float(np.maximum(learning, beta_paper(epsilon, delta) * gaps).sum())


def dp_ftpl_new_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int) -> float:
    """Expected regret of DP-FTPL-New (Theorem 16 of Wang and Zhu 2024), also for epsilon = 0 or delta = 0."""
    _require(gaps, horizon)
    require_budget(epsilon, delta)
    privacy = 4 * optimism(horizon, epsilon, delta)
    return float(np.maximum(16 * math.log(horizon) / gaps, privacy).sum()) + 4 * (len(gaps) + 1)


def gdp_elim_new_regret(gaps: FloatArray, epsilon: float, delta: float, horizon: int) -> float:
    """Expected regret of GDP-Elim-New (Theorem 18 of Wang and Zhu 2024), also for epsilon = 0 or delta = 0."""
    _require(gaps, horizon)
    require_budget(epsilon, delta)
    least = float(gaps.min())
    learning = 1024 * gaps * math.log(horizon) / least**2
    privacy = 32 * gaps / least * optimism(horizon**2, epsilon, delta / 2)
    return float((learning + privacy).sum()) + 4 * (len(gaps) + 1)


def dp_ftpl_remainder_order(arms: int, slack: float) -> float:
    """The order N / slack^4 of what Theorems 11 and 13 add to their leading terms, for DP-FTPL-Gauss and -Beta."""
    require_arms(arms)
    require(slack > 0, "slack", slack, "a number > 0")
    return arms / slack**4


def two_armed_transcript_lower_bound(epsilon: float, delta: float, horizon: int, scale: float, power: float) -> float:
    """Regret that some two-armed instance forces (Theorem 4 of Wang and Zhu 2024).

    For every policy with an (epsilon, delta)-private transcript whose regret is at most scale x T^power on
    all instances, scale > 0 and power < 1: x / 16, x = log((g T^(1-power) + 5 delta T^(1-power)) / (40 scale g +
    5 delta T^(1-power))) / epsilon, g = e^epsilon - 1, or 3/32 floor(x) if that is less (only for x below 2), because
    the proof changes an integer number of rewards. T is at least 3 x, so that N_0 = 3 x / 2 pulls fit into half of it.
    It does not apply to guarantees for single decisions, see the errata.
    """
    require_epsilon(epsilon)
    require(0 <= delta < 1, "delta", delta, "a number in [0, 1)")
    require(scale > 0, "scale", scale, "a number > 0")
    require(0 < power < 1, "power", power, "a number in (0, 1)")
    require_horizon(horizon)
    growth, room = math.expm1(epsilon), float(horizon) ** (1 - power)
    log = math.log((growth + 5 * delta) * room / (40 * scale * growth + 5 * delta * room))
    require(horizon >= 3 * log / epsilon, "horizon", horizon, f"at least {3 * log / epsilon:.6g} for this budget")
    return max(0.0, min(log / epsilon / 16, 3 / 32 * math.floor(log / epsilon)))


def transcript_lower_bound_order(arms: int, epsilon: float, delta: float, horizon: int) -> float:
    """The order of Remark 6: (N / epsilon) log((g T + delta T) / (g + delta T)), g = e^epsilon - 1.

    The regret that every policy with an (epsilon, delta)-private transcript has on some instance with N arms. For
    delta = 0 that is (N / epsilon) log T; for delta > 0 it has a limit as T grows.
    """
    require_arms(arms)
    require_epsilon(epsilon)
    require(0 <= delta < 1, "delta", delta, "a number in [0, 1)")
    require_horizon(horizon)
    growth = -math.expm1(-epsilon)
    share = delta * math.exp(-epsilon)
    return arms / epsilon * math.log((growth + share) * horizon / (growth + share * horizon))


def _require(gaps: FloatArray, horizon: float) -> None:
    require_gaps(gaps)
    require_horizon(horizon)


def _require_slack(gaps: FloatArray, slack: float) -> None:
    least = float(gaps.min())
    require(0 < slack < least / 2, "slack", slack, f"a number in (0, {least / 2:g}), half of the least gap")
