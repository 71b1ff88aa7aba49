"""Azize and Basu (2022, arXiv 2209.02570): AdaP-UCB, and the lower bounds that it is compared with.

We do not know the constants of the bound on AdaP-KLUCB.
"""

import math

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gaps, require_horizon
from bandits.divergences import divergence_from
from bandits.parameters import require, require_arms, require_epsilon


def adap_ucb_regret(gaps: FloatArray, epsilon: float, horizon: int, alpha: float) -> float:
    """Expected regret of AdaP-UCB, as printed: the sum of 16 alpha log(T) / min(gap, epsilon) + alpha / (alpha - 3).

    Our own count of the pulls after an episode of a suboptimal arm gives 21 instead of 16 for gap = epsilon, and at
    most 8 if gap and epsilon are far apart.
    """
    require_gaps(gaps)
    require_epsilon(epsilon)
    require_horizon(horizon)
    require(alpha > 3, "alpha", alpha, "a number > 3")
    return sum(16 * alpha * math.log(horizon) / min(float(gap), epsilon) + alpha / (alpha - 3) for gap in gaps)


def weaker_lower_bound_slope(means: FloatArray, epsilon: float) -> float:
    """The least limit of regret / log(T) of any consistent policy with an epsilon-DP transcript, by this paper.

    Sum of gap / min(kl(mean, best mean), 6 epsilon gap): weaker than `bandits.bounds.azize2025.lower_bound_slope`.
    """
    within = len(means) > 1 and bool(((means > 0) & (means < 1)).all())
    require(within, "means", list(means), "at least two numbers in (0, 1)")
    require_epsilon(epsilon)
    best = float(means.max())
    gaps = [best - float(mean) for mean in means if mean < best]
    return sum(gap / min(divergence_from(best, -gap), 6 * epsilon * gap) for gap in gaps)


def minimax_lower_bound(arms: int, epsilon: float, horizon: int) -> float:
    """Regret that some instance with `arms` arms forces on every policy with an epsilon-DP transcript.

    The larger of sqrt(T (K-1)) / 27 and (K-1) / (131 epsilon).
    """
    require_arms(arms)
    require_epsilon(epsilon)
    require_horizon(horizon)
    return max(math.sqrt(horizon * (arms - 1)) / 27, (arms - 1) / (131 * epsilon))
