"""What Tao, Wu, Zhao and Wang (2022) claim of laws and algorithms."""

import math
from collections.abc import Callable

from scipy import integrate

from bandits.bounds.tao2022 import ldprse_regret, ldprse_regret_order
from bandits.environments.heavy_tails import S1, S2, S3
from experiments.claims.settings import Setting
from experiments.intervals import exactly


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
