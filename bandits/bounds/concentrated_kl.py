"""The regret of zCDP-KLUCB, an exact index with normal noise: concentrated_kl.md, 11.4. Ours."""

import math

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray, IntArray
from bandits.bounds.common import require_horizon
from bandits.divergences import divergence_from, shift_by_logit
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require
from bandits.policies.batched_index import require_growth

PLACES = 99  # values of y between two means that are tried
TILTS = np.geomspace(1e-6, 1.0, 60)  # x of a cost, as shares of the largest that can be best


def zcdp_klucb_regret(
    means: ArrayLike, rho: float, horizon: float, ratio: float = 2.0, first_batch: int = 1, c: float = 3.0
) -> float:
    """Expected regret of zCDP-KLUCB is at most this, for rewards in [0, 1] with these means in (0, 1), c > 2.

    Sum over suboptimal arms of gap times `_late_pulls`, at the best y, plus the largest gap times `failed_steps`. As T
    grows the limit of regret / log T is at most `ratio` times the sum of gap / kl(mean, best mean), for every rho.
    """
    require_rho(rho)
    arms = _inner_means(means)
    best, largest = float(arms.max()), float(arms.max() - arms.min())
    regret = largest * failed_steps(horizon, ratio, first_batch, c)
    grid, cost = batch_ends(horizon, ratio, first_batch), kl_exploration(horizon, c)
    for mean in arms[arms < best].tolist():
        places = mean + (best - mean) * np.arange(1, PLACES + 1) / (PLACES + 1)
        regret += (best - mean) * min(_late_pulls(mean, best, y, rho, cost, grid) for y in places.tolist())
    return float(min(regret, horizon * largest))


def price_of_rho(means: ArrayLike, rho: float, horizon: float, ratio: float = 2.0) -> float:
    """The leading term of what rho adds to the regret of zCDP-KLUCB on arms with these means in (0, 1), heuristic.

    Sum over suboptimal arms of gap x^2 log log T / (4 rho log(ratio) kl(mean, best mean)), x the difference of the
    logits: by part (c) of the proof of 11.4 an arm is pulled until n kl is log T + m x^2 / (4 rho) without rounding to
    whole batches, and the number m of its batches is about log log T / log(ratio).
    """
    require_rho(rho)
    require(horizon >= 3, "horizon", horizon, "a number of steps, at least 3")
    require_growth(ratio)
    arms = _inner_means(means)
    best, price = float(arms.max()), 0.0
    for mean in arms[arms < best].tolist():
        price += (best - mean) * _tilt(best, mean) ** 2 / divergence_from(best, mean - best)
    return price * math.log(math.log(horizon)) / (4 * rho * math.log(ratio))


def _inner_means(means: ArrayLike) -> FloatArray:
    arms = np.asarray(means, dtype=np.float64)
    within = len(arms) > 1 and bool(((arms > 0) & (arms < 1)).all()) and arms.min() < arms.max()
    require(within, "means", means, "numbers in (0, 1), at least one below the largest")
    return arms


def _late_pulls(mean: float, best: float, y: float, rho: float, cost: float, grid: FloatArray) -> float:
    """A bound on the expected pulls of an arm that are chosen while the index of the best arm is not below its mean.

    `grid` are the pulls n_j of the arm after j batches; mean < y < best. It is n_(J+1), J the last j at which a noisy
    sum of n_j y costs at most `cost` where the mean is `best`, and for each later j the pulls of the next batch times
    the chance of a larger noisy sum, e^-(cost of n_j y where the mean is that of the arm).
    """
    number = np.arange(1, len(grid))
    needed, unlikely = (_cost(grid[:-1], number, y, of_arm, rho) for of_arm in (best, mean))
    allowed = np.flatnonzero(needed <= cost)
    last = int(allowed[-1]) + 1 if len(allowed) else 0
    return float(grid[last] + np.exp(-unlikely[last:]) @ np.diff(grid)[last:])


def _cost(count: FloatArray, batches: IntArray, y: float, mean: float, rho: float) -> FloatArray:
    """sup over x of n (x y - log(1 - u + u e^x)) - m x^2 / (4 rho), up to a grid of x: D of 11.3 of the sum n y.

    Without noise the best x is the difference of the logits of y and of u, the `mean`; with noise it is nearer to 0.
    """
    tilts = _tilt(y, mean) * TILTS
    gains = tilts * y - np.log1p(mean * np.expm1(tilts))
    if abs(tilts[-1]) < 1:  # the same as x (y - u) - kl(u, z), where the logit of z is that of u plus x: to all digits
        shifts = [shift_by_logit(mean, tilt) for tilt in tilts.tolist()]
        gains = tilts * (y - mean) - np.array([divergence_from(mean + shift, -shift) for shift in shifts])
    costs: FloatArray = (gains[:, None] * count - tilts[:, None] ** 2 * batches / (4 * rho)).max(axis=0)
    return np.maximum(costs, 0.0)


def _tilt(y: float, mean: float) -> float:
    """The difference of the logits of y and of the mean, to all digits where they are close."""
    return math.log1p((y - mean) / mean) - math.log1p((mean - y) / (1 - mean))


def failed_steps(horizon: float, ratio: float, first_batch: int, c: float) -> float:
    """A bound on the expected steps in batches chosen while the index of the best arm is below its mean.

    The sum over i >= 1 with 2^i <= T of (2^i + (ratio - 1) 2^(i+1) + 1) min(1, M e^-L), M the number of batches that
    end before 2^(i+1), L = log 2^i + c log+ log 2^i. It has a limit for c > 2, and does not depend on rho.
    """
    require(2 < c <= 1e6, "c", c, "a number > 2, as the proof asks for")
    grid, total = batch_ends(horizon, ratio, first_batch), 0.0
    for i in range(1, int(math.log2(horizon)) + 1):
        begun = 2.0**i
        batches = np.count_nonzero(grid < 2 * begun)
        steps = min(begun + (ratio - 1) * 2 * begun + 1, horizon)
        total += steps * min(1.0, batches * math.exp(-kl_exploration(begun, c)))
    return total


def kl_exploration(step: float, c: float) -> float:
    """L(t) = log t + c log+ log t."""
    require(1 <= step < math.inf, "step", step, "a finite number >= 1")
    require(0 < c <= 1e6, "c", c, "a positive number")
    return math.log(step) + c * math.log(max(math.log(step), 1.0))


def batch_ends(horizon: float, ratio: float, first_batch: int) -> FloatArray:
    """n_1, n_2, ...: the pulls of an arm after its batches, up to the first that is at least the horizon."""
    require_horizon(horizon)
    require(horizon <= 1e300, "horizon", horizon, "at most 1e300")
    require(first_batch >= 1, "first_batch", first_batch, "a whole number >= 1")
    require_growth(ratio)
    ends = [float(first_batch)]
    while ends[-1] < horizon or len(ends) < 2:
        ends.append(max(ends[-1] + 1, math.ceil(ratio * ends[-1] * (1 - 1e-12))))
    return np.array(ends, dtype=np.float64)
