"""What Tao, Wu, Zhao and Wang (2022) claim of laws and algorithms."""

import math

from scipy import integrate

from bandits.environments.heavy_tails import S1, S2, S3
from bandits.mechanisms.tree import node_scale, tree_levels
from experiments.claims.settings import Setting
from experiments.intervals import exactly


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
            where = {"instance": family.name, "v": v}
            settings.append(Setting(where, exactly(moment / instance.moment), 1 - 1e-6, 1 + 1e-6))
    return settings
