"""What Tao, Wu, Zhao and Wang (2022) claim of laws and algorithms."""

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate

from bandits.bounds.tao2022 import ldprse_regret, ldprse_regret_order
from bandits.environments.heavy_tails import S1, S2, S3
from bandits.mechanisms.tree import node_scale
from experiments.claims.checks import ROUNDING
from experiments.claims.settings import Setting
from experiments.intervals import exactly


def tree_budget_natural_logarithm() -> list[Setting]:
    """Share of epsilon that a tree spends whose nodes have epsilon / ln T each"""
    return _tree_budget(math.log)


def tree_budget_levels() -> list[Setting]:
    """Share of epsilon that a tree spends whose nodes have the scale of `node_scale`"""
    return _tree_budget(lambda horizon: node_scale(horizon, 1.0))


def _tree_budget(scale: Callable[[int], float]) -> list[Setting]:
    """The most nodes that an item lies in, counted node by node, over the scale of their noise."""
    settings = []
    for power in range(1, 7):
        horizon = 10**power
        nodes = np.zeros(horizon + 2, dtype=int)
        closing = np.arange(1, horizon + 1)
        np.add.at(nodes, closing - (closing & -closing) + 1, 1)  # the node of item n begins after n less its lowest bit
        np.add.at(nodes, closing + 1, -1)
        most = int(np.cumsum(nodes).max())
        settings.append(Setting({"horizon": horizon}, exactly(most / scale(horizon)), at_most=1 + ROUNDING))
    return settings


def theory_on_the_instances() -> list[Setting]:
    """What Theorem 7 gives for S3 over what it gives for S1 and S2, epsilon = 1, T = 10^15"""
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
