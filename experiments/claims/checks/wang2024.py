"""What Wang and Zhu (2024) claim of laws and algorithms."""

import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise, product

import numpy as np

from bandits.bounds.gaussian_leaders import gaussian_leader_slope
from bandits.bounds.wang2024 import dp_ftpl_gauss_regret, gdp_elim_new_regret, two_armed_transcript_lower_bound
from bandits.exact.gaussian_leaders import fixed_rewards_pulls
from bandits.exponents import grown
from bandits.mechanisms.start_phases import (
    PROVED,
    beta_condition,
    beta_divergence,
    beta_paper,
    gauss_condition,
    gauss_paper,
)
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from experiments.claims.checks import ROUNDING
from experiments.claims.checks.matching import matching
from experiments.claims.settings import Setting
from experiments.intervals import Interval, exactly

DELTAS = (0.5, 0.1, 0.01, 1e-4, 1e-10)
BUDGETS = ((1.0, 0.01), (1.0, math.exp(-10)), (0.1, 0.01), (0.1, 1e-3), (0.01, 1e-3))  # of Figures 4, 6 and 7


def start_phase_needed() -> list[Setting]:
    """Smallest delta that holds with one pull fewer than printed, divided by the delta asked for"""
    settings = []
    for epsilon, delta in BUDGETS:
        for policy, paper, condition in (
            ("dp_ftpl_gauss", gauss_paper, gauss_condition),
            ("dp_ftpl_beta", beta_paper, beta_condition),
        ):
            where = {"policy": policy, "epsilon": epsilon, "delta": delta}
            before = paper(epsilon, delta) - 1
            settings.append(Setting(where, exactly(condition(before, epsilon) / delta), at_least=1.0))
    return settings


def beta_start_phase() -> list[Setting]:
    """Smallest delta of a decision of DP-FTPL-Beta after the printed start phase, divided by the delta asked for"""
    return _spent(_beta_delta, (*BUDGETS, (40.0, 1e-300)))


def beta_start_phase_up_to_183() -> list[Setting]:
    """Smallest delta of a decision of DP-FTPL-Beta for epsilon up to 1.83, divided by the delta asked for"""
    return _spent(_beta_delta, (*BUDGETS, *product((0.0, 0.05, 0.3, 0.7, 1.3, PROVED), DELTAS)))


def gauss_start_phase() -> list[Setting]:
    """Smallest delta of a decision of DP-FTPL-Gauss after the printed start phase, divided by the delta asked for"""

    def least(epsilon: float, delta: float) -> float:
        return gauss_condition(gauss_paper(epsilon, delta), epsilon)

    return _spent(least, (*BUDGETS, *product((0.0, 0.05, 0.5, 2.0, 5.0, 20.0, 40.0), DELTAS)))


def new_privacy() -> list[Setting]:
    """Smallest delta of a decision of DP-FTPL-New, divided by the delta asked for"""
    return _spent(_hockey_stick, BUDGETS)


def _beta_delta(epsilon: float, delta: float) -> float:
    return beta_condition(beta_paper(epsilon, delta), epsilon)


def _spent(least: Callable[[float, float], float], budgets: Iterable[tuple[float, float]]) -> list[Setting]:
    """For each budget the smallest delta over the one asked for."""
    return [
        Setting({"epsilon": epsilon, "delta": delta}, exactly(least(epsilon, delta) / delta), at_most=1 + ROUNDING)
        for epsilon, delta in budgets
    ]


def gauss_growth_as_printed() -> list[Setting]:
    """Growth of the exact regret of DP-FTPL-Gauss, divided by that of log T, means 1 and 0"""
    gap, slack = np.array([1.0]), 1e-9
    settings = []
    for (epsilon, delta), decades in _gauss_growth().items():
        for (first, last), growth in decades.items():
            allowed = [dp_ftpl_gauss_regret(gap, epsilon, delta, horizon, slack) for horizon in (first, last)]
            where = {"epsilon": epsilon, "delta": delta, "T": f"{first:.0e} to {last:.0e}"}
            settings.append(Setting(where, growth, at_most=(allowed[1] - allowed[0]) / math.log(last / first)))
    return settings


def gauss_growth() -> list[Setting]:
    """Growth of the exact regret of DP-FTPL-Gauss, divided by that of log T, means 1 and 0: from 4 - 4 / log T to 4"""
    most = gaussian_leader_slope(np.array([1.0]), value_variance=2.0)
    return [
        Setting(
            {"epsilon": epsilon, "delta": delta, "T": f"{first:.0e} to {last:.0e}"},
            growth,
            at_least=most - 4 / math.log(first),
            at_most=most,
        )
        for (epsilon, delta), decades in _gauss_growth().items()
        for (first, last), growth in decades.items()
    ]


@cache
def _gauss_growth() -> dict[tuple[float, float], dict[tuple[int, int], Interval]]:
    """By budget and decade: growth of the exact pulls of the worse of two arms, means 1 and 0, over that of log T.

    Decades begin long after the start phase, at 10^5 steps.
    """
    horizons = [10**5, 10**6, 10**7, 10**8]
    growth = {}
    for budget in ((1.0, 0.01), (1.0, math.exp(-10))):
        low, high = fixed_rewards_pulls(1.0, gauss_paper(*budget), horizons)
        ends = [(low[i + 1] - high[i], high[i + 1] - low[i]) for i in range(len(horizons) - 1)]
        growth[budget] = {
            pair: Interval(sum(end) / 2 / math.log(10), end[0] / math.log(10), end[1] / math.log(10))
            for pair, end in zip(pairwise(horizons), ends, strict=True)
        }
    return growth


def _hockey_stick(epsilon: float, delta: float) -> float:
    """The largest F(x) - e^epsilon F'(x), F' with a mean larger by one reward; the law is symmetric."""
    law, changed = (TruncatedLaplace(epsilon, delta, 1.0, center) for center in (0.0, 1.0))
    x = np.linspace(-law.half_width, 1 + law.half_width, 20_001)
    return float((law.cdf(x) - grown(changed.cdf(x), epsilon)).max())


def beta_without_k() -> list[Setting]:
    """Smallest delta of DP-FTPL-Beta without k at epsilon = 1: N pulls with no reward of 1, against one"""
    return [
        Setting({"pulls": count}, exactly(beta_divergence(np.array([1.0]), np.array([count]), 1.0)[0]), at_least=0.01)
        for count in (10.0, 1e4, 1e7, 1e12)
    ]


def truncated_laplace_boundary() -> list[Setting]:
    """Largest distance between F and e^epsilon F' + delta where F' has mass, F' centred one reward above F"""
    settings = []
    for epsilon, delta in ((0.1, 0.0), (1.0, 0.01), (1.0, math.exp(-10)), (0.0, 0.01)):
        for count in (10, 50):
            law, changed = (TruncatedLaplace(epsilon, delta, count, center) for center in (0.0, 1 / count))
            x = np.linspace(max(1 / count - law.half_width, -20.0), 0.0, 10_001)
            distance = np.abs(law.cdf(x) - grown(changed.cdf(x), epsilon) - delta).max()
            where = {"epsilon": epsilon, "delta": delta, "pulls": count}
            settings.append(Setting(where, exactly(distance), at_most=ROUNDING))
    return settings


def transcript_bounds() -> list[Setting]:
    """Ratio of the bound of Theorem 18 to that of Theorem 4, two arms, privacy outweighing learning, and its growth"""

    def ratio(horizon: float, epsilon: float, delta: float) -> float:
        upper = gdp_elim_new_regret(np.array([0.9]), epsilon, delta, int(horizon))
        return upper / two_armed_transcript_lower_bound(epsilon, delta, int(horizon), scale=1.0, power=0.75)

    pure = {"horizon": 1e60, "epsilon": 1e-6, "delta": 0.0}
    approximate = {"horizon": 1e130, "epsilon": 1e-6, "delta": 1e-15}  # so long that delta decides
    return [
        *matching(ratio, pure, {"horizon": 1e150, "epsilon": 1e-9}, promise="pure"),
        *matching(ratio, approximate, {"horizon": 1e150, "delta": 1e-20}, promise="with delta"),
    ]
