"""What Wu and Wang (2025) claim of laws and algorithms."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise, product

import numpy as np
from scipy import special

from bandits.arrays import FloatArray
from bandits.bounds.never_varying import two_armed_lower_bound
from bandits.bounds.wu2025 import (
    choice_probability,
    deterministic_lower_bound,
    deterministic_regret,
    deterministic_resampling_regret,
    deterministic_sharp_lower_bound,
)
from bandits.environments.full_information import DeterministicLosses
from bandits.environments.gap_profiles import OneGap
from bandits.exact.regret import expected_regret_curve, selection_probabilities
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.policies.epochs import OffsetFTNL, VoteFTNL
from bandits.policies.full_information import RNMFTNL
from experiments.claims.checks import ROUNDING
from experiments.claims.checks.matching import GROWTH, matching
from experiments.claims.settings import Range, Setting
from experiments.intervals import exactly

DERIVATIVE = 1e-6  # tolerance of a numerical derivative
SMALLEST_CHANCE = 1e-28  # smaller computed probabilities are rounding errors
SHARES = Range(0.0, 1.0)
HORIZONS = (10**4, 10**5, 10**6, 10**7)
NOISES: tuple[NoiseName, ...] = ("laplace", "gumbel", "exponential")


def choice_probabilities() -> list[Setting]:
    """Largest j times the probability that the j-th best arm is chosen after an epoch, Bernoulli losses"""
    settings = []
    means, counts = np.array([0.3, 0.35, 0.5, 0.9]), np.array([1, 3, 4, 8])
    places = np.cumsum(counts)  # of the last arm of each group, so that ties are the worst case for the claim
    for noise in NOISES:
        for rounds in (2**power for power in range(0, 13, 2)):
            chance = selection_probabilities(
                means, counts, noise, 0.5, rounds, losses="bernoulli", calibration="proved"
            )
            where = {"noise": noise, "rounds": rounds}
            settings.append(Setting(where, exactly((chance / counts * places).max()), at_most=1 + ROUNDING))
    return settings


def geometric_decay() -> list[Setting]:
    """Probability that an arm is chosen after n vectors of Bernoulli losses, with the best arm as its only rival"""
    settings = []
    for noise in NOISES:
        for gap in (0.02, 0.2, 0.7):
            for epsilon in (0.05, 0.5, 2.0):
                for rounds in (1 << power for power in range(0, 19, 3)):
                    where = {"noise": noise, "gap": gap, "epsilon": epsilon, "n": rounds}
                    chance = selection_probabilities(
                        [0.3, 0.3 + gap], [1, 1], noise, epsilon, rounds, losses="bernoulli", calibration="proved"
                    )[1]
                    limit = choice_probability(gap, epsilon, rounds, noise)
                    settings.append(Setting(where, exactly(chance), at_most=limit + SMALLEST_CHANCE, possible=SHARES))
    return settings


def price_by_horizon() -> list[Setting]:
    """Growth of exact regret over log(K) / gap + log(K)^2 / epsilon for ten times the horizon T, with resampling"""
    settings = []
    for outweighs, noise in product(("learning", "privacy"), NOISES):
        for before, after in pairwise(HORIZONS):
            prices, in_turn = zip(*(_prices(outweighs, noise, horizon) for horizon in (before, after)), strict=True)
            where = {"outweighs": outweighs, "noise": noise, "T": after}
            growth, growth_in_turn = (ends[1] / ends[0] - 1 for ends in (prices, in_turn))
            settings.append(Setting(where, exactly(growth), at_most=GROWTH, in_turn=growth_in_turn))
    return settings


def _prices(outweighs: str, noise: NoiseName, horizon: int) -> tuple[float, float]:
    """Regret over its order, 8 arms, and what it would be if arms were pulled in turn.

    The gap, or epsilon, shrinks more slowly than learning, or privacy, needs to be done within the horizon.
    """
    arms, longer = 8, horizon / HORIZONS[0]
    gap, epsilon = (0.1 * longer**-0.45, 3.0) if outweighs == "learning" else (0.5, 0.04 * longer**-0.9)
    order = math.log(arms) / gap + math.log(arms) ** 2 / epsilon
    regret = _resampled_regret(arms, gap, epsilon, noise, horizon)
    return regret / order, horizon * gap * (1 - 1 / arms) / order


def _resampled_regret(arms: int, gap: float, epsilon: float, noise: NoiseName, horizon: int) -> float:
    """Exact regret with B = 1. Losses, 0.3 and above, are constant until resampled."""
    means, counts = [0.3, 0.3 + gap], [1, arms - 1]
    curve = expected_regret_curve(means, counts, noise, epsilon, [horizon], resample=True, calibration="proved")
    return float(curve[0])


def rate_with_resampling() -> list[Setting]:
    """Growth of exact regret over log(K) / gap + log(K) / epsilon from K = 2^10, T = 2^30 to 2^20, 2^40, B = 1"""
    settings = []
    for noise in NOISES:
        for gap, epsilon in ((0.5, 0.005), (0.5, 0.05), (0.05, 0.05), (0.02, 1.0)):
            order = math.log(2) * (1 / gap + 1 / epsilon)
            prices, in_turn = [], []
            for power in (10, 20):
                arms, horizon = 1 << power, 1 << (power + 20)
                prices.append(_resampled_regret(arms, gap, epsilon, noise, horizon) / (power * order))
                in_turn.append(horizon * gap * (1 - 1 / arms) / (power * order))
            where = {"noise": noise, "gap": gap, "epsilon": epsilon}
            growth, growth_in_turn = (ends[1] / ends[0] - 1 for ends in (prices, in_turn))
            settings.append(Setting(where, exactly(growth), at_most=0.25, in_turn=growth_in_turn))
    return settings


def price_of_resampling() -> list[Setting]:
    """Exact regret x epsilon / log K with B = 1, Gumbel noise, K = 1024, epsilon = 1, best loss 0.3"""
    settings = []
    for gap in (0.1, 0.01, 0.001):
        policy = RNMFTNL(1.0, "gumbel", resample=True)
        regret = policy.expected_regret(DeterministicLosses(OneGap(1024, gap), 0.3), np.array([1 << 40]))[0]
        settings.append(Setting({"gap": gap}, exactly(regret / math.log(1024)), at_least=10.0))
    return settings


def above_lower_bound() -> list[Setting]:
    """Ratio of exact regret to the lower bound of the proof, one arm of loss 0 and the others of loss 1"""
    return list(_above(deterministic_lower_bound))


def above_sharp_lower_bound() -> list[Setting]:
    """Ratio of exact regret to log(K) / epsilon less the part after the horizon, one arm of loss 0, others of loss 1"""
    return list(_above(deterministic_sharp_lower_bound))


def _above(bound: Callable[[int, float, float], float]) -> Iterable[Setting]:
    times = [1 << power for power in (4, 10, 20, 60)]
    for noise in NOISES:
        for arms in (2, 16, 1024, 1 << 20):
            for epsilon in (0.01, 0.1, 1.0):
                policy = RNMFTNL(epsilon, noise, calibration="proved")
                regret = policy.expected_regret(DeterministicLosses(OneGap(arms, 1.0)), np.array(times))
                for horizon, value in zip(times, regret, strict=True):
                    where = {"noise": noise, "arms": arms, "epsilon": epsilon, "horizon": horizon}
                    yield Setting(where, exactly(value / bound(arms, epsilon, horizon)), at_least=1.0)


def above_two_armed_lower_bound() -> list[Setting]:
    """Ratio of exact regret to the lower bound for two arms: policies of the paper, a random offset, and votes"""
    times = [1 << power for power in (0, 2, 4, 10, 20, 50)]
    settings = []
    for epsilon in (0.01, 0.1, 1.0, 5.0):
        policies: list[RNMFTNL] = [RNMFTNL(epsilon, noise, calibration="proved") for noise in NOISES]
        policies += [OffsetFTNL(epsilon, "gumbel"), VoteFTNL(epsilon, "gumbel")]
        for policy in policies:
            for gap in (0.001, 1.0):
                regret = policy.expected_regret(DeterministicLosses(OneGap(2, gap)), np.array(times))
                for horizon, value in zip(times, regret, strict=True):
                    where = {"policy": policy.name, "noise": policy.noise, "gap": gap, "epsilon": epsilon, "T": horizon}
                    bound = two_armed_lower_bound(epsilon, horizon, gap)
                    settings.append(Setting(where, exactly(value / bound), at_least=1 - ROUNDING))
    return settings


def corollary_3_with_resampling() -> list[Setting]:
    """Ratio of exact regret with B = 1 and constant losses to the bound of Corollary 3, K = 1024, T = 2^30"""
    settings = []
    for noise in NOISES:
        for gap in (0.001, 0.01, 0.1):
            for epsilon in (0.1, 1.0):
                policy = RNMFTNL(epsilon, noise, resample=True, calibration="proved")
                regret = policy.expected_regret(DeterministicLosses(OneGap(1024, gap), 0.3), np.array([1 << 30]))[0]
                where = {"noise": noise, "gap": gap, "epsilon": epsilon}
                bound = deterministic_resampling_regret(1024, epsilon, noise)
                settings.append(Setting(where, exactly(regret / bound), at_most=1.0))
    return settings


def softmax_growth() -> list[Setting]:
    """Largest f'(x) - log(2) f(x), divided by max(1, |f|), of 200 drawn vectors a for each K"""
    rng = np.random.default_rng(2)
    settings = []
    for arms in (2, 8, 64, 1024):
        worst = -math.inf
        for scale in (0.01, 0.1, 1.0, 10.0) * 50:
            a, x, step = scale * rng.normal(size=arms), 4 * rng.random(), 1e-5
            before, middle, after = (_softmax_sum(a, np.ones(arms), 2.0**at) for at in (x - step, x, x + step))
            worst = max(worst, ((after - before) / (2 * step) - math.log(2) * middle) / max(1.0, abs(middle)))
        settings.append(Setting({"arms": arms}, exactly(worst), at_most=DERIVATIVE))
    return settings


def softmax_series() -> list[Setting]:
    """Sum of Lemma 3 divided by log K: the largest of 200 drawn vectors a in groups for each K"""
    rng = np.random.default_rng(3)
    settings = []
    for arms in (2, 16, 1024, 1 << 20):
        worst = 0.0
        for groups in (1, 2, 4, 8) * 50:
            gaps = np.concatenate([[0.0], np.exp(rng.uniform(-12, 2, groups))])
            counts = np.concatenate([[1.0], (arms - 1) * rng.dirichlet(np.ones(groups))])
            terms = (_softmax_sum(gaps, counts, 2.0**r) for r in range(1, 60))
            worst = max(worst, sum(terms) / math.log(arms))
        settings.append(Setting({"arms": arms}, exactly(worst), at_most=1 + 1 / math.log(2)))
    return settings


def _softmax_sum(a: FloatArray, counts: FloatArray, times: float) -> float:
    """The f of Lemmas 2 and 3 where `times` is 2^x, for groups of equal a."""
    weights = counts * np.exp(-times * (a - a.min()))
    return float((times * a * weights).sum() / weights.sum())


def binomial_order() -> list[Setting]:
    """Largest increase of the binomial distribution function from one p to the next, all k, p in steps of 1/200"""
    chances = np.linspace(0, 1, 201)[:, None]
    settings = []
    for trials in (1, 2, 5, 20, 100, 1000):
        rises = np.diff(special.bdtr(np.arange(trials + 1.0), trials, chances), axis=0)
        settings.append(Setting({"n": trials}, exactly(float(rises.max())), at_most=ROUNDING))
    return settings


def upper_over_lower_bound() -> list[Setting]:
    """Ratio of the bound of Theorem 4 to that of Theorem 3, and its growth"""

    def ratio(arms: float, epsilon: float) -> float:
        return deterministic_regret(int(arms), epsilon) / deterministic_lower_bound(int(arms), epsilon)

    return matching(ratio, {"arms": 1 << 10, "epsilon": 0.1}, {"arms": 1 << 60, "epsilon": 1e-6})
