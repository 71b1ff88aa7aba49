"""RNM-FTNL on doubling epochs, with a random offset, and with a random prefix: theorems of our own.

Proofs: never_varying.md (section 2) and noisy_leaders.md (section 3). `epsilon` is the budget that a policy declares:
its noise has scale 2 / epsilon (see `bandits.bounds.wu2025`). Every bound contains `noise_spread`, the expected
distance of the largest of K noises from their mean.
"""

import math
from collections.abc import Callable

from bandits.bounds.common import require_gap
from bandits.exact.offsets import require_ratio
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.parameters import require, require_arms, require_epsilon

_EULER = 0.57721566490153286


def noise_spread(arms: int, noise: NoiseName) -> float:
    """E max Q - E Q over `arms` independent variables Q of scale 1.

    Gumbel: log K. Exponential: H_K - 1, H_K = 1 + 1/2 + ... + 1/K. Laplace: the sum of (1 - 2^-k) / k up to K, less
    2^-K / K, at most H_K.
    """
    require_arms(arms)
    spreads: dict[str, Callable[[int], float]] = {
        "laplace": _laplace_spread,
        "exponential": _exponential_spread,
        "gumbel": math.log,
    }
    require(noise in spreads, "noise", noise, "laplace, exponential or gumbel")
    return spreads[noise](arms)


def any_noise_regret(mean_gap: float, spread: float) -> float:
    """Expected regret of RNM-FTNL(0, Q) where losses never vary, Q of any law, at any horizon (never_varying.md, 2.1).

    `mean_gap` + 4 `spread`: `mean_gap` is the mean gap of all arms, and `spread` is E max Q over all arms minus E max Q
    over the best arms. The noises may depend on one another and have different laws.
    """
    require(0 < mean_gap <= 1, "mean_gap", mean_gap, "a number in (0, 1]")
    require(spread >= 0, "spread", spread, "a number >= 0")
    return mean_gap + 4 * spread


def never_varying_regret(arms: int, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of RNM-FTNL(0, any noise) where losses never vary, at every horizon (never_varying.md, 2.1).

    1 + (8 / epsilon) (E max Q - E Q): 1 + 8 log(K) / epsilon for Gumbel noise, and at most 1 + 8 (1 + log K) / epsilon
    for Laplace noise, whose rate Wu and Wang (2025) leave open. No constant below 8 is enough, for any of the noises.
    """
    require_epsilon(epsilon)
    return any_noise_regret(1.0, 2 / epsilon * noise_spread(arms, noise))


def offset_weight(rounds: int) -> float:
    """The weight c(n) of the expected gap after n = `rounds` vectors in the regret of `OffsetFTNL` with ratio 2.

    For an infinite horizon; noisy_leaders.md, 3.2. c(1) = 3 + log2(9 / 5); for n >= 2 c(n) is below 2 / log 2:
    2n log2((2n + 1) / (2n - 1)) + log2((16 n^2 - 4) / (16 n^2 - 1)).
    """
    require(rounds >= 1, "rounds", rounds, "a whole number >= 1")
    if rounds == 1:
        return 3 + math.log2(9 / 5)
    shared = 2 * rounds * math.log1p(2 / (2 * rounds - 1))
    return (shared + math.log1p(-3 / (16 * rounds**2 - 1))) / math.log(2)


def offset_constant(ratio: float) -> float:
    """The average of c(n) over n, ratio / log(ratio), which is least at e (noisy_leaders.md, 3.2)."""
    require_ratio(ratio)
    return ratio / math.log(ratio)


def offset_excess(ratio: float) -> float:
    """A bound on the sum of c(n) up to N minus N ratio / log(ratio), for every N (noisy_leaders.md, 3.3)."""
    constant = offset_constant(ratio)
    return offset_weight(1) - constant if ratio == 2 else 1 + constant


def offset_never_varying_regret(arms: int, epsilon: float, noise: NoiseName, ratio: float) -> float:
    """Expected regret of `OffsetFTNL` (B = 0) where losses never vary, at every horizon (noisy_leaders.md, 3.3).

    1 + excess + ratio / log(ratio) (2 / epsilon) (E max Q - E Q): for ratio e the constant is 2e = 5.44, in place of 8
    for doubling epochs.
    """
    require_epsilon(epsilon)
    return 1 + offset_excess(ratio) + offset_constant(ratio) * 2 / epsilon * noise_spread(arms, noise)


def offset_regret(arms: int, least_gap: float, epsilon: float) -> float:
    """Expected regret of `OffsetFTNL` with ratio 2 and Gumbel noise, at every horizon (noisy_leaders.md, 3.4).

    (8 log(K) / epsilon + 64 (log(2 K) + 1) / gap + 16) / log 2 + 0.9626, at most 11.6 log(K) / epsilon + 92.4 (log(2 K)
    + 1) / gap + 24.1, under the conditions of `sum_of_errors`. The rate of Cesari and Colomboni (2026).
    """
    return offset_constant(2) * sum_of_errors(arms, least_gap, epsilon) + offset_excess(2)


def random_prefix_never_varying_regret(arms: int, epsilon: float, noise: NoiseName) -> float:
    """Expected regret of `RandomPrefix` (B = 0) where losses never vary, at every horizon (noisy_leaders.md, 3.6).

    3 + (8 / epsilon) (E max Q - E Q).
    """
    require_epsilon(epsilon)
    return 3 + 8 / epsilon * noise_spread(arms, noise)


def random_prefix_regret(arms: int, least_gap: float, epsilon: float) -> float:
    """Expected regret of `RandomPrefix` with Gumbel noise, B = 0 or 1, at every horizon (noisy_leaders.md, 3.6).

    16 log(K) / epsilon + 128 (log(2 K) + 1) / gap + 32, four times `sum_of_errors`, under its conditions.
    """
    return 4 * sum_of_errors(arms, least_gap, epsilon)


def sum_of_errors(arms: int, least_gap: float, epsilon: float) -> float:
    """The sum over all n >= 0 of the expected gap after n loss vectors, Gumbel noise (noisy_leaders.md, 3.4).

    At most 4 log(K) / epsilon + 32 (log(2 K) + 1) / gap + 8, B = 0 or 1, for losses in [0, 1] that are independent from
    step to step (not necessarily from arm to arm), one best arm, and epsilon at most 2.
    """
    require_arms(arms)
    require_gap(least_gap)
    require_epsilon(epsilon)
    require(epsilon <= 2, "epsilon", epsilon, "at most 2, as the theorem assumes")
    return 4 * math.log(arms) / epsilon + 32 * (math.log(2 * arms) + 1) / least_gap + 8


def _harmonic(arms: int) -> float:
    """H_K; from 1000 arms on log K + Euler's constant + 1 / 2K - 1 / 12K^2, with an error below 1e-14."""
    if arms < 1000:
        return math.fsum(1 / k for k in range(1, arms + 1))
    return math.log(arms) + _EULER + 1 / (2 * arms) - 1 / (12 * float(arms) ** 2)


def _exponential_spread(arms: int) -> float:
    return _harmonic(arms) - 1


def _laplace_spread(arms: int) -> float:
    few = min(arms, 60)  # terms 2^-k / k beyond are below 1e-19
    last = 2.0**-arms / arms if arms < 1000 else 0.0
    return _harmonic(arms) - math.fsum(2.0**-k / k for k in range(1, few + 1)) - last
