"""What Tao, Wu, Zhao and Wang (2022) claim of laws and algorithms."""

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, optimize

from bandits.audit.ledger import Domain
from bandits.bounds.local_privacy import (
    local_variation_lower_bound_slope,
    local_variation_two_armed_lower_bound_slope,
    local_variation_worst_case_lower_bound,
)
from bandits.bounds.tao2022 import (
    dprse_regret,
    dprse_regret_order,
    dprse_worst_case_regret_order,
    heavy_lower_bound,
    ldprse_regret,
    ldprse_regret_order,
    local_lower_bound_slope,
    local_worst_case_lower_bound,
)
from bandits.environments.heavy_tails import S1, S2, S3
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, Moment
from experiments.claims.checks import ROUNDING
from experiments.claims.checks.matching import GROWTH, matching
from experiments.claims.settings import Setting
from experiments.intervals import exactly

ARMS, GAP = 5, 0.1
LONG = 10**60  # steps: no epoch that is looked at is cut off


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


def first_epoch_over_lemma_4() -> list[Setting]:
    """Growth, from u = 1 to 10^6, of what each arm is pulled in DPRSE's first epoch, over the print of Lemma 4"""

    def printed(v: float, u: float) -> float:
        log = math.log(ARMS * LONG) + math.log(math.log(1 / GAP))
        return float(u ** (1 / (1 + v)) * log / GAP ** ((1 + v) / v))

    return _growth_in_u(lambda v, u: _first_epoch(v, u) / printed(v, u))


def first_epoch_over_theorem_4() -> list[Setting]:
    """Growth, from u = 1 to 10^6, of the regret of DPRSE's first epoch, over the print of Theorem 4"""
    gaps = np.full(ARMS - 1, GAP)
    return _growth_in_u(lambda v, u: _first_epoch(v, u) * gaps.sum() / dprse_regret_order(gaps, 1.0, LONG, v, u))


def first_epoch_over_minimax() -> list[Setting]:
    """Growth, from T = 10^12 to 10^24, of regret in DPRSE's first epoch, u so large that it lasts, over Theorem 4"""
    settings = []
    for v in (0.5, 0.9):
        ratios = []
        for horizon in (10**12, 10**24):
            u = (horizon / _first_epoch(v, 1.0, horizon)) ** v
            lost = horizon * (1 - 1 / ARMS)  # all arms in turn, gaps of 1
            assert ARMS * _first_epoch(v, u, horizon) >= horizon
            ratios.append(lost / dprse_worst_case_regret_order(ARMS, 1.0, horizon, v, u))
        settings.append(Setting({"v": v}, exactly(ratios[1] / ratios[0] - 1), at_most=GROWTH))
    return settings


def _first_epoch(v: float, u: float, horizon: int = LONG) -> int:
    return DPRSE(1.0).epoch_of(Moment(u, v), ARMS, 1, horizon).rounds


def _growth_in_u(ratio: Callable[[float, float], float]) -> list[Setting]:
    return [Setting({"v": v}, exactly(ratio(v, 1e6) / ratio(v, 1.0) - 1), at_most=GROWTH) for v in (0.5, 0.9)]


def pulls_over_printed_36() -> list[Setting]:
    """Pulls of the worse of two arms by DPRUCB until their indexes meet, means known, over the print, T = 10^18"""
    gap, u, horizon = 0.5, 0.5, 10**18
    settings = []
    for v in (0.5, 0.9, 1.0):
        log = math.log(2 * float(horizon) ** 4) * math.log(horizon) ** (1.5 + 1 / v)

        def apart(pulls: float, v: float = v, log: float = log) -> float:
            bonus, other = (
                18 * u ** (1 / (1 + v)) * (log / count) ** (v / (1 + v)) for count in (pulls, horizon - pulls)
            )
            return float(bonus - other - gap)

        pulls = optimize.brentq(apart, 1.0, horizon / 2)
        printed = 36 * u ** (1 / v) * log / gap ** ((1 + v) / v) + 5
        settings.append(Setting({"v": v}, exactly(pulls / printed), at_most=1.0))
    return settings


def tree_in_base_two() -> list[Setting]:
    """Share of epsilon that one reward costs with epsilon / log2(T) at every node of DPRUCB's tree, two arms"""
    settings = []
    for v in (0.25, 0.5, 1.0):
        policy = GivenMoments(DPRUCB(1.0, tree_budget="natural"), Moment(1.0, v))
        for horizon in (3, 4, 5, 10, 1000):
            bounds = policy.release_cost(2, horizon, Domain.SIGNED).epsilon
            assert bounds is not None
            share = exactly(bounds.kept * math.log(2))
            settings.append(Setting({"v": v, "T": horizon}, share, at_most=1 + ROUNDING))
    return settings


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
