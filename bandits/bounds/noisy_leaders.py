"""RNM-FTNL and its random-prefix variant: theorems of our own, proved in docs/theorems.md, sections 2 and 3.

`epsilon` is the budget that a policy declares: its noise has scale 2 / epsilon (see `bandits.bounds.wu2025`).
`noise_spread` is what every bound has in common: how far above the mean the largest of K noises lies.
"""

import math
from collections.abc import Callable

from bandits.bounds.common import require_gap
from bandits.bounds.wu2025 import NoiseName
from bandits.parameters import require, require_arms, require_epsilon

_EULER = 0.57721566490153286


def noise_spread(arms: int, noise: NoiseName) -> float:
    """E max Q - E Q over `arms` independent variables Q of scale 1.

    Gumbel: log K. Exponential: H_K - 1, H_K = 1 + 1/2 + ... + 1/K. Laplace: the sum of (1 - 2^-k) / k up to K, less
    2^-K / K, at most H_K.
    """
    require_arms(arms)
    known: dict[str, Callable[[int], float]] = {
        "laplace": _laplace_spread,
        "exponential": _exponential_spread,
        "gumbel": math.log,
    }
    require(noise in known, "noise", noise, "laplace, exponential or gumbel")
    return known[noise](arms)


def never_varying_regret(arms: int, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of RNM-FTNL(0, any noise) where losses never vary, at every horizon (docs/theorems.md, 2.1).

    1 + (8 / epsilon) (E max Q - E Q): 1 + 8 log(K) / epsilon for Gumbel noise, and at most 1 + 8 (1 + log K) / epsilon
    for Laplace noise, whose rate Wu and Wang (2025) leave open. For Gumbel noise no constant below 8 will do.
    """
    require_epsilon(epsilon)
    return 1 + 8 / epsilon * noise_spread(arms, noise)


def random_prefix_never_varying_regret(arms: int, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of `RandomPrefix` (B = 0) where losses never vary, at every horizon (docs/theorems.md, 3.2).

    3 + (8 / epsilon) (E max Q - E Q).
    """
    require_epsilon(epsilon)
    return 3 + 8 / epsilon * noise_spread(arms, noise)


def random_prefix_regret(arms: int, least_gap: float, epsilon: float) -> float:
    """Expected regret of `RandomPrefix` with Gumbel noise, B = 0 or 1, at every horizon (docs/theorems.md, 3.3).

    16 log(K) / epsilon + 128 (log(2 K) + 1) / gap + 32 for losses in [0, 1] that are independent from step to step (not
    necessarily from arm to arm), one best arm, and epsilon at most 2. The rate of Cesari and Colomboni (2026).
    """
    require_arms(arms)
    require_gap(least_gap)
    require_epsilon(epsilon)
    require(epsilon <= 2, "epsilon", epsilon, "at most 2, as the theorem assumes")
    return 16 * math.log(arms) / epsilon + 128 * (math.log(2 * arms) + 1) / least_gap + 32


def _harmonic(arms: int) -> float:
    """H_K; from 1000 arms on log K + Euler's constant + 1 / 2K - 1 / 12K^2, off by less than 1e-14."""
    if arms < 1000:
        return math.fsum(1 / k for k in range(1, arms + 1))
    return math.log(arms) + _EULER + 1 / (2 * arms) - 1 / (12 * float(arms) ** 2)


def _exponential_spread(arms: int) -> float:
    return _harmonic(arms) - 1


def _laplace_spread(arms: int) -> float:
    few = min(arms, 60)  # terms 2^-k / k beyond are below 1e-19
    last = 2.0**-arms / arms if arms < 1000 else 0.0
    return _harmonic(arms) - math.fsum(2.0**-k / k for k in range(1, few + 1)) - last
