"""What Tao, Wu, Zhao and Wang (2022) claim of laws and algorithms."""

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate

from bandits.arrays import FloatArray
from bandits.bounds.local_privacy import (
    local_variation_lower_bound_slope,
    local_variation_two_armed_lower_bound_slope,
    local_variation_worst_case_lower_bound,
)
from bandits.bounds.tao2022 import (
    dprse_regret,
    heavy_lower_bound,
    ldprse_regret,
    ldprse_regret_order,
    local_lower_bound_slope,
    local_worst_case_lower_bound,
)
from bandits.environments.heavy_tails import S1, S2, S3
from bandits.loops.heavy_leader import DPRUCBConstants
from bandits.policies.heavy_tailed import DPRUCB
from experiments.claims.checks.matching import GROWTH, matching
from experiments.claims.settings import Setting
from experiments.intervals import exactly


def theory_on_the_instances() -> list[Setting]:
    """Ratio of the bound of Theorem 7 for S3 to that for S1 and for S2, epsilon = 1, T = 10^15"""
    settings = []
    for name, bound in (("order as printed", ldprse_regret_order), ("bound of the proof", ldprse_regret)):
        for v in (0.5, 0.9):
            hardest, *others = (_local_regret(bound, family, v) for family in (S3, S1, S2))
            for family, other in zip((S1, S2), others, strict=True):
                where = {"theory": name, "v": v, "beside": family.name}
                settings.append(Setting(where, exactly(hardest / other), at_least=1.0))
    return settings


def _local_regret(bound: Callable[..., float], family: type[S1 | S2 | S3], v: float) -> float:
    instance = family(v)
    return bound(instance.gaps[instance.gaps > 0], 1.0, 10**15, v, instance.moment)


def mean_of_dprucb() -> list[Setting]:
    """Largest error of a private mean of DPRUCB in 1000 runs over the width of Lemma 3, one arm pulled at every step"""
    settings = []
    for v in (0.5, 0.9):
        for epsilon in (0.1, 1.0):
            policy, instance = DPRUCB(epsilon), S1(v)
            constants = policy.loop_arguments(policy.moment(instance), 10**4)
            for pulls in (15, 255, 4095):  # the most nodes of the tree
                rng = np.random.default_rng(pulls)
                errors = _private_means(instance, constants, pulls, rng) - instance.mean_rewards[0]
                width = constants.bonus * (math.log(2 * pulls**4) / pulls) ** (v / (1 + v))
                where = {"v": v, "epsilon": epsilon, "pulls": pulls}
                settings.append(Setting(where, exactly(errors.max() / width), at_most=1.0))
    return settings


def _private_means(instance: S1, constants: DPRUCBConstants, pulls: int, rng: np.random.Generator) -> FloatArray:
    """The private mean of arm 1 after `pulls` pulls in each of 1000 runs, by Algorithm 2: a node for each bit."""
    bounds = (constants.truncation_rate * np.arange(1, pulls + 1)) ** (1 / (1 + instance.v))
    rewards = instance.scales[0] * np.exp(rng.standard_exponential((1000, pulls)) / instance.tail_index)
    sums = np.where(rewards <= bounds, rewards, 0.0).sum(axis=1)
    ends = [pulls >> level << level for level in range(constants.levels) if pulls >> level & 1]
    noise = sum(rng.laplace(scale=constants.noise_scale * bounds[end - 1], size=1000) for end in ends)
    return np.asarray((sums + noise) / pulls)


def pareto_moment() -> list[Setting]:
    """Ratio of the moment of order 1 + v, by quadrature, to the bound u on it that the instance has"""
    settings = []
    for family in (S1, S2, S3):
        for v in (0.5, 0.9):
            instance = family(v)
            scale, shape, order = float(instance.scales.max()), instance.tail_index, 1 + v
            moment, _ = integrate.quad(
                lambda y, s=scale, a=shape, p=order: a * s**p * math.exp((p - a) * y), 0, math.inf
            )
            where = {"instance": family.name, "v": v}
            settings.append(Setting(where, exactly(moment / instance.moment), 1 - 1e-6, 1 + 1e-6))
    return settings


def upper_over_lower_bound() -> list[Setting]:
    """Ratio of the bound of Theorem 4 to that of Theorem 5, moments of 1, and its growth"""
    settings = []
    for v in (0.5, 0.9):

        def ratio(horizon: float, arms: float, gap: float, epsilon: float, v: float = v) -> float:
            gaps = np.full(int(arms) - 1, gap)
            return dprse_regret(gaps, epsilon, int(horizon), v, u=1.0) / heavy_lower_bound(gaps, epsilon, horizon, v)

        base = {"horizon": 1e100, "arms": 4, "gap": 0.08, "epsilon": 1.0}
        settings += matching(ratio, base, {"horizon": 1e300, "arms": 4096, "gap": 1e-3, "epsilon": 1e-6}, v=v)
    return settings


def local_lower_bounds() -> list[Setting]:
    """Ratio of the lower bounds of docs/theorems.md, section 1, to those of Theorems 8 and 9, on their instances"""
    settings = []
    for v in (0.5, 0.9):
        for epsilon in (0.01, 0.1, 1.0):
            for gap in (0.16, 0.01, 1e-3):
                means = [3 * gap, 2 * gap]
                ratio = local_variation_lower_bound_slope(means, epsilon, v) / local_lower_bound_slope(
                    means, epsilon, v
                )
                where = {"theorem": "8", "v": v, "epsilon": epsilon, "gap": gap}
                settings.append(Setting(where, exactly(ratio), at_least=1.0))
            for arms in (2, 50):
                worst = arms, epsilon, 1e12, v
                ratio = local_variation_worst_case_lower_bound(*worst) / local_worst_case_lower_bound(*worst)
                where = {"theorem": "9", "v": v, "epsilon": epsilon, "arms": arms}
                settings.append(Setting(where, exactly(ratio), at_least=1.0))
    return settings


def local_order_as_printed() -> list[Setting]:
    """Growth, from gap 0.1 to 0.001, of the lower bound of docs/theorems.md, section 1, over the order of Theorem 7"""
    settings = []
    for v in (0.5, 0.9):
        ratios = [
            local_variation_two_armed_lower_bound_slope(gap, 1.0, v)
            * math.log(1e15)
            / ldprse_regret_order(np.array([gap]), 1.0, 10**15, v, u=1.0)
            for gap in (0.1, 0.001)
        ]
        settings.append(Setting({"v": v}, exactly(ratios[1] / ratios[0] - 1), at_most=GROWTH))
    return settings


def local_upper_over_lower_bound() -> list[Setting]:
    """Ratio of the bound in the proof of Theorem 7 to the lower bound of docs/theorems.md, section 1, and its growth"""
    settings = []
    for v in (0.5, 0.9):

        def ratio(horizon: float, gap: float, epsilon: float, v: float = v) -> float:
            lower = math.log(horizon) * local_variation_two_armed_lower_bound_slope(gap, epsilon, v)
            return ldprse_regret(np.array([gap]), epsilon, int(horizon), v, u=1.0) / lower

        base = {"horizon": 1e100, "gap": 0.1, "epsilon": 0.01}
        settings += matching(ratio, base, {"horizon": 1e300, "gap": 1e-3, "epsilon": 1e-6}, v=v)
    return settings
