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
from bandits.divergences import bernoulli_divergence, private_divergence
from bandits.parameters import require, require_epsilon

NEAREST = 1e-6  # the least place of u: x there is far above every optimal x, and rounding is still harmless


def characteristic_time(means: ArrayLike, epsilon: float) -> float:
    """T*: 1 / T* = max over shares w of the least over a and u of w_* d(mean_*, u) + w_a d(mean_a, u), d = d_epsilon.

    An infinite epsilon means d = kl. With w_* = 1 and y the least cost of an arm, the share x_a(y) of every other arm
    follows, and T* = min over y of (1 + sum of x_a(y)) / y: x_a is convex in y, so that the quotient falls and then
    rises. For small epsilon, epsilon T* is about the sum of 1 / gap plus 1 / least gap.
    """
    best, others = _best_and_others(means)
    require(epsilon >= 1e-100, "epsilon", epsilon, "a number > 0 (and at least 1e-100), or infinity")
    most = min(_cost(best, mean, epsilon, NEAREST)[0] for mean in others)

    def time(cost: float) -> float:
        return (1 + sum(_share(best, mean, epsilon, cost) for mean in others)) / cost

    least = minimize_scalar(time, bounds=(1e-6 * most, most), options={"xatol": 1e-10 * most})
    return float(time(least.x))


def samples_lower_bound(means: ArrayLike, epsilon: float, beta: float) -> float:
    """T* kl(beta, 1 - beta): the least expected samples of an epsilon-DP rule that is wrong with probability at most
    beta.

    The rule releases the sequence of arms, its stopping time and the arm that it names.
    """
    require(0 < beta < 0.5, "beta", beta, "a number in (0, 1/2)")
    return characteristic_time(means, epsilon) * bernoulli_divergence(beta, 1 - beta)


def local_samples_lower_bound(means: ArrayLike, epsilon: float, beta: float) -> float:
    """The same bound for rules that see rewards through epsilon-private channels: T* of the means of randomised bits.

    Any such channel is randomised response, followed by a map that does not see the reward (gajane2018.md, 5.1).
    """
    require_epsilon(epsilon)
    _best_and_others(means)
    bits = [response(float(mean), epsilon) for mean in np.asarray(means, dtype=np.float64)]
    return samples_lower_bound(bits, math.inf, beta)


def _best_and_others(means: ArrayLike) -> tuple[float, Sequence[float]]:
    arms = sorted(np.asarray(means, dtype=np.float64).tolist(), reverse=True)
    within = len(arms) > 1 and arms[0] < 1 and arms[-1] > 0 and arms[0] > arms[1]
    require(within, "means", means, "at least two numbers in (0, 1), one of them the largest")
    return arms[0], arms[1:]


def _cost(best: float, other: float, epsilon: float, place: float) -> tuple[float, float]:
    """min over u of d(best, u) + x d(other, u), and x, where the minimum is at u = other + `place` (best - other)."""
    u = other + place * (best - other)
    share = _pull(best, u, epsilon) / _pull(other, u, epsilon)
    return private_divergence(best, u, epsilon) + share * private_divergence(other, u, epsilon), share


def _share(best: float, other: float, epsilon: float, cost: float) -> float:
    """The x with min over u of d(best, u) + x d(other, u) = `cost`."""
    if cost >= _cost(best, other, epsilon, NEAREST)[0]:
        return _cost(best, other, epsilon, NEAREST)[1]
    place = brentq(lambda at: _cost(best, other, epsilon, at)[0] - cost, NEAREST, 1 - 1e-12, xtol=1e-15)
    return _cost(best, other, epsilon, place)[1]


def _pull(x: float, u: float, epsilon: float) -> float:
    """|derivative of d_epsilon(x, u) in u|."""
    if x < u:
        x, u = 1 - x, 1 - u
    if x * (1 - u) <= u * (1 - x) * math.exp(min(epsilon, 700.0)):
        return (x - u) / (u * (1 - u))
    return math.expm1(epsilon) / (1 + u * math.expm1(epsilon))
