"""Full information with losses that never vary: a bound for votes, and lower bounds. Theorems of our own.

Proofs: never_varying.md, 2.3 to 2.5. `epsilon` is the budget that a policy declares.
"""

import math

from bandits.bounds.common import require_gap
from bandits.bounds.noisy_leaders import any_noise_regret, noise_spread
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.parameters import require, require_epsilon


def votes_regret(arms: int, epsilon: float, noise: NoiseName, gap: float) -> float:
    """Expected regret of `VoteFTNL` where losses never vary, at every horizon (never_varying.md, 2.4).

    gap (1 + (8 / epsilon) (E max Q - E Q)), `gap` the largest gap, or the mean gap of all arms but the one with the
    votes: for Gumbel noise gap (1 + 8 log(K) / epsilon).
    """
    require_epsilon(epsilon)
    require_gap(gap)
    return gap * any_noise_regret(1.0, 2 / epsilon * noise_spread(arms, noise))


def two_armed_lower_bound(epsilon: float, horizon: float, gap: float = 1.0) -> float:
    """Regret of every policy each of whose choices is epsilon-private, on two arms (never_varying.md, 2.5).

    On one of the two instances with losses (0, gap) or (gap, 0) at every step: gap / 2 times the sum over n = 0, ..., T
    - 1 of e^(-epsilon n / 2), divided by cosh(epsilon / 2) for odd n. For T = infinity it is at least gap / epsilon,
    for every epsilon.
    """
    require_epsilon(epsilon)
    require_gap(gap)
    require(horizon >= 1, "horizon", horizon, "a number of steps, at least 1")
    even, odd = (math.ceil(horizon / 2), math.floor(horizon / 2)) if math.isfinite(horizon) else (horizon, horizon)
    even_steps = -math.expm1(-epsilon * even)
    odd_steps = -math.expm1(-epsilon * odd) * 2 / (math.exp(min(epsilon, 700.0)) + 1)
    return gap / 2 * (even_steps + odd_steps) / -math.expm1(-epsilon)


def epoch_constant_lower_bound(scales: float) -> float:
    """The least constant of random disjoint epochs over sizes in [1, `scales`] (never_varying.md, 2.3).

    For every law of the lengths there is a size S in [1, scales] for which the expected length of all epochs, up to the
    end of the first one of length at least S, is at least this constant times S. It is e log(scales) / (1 +
    log(scales)), which goes to e.
    This is randomised online bidding, whose constant e is due to Chrobak, Kenyon, Noga and Young (2008).
    """
    require(scales > 1, "scales", scales, "a number above 1")
    return math.e * math.log(scales) / (1 + math.log(scales))
