"""What Sajed and Sheffet (2019) claim of laws and algorithms."""

import math
from functools import cache

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.sajed2019 import (
    bounded_worst_case_lower_bound_order,
    consistent_lower_bound_slope,
    dp_exponential_nas_samples,
    dp_se_regret,
    dp_se_worst_case_regret,
    private_lower_bound,
    stopping_lower_bound_order,
)
from bandits.environments.bernoulli import C1, C2, C3, C4
from bandits.mechanisms.path_tree import path_loss
from bandits.mechanisms.tree import close_node, node_scale
from experiments.claims.checks import ROUNDING
from experiments.claims.checks.matching import matching
from experiments.claims.settings import Setting
from experiments.intervals import exactly

POWER = 0.1  # tolerance of a power


def path_noise_power() -> list[Setting]:
    """Power of log2 T in the summed variance of the noise of all nodes above a leaf, of scale log2(T) / epsilon each"""
    settings = []
    for depth in (16, 20, 26):
        for step in ("first", "middle", "last"):
            variances = [_noise_above(step, levels) for levels in (depth, 2 * depth)]
            where = {"timestep": step, "T": f"2^{depth} to 2^{2 * depth}"}
            settings.append(Setting(where, exactly(math.log2(variances[1] / variances[0])), 3 - POWER, 3 + POWER))
    return settings


def _noise_above(step: str, depth: int) -> float:
    """Variance of the noise at one of T = 2^depth timesteps, epsilon = 1, summed over the nodes above its leaf."""
    leaf = {"first": 0, "middle": (1 << depth) // 2, "last": (1 << depth) - 1}[step]
    above = {(level, leaf >> level) for level in range(depth + 1)}
    return len(above) * 2.0 * depth**2


def path_share() -> list[Setting]:
    """Exact privacy loss of all nodes above a leaf, noise of scale log2(T) / epsilon, as a share of epsilon"""
    return _path_shares(1, 2, 3, 4, 8, 16, 26)


def path_share_from_four() -> list[Setting]:
    """Exact privacy loss of all nodes above a leaf from T = 4 on, as a share of epsilon"""
    return _path_shares(2, 3, 4, 8, 16, 26)


def _path_shares(*depths: int) -> list[Setting]:
    return [
        Setting(
            {"T": f"2^{depth}", "root": "with" if root else "without"},
            exactly(path_loss(depth, root=root) / depth),
            at_most=1.0,
        )
        for depth in depths
        for root in (True, False)
    ]


def tree_noise_power() -> list[Setting]:
    """Power of log2 T in the variance of the noise of the tree: the mean over timesteps, and the largest"""
    settings = []
    for levels in (4, 5, 6, 7, 8):
        short, long = _tree_variances(levels), _tree_variances(2 * levels)
        for name, power in (
            ("mean", math.log2(long.mean() / short.mean())),
            ("largest", math.log2(long.max() / short.max())),
        ):
            where = {"over the timesteps": name, "T": f"2^{levels} - 1 to 2^{2 * levels} - 1"}
            settings.append(Setting(where, exactly(power), 3 - POWER, 3 + POWER))
    return settings


@cache
def _tree_variances(levels: int) -> FloatArray:
    """Variance of the noise at each of 2^levels - 1 timesteps, epsilon = 1: the tree mechanism, adding variances."""
    length = (1 << levels) - 1
    of_node = 2 * node_scale(length, 1.0) ** 2
    latest = np.zeros(levels)
    return np.array([close_node(latest, count, of_node) for count in range(1, length + 1)])


def bernoulli_variances() -> list[Setting]:
    """Ratio of the largest to the smallest variance of an arm, in C1 to C4"""
    settings = []
    for family in (C1, C2, C3, C4):
        for arms in (3, 5, 10, 20):
            means = family(arms).mean_rewards
            variances = means * (1 - means)
            ratio = exactly(variances.max() / variances.min())
            settings.append(Setting({"instance": family.name, "arms": arms}, ratio, at_most=4 / 3 + ROUNDING))
    return settings


def upper_over_lower_bound() -> list[Setting]:
    """Ratio of the bound of Theorem 4.3 to the larger of the two lower bounds, with constants, and its growth"""

    def ratio(horizon: float, arms: float, gap: float, epsilon: float) -> float:
        gaps = np.full(int(arms) - 1, gap)
        learning = math.log(horizon) * consistent_lower_bound_slope(np.array([0.5, *(0.5 - gaps)]))
        return dp_se_regret(gaps, epsilon, int(horizon)) / max(learning, private_lower_bound(gaps, epsilon, horizon))

    base = {"horizon": 1e100, "arms": 4, "gap": 0.1}
    further = {"horizon": 1e300, "arms": 4096, "gap": 1e-3}
    return [
        *matching(ratio, base | {"epsilon": 100.0}, further | {"epsilon": 1e4}, where="learning outweighs privacy"),
        *matching(ratio, base | {"epsilon": 1e-6}, further | {"epsilon": 1e-9}, where="privacy outweighs learning"),
    ]


def minimax_over_lower_bound() -> list[Setting]:
    """Ratio of the bound of Theorem 4.4 to sqrt(log T) times the lower bound, and its growth"""

    def ratio(horizon: float, arms: float, epsilon: float) -> float:
        lower = bounded_worst_case_lower_bound_order(int(arms), epsilon, int(horizon))
        return dp_se_worst_case_regret(int(arms), epsilon, int(horizon)) / (lower * math.sqrt(math.log(horizon)))

    learning, private = {"horizon": 1e100, "epsilon": 1.0}, {"horizon": 1e100, "epsilon": 1e-85}
    return [
        *matching(
            ratio, learning | {"arms": 64}, {"horizon": 1e300, "arms": 65536, "epsilon": 1e4}, outweighs="learning"
        ),
        *matching(
            ratio, private | {"arms": 64}, {"horizon": 1e140, "arms": 65536, "epsilon": 1e-88}, outweighs="privacy"
        ),
    ]


def stopping_bounds() -> list[Setting]:
    """Ratio of the bound of Theorem 3.3 to the order of Corollary 3.6, R = 1, and its growth"""

    def ratio(mean: float, accuracy: float, epsilon: float, beta: float) -> float:
        problem = mean, 1.0, epsilon, accuracy, beta
        return dp_exponential_nas_samples(*problem) / stopping_lower_bound_order(*problem)

    def at_the_edge(beta: float) -> float:
        return ratio(math.exp(-1 / beta) / 0.1, 0.1, 1.0, beta)

    base = {"mean": 0.1, "accuracy": 0.1, "beta": 1e-100}
    further = {"mean": 1e-4, "accuracy": 1e-4, "beta": 1e-300}
    return [
        *matching(ratio, base | {"epsilon": 1e6}, further | {"epsilon": 1e9}, where="sampling outweighs privacy"),
        *matching(ratio, base | {"epsilon": 1e-9}, further | {"epsilon": 1e-12}, where="privacy outweighs sampling"),
        *matching(at_the_edge, {"beta": 0.05}, {"beta": 0.005}, where="log(R / (alpha |mean|)) = 1 / beta"),
    ]
