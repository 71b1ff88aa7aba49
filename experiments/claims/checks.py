"""What claims say of laws and algorithms that can be computed, without runs: each function gives its settings.

`check: experiments.claims.checks.NAME` in a claim's file; the first line of a docstring says what is computed.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy import integrate

from bandits.bounds.wu2025 import (
    deterministic_lower_bound,
    deterministic_resampling_regret,
    deterministic_sharp_lower_bound,
)
from bandits.environments.bernoulli import C1, C2, C3, C4
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.environments.heavy_tails import S1, S2, S3
from bandits.exact.regret import expected_regret_curve, selection_probabilities
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.mechanisms.start_phases import beta_condition, beta_divergence, beta_paper, gauss_condition, gauss_paper
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.policies.full_information import RNMFTNL
from experiments.claims.verdicts import Setting
from experiments.intervals import exactly

NOISES: tuple[NoiseName, ...] = ("laplace", "gumbel", "exponential")
BUDGETS = ((1.0, 0.01), (1.0, math.exp(-10)), (0.1, 0.01), (0.1, 1e-3), (0.01, 1e-3))  # of Figures 4, 6 and 7
ROUNDING = 1e-9


def tree_noise_variance() -> list[Setting]:
    """Variance of the noise of a prefix of 2^k - 1 items times epsilon^2 / log2(2^k)^3"""
    return [
        Setting(
            {"items": f"2^{k} - 1"},
            exactly((2**k - 1).bit_count() * 2 * node_scale(2**k - 1, 1.0) ** 2 / k**3),
            at_most=2.0,
        )
        for k in range(2, 61)
    ]


def bernoulli_variances() -> list[Setting]:
    """Largest over smallest variance of the arms of C1 to C4"""
    settings = []
    for family in (C1, C2, C3, C4):
        for arms in (3, 5, 10, 20):
            means = family(arms).mean_rewards
            variances = means * (1 - means)
            ratio = exactly(variances.max() / variances.min())
            settings.append(Setting({"instance": family.name, "arms": arms}, ratio, at_most=4 / 3 + ROUNDING))
    return settings


def start_phase_needed() -> list[Setting]:
    """Smallest delta that one pull less than printed achieves, in units of the delta asked for"""
    settings = []
    for epsilon, delta in BUDGETS:
        for policy, paper, condition in (
            ("dp_ftpl_gauss", gauss_paper, gauss_condition),
            ("dp_ftpl_beta", beta_paper, beta_condition),
        ):
            told = {"policy": policy, "epsilon": epsilon, "delta": delta}
            before = paper(epsilon, delta) - 1
            settings.append(Setting(told, exactly(condition(before, epsilon) / delta), at_least=1.0))
    return settings


def start_phase_sufficient() -> list[Setting]:
    """Smallest delta of a decision of the three perturbed leaders, in units of the delta asked for"""
    settings = []
    for epsilon, delta in BUDGETS:
        smallest = {
            "dp_ftpl_gauss": gauss_condition(gauss_paper(epsilon, delta), epsilon),
            "dp_ftpl_beta": beta_condition(beta_paper(epsilon, delta), epsilon),
            "dp_ftpl_new": _hockey_stick(epsilon, delta),
        }
        for policy, least in smallest.items():
            told = {"policy": policy, "epsilon": epsilon, "delta": delta}
            settings.append(Setting(told, exactly(least / delta), at_most=1 + ROUNDING))
    return settings


def _hockey_stick(epsilon: float, delta: float) -> float:
    """The largest F(x) - e^epsilon F'(x), F' about a mean that is larger by one reward; the law is symmetric."""
    law, changed = (TruncatedLaplace(epsilon, delta, 1.0, center) for center in (0.0, 1.0))
    x = np.linspace(-law.half_width, 1 + law.half_width, 20_001)
    return float((law.cdf(x) - math.exp(epsilon) * changed.cdf(x)).max())


def beta_without_k() -> list[Setting]:
    """Smallest delta of DP-FTPL-Beta without k at epsilon = 1, after no reward or one of 1 in N pulls"""
    return [
        Setting({"pulls": count}, exactly(beta_divergence(np.array([1.0]), np.array([count]), 1.0)[0]), at_least=0.01)
        for count in (10.0, 1e4, 1e7, 1e12)
    ]


def truncated_laplace_boundary() -> list[Setting]:
    """Largest distance of F from e^epsilon F' + delta where F' has mass and lies above F's centre by one reward"""
    settings = []
    for epsilon, delta in ((0.1, 0.0), (1.0, 0.01), (1.0, math.exp(-10)), (0.0, 0.01)):
        for count in (10, 50):
            law, changed = (TruncatedLaplace(epsilon, delta, count, center) for center in (0.0, 1 / count))
            x = np.linspace(max(1 / count - law.half_width, -20.0), 0.0, 10_001)
            distance = np.abs(law.cdf(x) - math.exp(epsilon) * changed.cdf(x) - delta).max()
            told = {"epsilon": epsilon, "delta": delta, "pulls": count}
            settings.append(Setting(told, exactly(distance), at_most=ROUNDING))
    return settings


def tree_budget_natural_logarithm() -> list[Setting]:
    """Share of epsilon that a tree spends whose nodes have epsilon / ln T each"""
    return [
        Setting({"horizon": 10**power}, exactly(tree_levels(10**power) / math.log(10**power)), at_most=1.0)
        for power in range(1, 19)
    ]


def tree_budget_levels() -> list[Setting]:
    """Share of epsilon that a tree spends whose nodes have epsilon / (floor(log2 T) + 1) each"""
    return [
        Setting({"horizon": 10**power}, exactly(tree_levels(10**power) / node_scale(10**power, 1.0)), at_most=1.0)
        for power in range(1, 19)
    ]


def pareto_moment() -> list[Setting]:
    """Moment of order 1 + v by quadrature over the u of the instance"""
    settings = []
    for family in (S1, S2, S3):
        for v in (0.5, 0.9):
            instance = family(v)
            scale, shape, order = float(instance.scales.max()), instance.tail_index, 1 + v
            moment, _ = integrate.quad(
                lambda y, s=scale, a=shape, p=order: a * s**p * math.exp((p - a) * y), 0, math.inf
            )
            told = {"instance": family.name, "v": v}
            settings.append(Setting(told, exactly(moment / instance.moment), 1 - 1e-6, 1 + 1e-6))
    return settings


def exponential_noise_printed() -> list[Setting]:
    """Log odds that one loss vector moves with exponential noise of scale 1 / epsilon, in units of epsilon"""
    return _two_arms("printed")


def exponential_noise_proved() -> list[Setting]:
    """Log odds that one loss vector moves with exponential noise of scale 2 / epsilon, in units of epsilon"""
    return _two_arms("proved")


def _two_arms(calibration: str) -> list[Setting]:
    """Two arms whose sums differ by 2, or by 0 after one vector (0, 1) became (1, 0): deterministic losses 0 and 1.

    After r = 2 rounds the gap of the sums is 2 for mean losses (0, 1), and 0 for equal ones.
    """
    settings = []
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        apart, level = (
            selection_probabilities(means, [1, 1], "exponential", epsilon, 2, calibration=calibration)[1]
            for means in ([0.0, 1.0], [0.5, 0.5])
        )
        spent = math.log(level / apart) / epsilon
        settings.append(Setting({"epsilon": epsilon}, exactly(spent), at_most=1 + ROUNDING))
    return settings


def choice_probabilities() -> list[Setting]:
    """Probability times j that the j-th best arm is chosen after an epoch, at most, Bernoulli losses"""
    settings = []
    means, counts = np.array([0.3, 0.35, 0.5, 0.9]), np.array([1, 3, 4, 8])
    places = np.cumsum(counts)  # of the last arm of each group, with which ties are the hardest on the claim
    for noise in NOISES:
        for rounds in (2**power for power in range(0, 13, 2)):
            chance = selection_probabilities(
                means, counts, noise, 0.5, rounds, losses="bernoulli", calibration="proved"
            )
            told = {"noise": noise, "rounds": rounds}
            settings.append(Setting(told, exactly((chance / counts * places).max()), at_most=1 + ROUNDING))
    return settings


def regret_without_end() -> list[Setting]:
    """Growth of exact expected regret from T = 10^9 to T = 10^12 with resampling, Bernoulli losses"""
    settings = []
    for noise in NOISES:
        for epsilon in (0.1, 1.0):
            for gap in (0.01, 0.1):
                times = [10**9, 10**12]
                regret = expected_regret_curve(
                    [0.3, 0.3 + gap], [1, 63], noise, epsilon, times, losses="bernoulli", calibration="proved"
                )
                told = {"noise": noise, "epsilon": epsilon, "gap": gap}
                settings.append(Setting(told, exactly(regret[1] / regret[0] - 1), at_most=1e-6))
    return settings


def above_lower_bound() -> list[Setting]:
    """Exact regret over the lower bound of the proof, one arm of loss 0 and the others of loss 1"""
    return list(_above(deterministic_lower_bound))


def above_sharp_lower_bound() -> list[Setting]:
    """Exact regret over log(K) / epsilon less what the horizon cuts off, one arm of loss 0 and the others of loss 1"""
    return list(_above(deterministic_sharp_lower_bound))


def _above(bound: Callable[[int, float, float], float]) -> Iterable[Setting]:
    times = [1 << power for power in (4, 10, 20, 60)]
    for noise in NOISES:
        for arms in (2, 16, 1024, 1 << 20):
            for epsilon in (0.01, 0.1, 1.0):
                policy = RNMFTNL(epsilon, noise, calibration="proved")
                regret = policy.expected_regret(DeterministicLosses(OneGap(arms, 1.0)), np.array(times))
                for horizon, value in zip(times, regret, strict=True):
                    told = {"noise": noise, "arms": arms, "epsilon": epsilon, "horizon": horizon}
                    yield Setting(told, exactly(value / bound(arms, epsilon, horizon)), at_least=1.0)


def corollary_3_with_resampling() -> list[Setting]:
    """Exact regret with B = 1 where losses never vary over the bound of Corollary 3, K = 1024, T = 2^30"""
    settings = []
    for noise in NOISES:
        for gap in (0.001, 0.01, 0.1):
            for epsilon in (0.1, 1.0):
                policy = RNMFTNL(epsilon, noise, resample=True, calibration="proved")
                regret = policy.expected_regret(DeterministicLosses(OneGap(1024, gap), 0.3), np.array([1 << 30]))[0]
                told = {"noise": noise, "gap": gap, "epsilon": epsilon}
                bound = deterministic_resampling_regret(1024, epsilon, noise)
                settings.append(Setting(told, exactly(regret / bound), at_most=1.0))
    return settings
