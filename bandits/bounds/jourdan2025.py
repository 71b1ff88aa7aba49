"""Jourdan and Azize (2025, arXiv 2510.17348): samples that private identification of the best Bernoulli arm needs.

Only the abstract of the paper was read; `characteristic_time` is the form that such bounds have (Garivier and Kaufmann
2016, Theorem 1), with the private divergence d_epsilon in place of kl.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from bandits.bounds.local_privacy import response
from bandits.divergences import divergence_from, private_divergence_from, shift_by_logit
from bandits.parameters import require, require_epsilon

NEAREST = math.log(1e-6)  # the least place of u: x there is above every optimal x, which is about 1 for small epsilon
FARTHEST = math.log(1e30)  # the largest place, for epsilon = 1: x there is far below every optimal x


def characteristic_time(means: ArrayLike, epsilon: float) -> float:
    """T*: 1 / T* = max over shares w of the least over a and u of w_* d(mean_*, u) + w_a d(mean_a, u), d = d_epsilon.

    An infinite epsilon means d = kl. With w_* = 1 and y the least cost of an arm, the share x_a(y) of every other arm
    follows, and T* = min over y of (1 + sum of x_a(y)) / y: x_a is convex in y, so that the quotient falls and then
    rises. For small epsilon, epsilon T* is about the sum of 1 / gap plus 1 / least gap.
    """
    best, gaps = _best_and_gaps(means)
    require(epsilon >= 1e-100, "epsilon", epsilon, "a number > 0 (and at least 1e-100), or infinity")
    return _time(best, gaps, epsilon)


def _time(best: float, gaps: Sequence[float], epsilon: float) -> float:
    """`characteristic_time` of a best mean and the gaps of the others, which may be too small to be subtracted."""
    most = min(_cost(best, gap, epsilon, NEAREST)[0] for gap in gaps)

    def time(part: float) -> float:
        cost = part * most
        return (1 + sum(_share(best, gap, epsilon, cost) for gap in gaps)) / cost

    least = minimize_scalar(time, bounds=(1e-6, 1), options={"xatol": 1e-10})
    return float(time(least.x))


def samples_lower_bound(means: ArrayLike, epsilon: float, beta: float) -> float:
    """T* kl(beta, 1 - beta): the least expected samples of an epsilon-DP rule that is wrong with probability at most
    beta.

    The rule releases the sequence of arms, its stopping time and the arm that it names.
    """
    needed = _needed(beta)
    return characteristic_time(means, epsilon) * needed


def local_samples_lower_bound(means: ArrayLike, epsilon: float, beta: float) -> float:
    """The same bound for rules that see rewards through epsilon-private channels: T* of the means of randomised bits.

    Any such channel is randomised response, followed by a map that does not see the reward (gajane2018.md, 5.1).
    """
    require_epsilon(epsilon)
    best, gaps = _best_and_gaps(means)
    needed = _needed(beta)
    of_bits = [gap * math.tanh(epsilon / 2) for gap in gaps]
    return _time(response(best, epsilon), of_bits, math.inf) * needed


def _needed(beta: float) -> float:
    """kl(beta, 1 - beta)."""
    require(0 < beta < 0.5, "beta", beta, "a number in (0, 1/2)")
    return divergence_from(1 - beta, 2 * beta - 1)


def _best_and_gaps(means: ArrayLike) -> tuple[float, Sequence[float]]:
    arms = sorted(np.asarray(means, dtype=np.float64).tolist(), reverse=True)
    within = len(arms) > 1 and arms[0] < 1 and arms[-1] > 0 and arms[0] > arms[1]
    require(within, "means", means, "at least two numbers in (0, 1), one of them the largest")
    return arms[0], [arms[0] - mean for mean in arms[1:]]


def _cost(best: float, gap: float, epsilon: float, place: float) -> tuple[float, float]:
    """min over u of d(best, u) + x d(other, u), and x, where the minimum is at u.

    `place` is log((u - other) / (best - u)): for small epsilon u is very near to one of them.
    """
    up, down = gap / (1 + math.exp(place)), -gap / (1 + math.exp(-place))
    u = best - up
    share = _pull(u, up, epsilon) / _pull(u, down, epsilon)
    return private_divergence_from(u, up, epsilon) + share * private_divergence_from(u, down, epsilon), share


def _share(best: float, gap: float, epsilon: float, cost: float) -> float:
    """The x with min over u of d(best, u) + x d(other, u) = `cost`."""
    most_cost, most = _cost(best, gap, epsilon, NEAREST)
    if cost >= most_cost:
        return most
    farthest = FARTHEST - math.log(min(epsilon, 1.0))
    place = brentq(lambda at: _cost(best, gap, epsilon, at)[0] / cost - 1, NEAREST, farthest, xtol=1e-15)
    return _cost(best, gap, epsilon, place)[1]


def _pull(u: float, shift: float, epsilon: float) -> float:
    """|derivative of d_epsilon(u + shift, u) in u, where u + shift stays|."""
    if abs(shift) <= abs(shift_by_logit(u, math.copysign(epsilon, shift))):
        return abs(shift) / (u * (1 - u))
    lost = -math.expm1(-epsilon)
    return lost / (math.exp(-epsilon) + (u if shift > 0 else 1 - u) * lost)
