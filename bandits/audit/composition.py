"""Upper and lower bounds on the delta of many releases with Laplace noise together.

A reward that moves the center of release j by e_j scales gives the privacy loss log(f / f') the law: e_j with
probability 1/2, -e_j with probability exp(-e_j) / 2, and between them the density exp((l - e_j) / 2) / 4. Losses of
releases with independent noise add up, and delta(epsilon) = E[(1 - exp(epsilon - L))+] of their sum L. Laws are rounded
to a grid, every loss up for the upper bound and down for the lower bound, and convolved. So both bounds are valid for
any grid; `ERROR` bounds the rounding errors of the transforms.
"""

import math

import numpy as np
import scipy

from bandits.arrays import FloatArray

POINTS = 1 << 16  # of the grid
MOST = 1000  # releases that are convolved
ERROR = 1e-12  # of a probability, from rounding in the transforms


def laplace_loss_cdf(loss: FloatArray, epsilon: float) -> FloatArray:
    """Pr[L <= loss] for one release that costs `epsilon`."""
    inside = np.exp((np.minimum(loss, epsilon) - epsilon) / 2) / 2
    return np.where(loss >= epsilon, 1.0, np.where(loss < -epsilon, 0.0, inside))


def composed_delta(costs: FloatArray, epsilon: float) -> tuple[float, float]:
    """A lower and an upper bound on the delta at which releases of `costs` are (epsilon, delta)-private together.

    With more than `MOST` releases the lower bound is that of the most expensive ones alone, and the upper bound is
    `chernoff_delta`.
    """
    if float(costs.sum()) <= epsilon:
        return 0.0, 0.0
    dearest = np.sort(costs)[::-1][:MOST]
    reach = min(float(dearest.sum()), _reach(dearest)) + 1e-9
    step = reach / (POINTS // 2 - len(dearest) - 2)
    low = _delta(dearest, epsilon, step, up=False)
    high = chernoff_delta(costs, epsilon)
    return low, high if len(costs) > MOST else min(high, _delta(costs, epsilon, step, up=True))


def chernoff_delta(costs: FloatArray, epsilon: float) -> float:
    """An upper bound on that delta for any number of releases, the least over some exponents a.

    (1 - exp(epsilon - L))+ <= exp(a (L - epsilon)) a^a / (a + 1)^(a + 1), and for one release
    E exp(a L) = ((a + 1) exp(a e) + a exp(-(a + 1) e)) / (2 a + 1) (Mironov 2017, Proposition 6).
    """
    logs = []
    for a in np.geomspace(1e-2, 1e4, 400):
        moments = np.logaddexp(np.log(a + 1) + a * costs, np.log(a) - (a + 1) * costs) - np.log(2 * a + 1)
        logs.append(moments.sum() - a * epsilon + a * np.log(a) - (a + 1) * np.log(a + 1))
    return min(1.0, math.exp(min(0.0, float(min(logs)))))


def _reach(costs: FloatArray) -> float:
    """A loss that the sum exceeds in absolute value with probability below 1e-16 (Hoeffding)."""
    mean = float((costs * np.expm1(costs)).sum())
    return mean + math.sqrt(2 * float((costs**2).sum()) * math.log(2e16))


def _delta(costs: FloatArray, epsilon: float, step: float, up: bool) -> float:
    """delta of the sum of losses that are rounded to multiples of `step`, by a circular convolution.

    A loss outside the circle wraps around; this has probability below 1e-16, which `ERROR` includes.
    """
    transform = np.ones(POINTS // 2 + 1, dtype=complex)
    for cost in costs:
        last = math.ceil(cost / step)
        multiples = np.arange(-last, last + 1)
        edges = multiples if up else multiples + 1 - 1e-12  # (k - 1, k] goes up to k, [k, k + 1) down to k
        levels = laplace_loss_cdf(edges * step, float(cost))
        masses = np.diff(levels, prepend=0.0)
        law = np.zeros(POINTS)
        law[multiples] = masses
        transform *= scipy.fft.rfft(law)
    law = scipy.fft.irfft(transform, POINTS)
    losses = np.where(np.arange(POINTS) < POINTS // 2, np.arange(POINTS), np.arange(POINTS) - POINTS) * step
    above = losses > epsilon
    delta = float(law[above] @ -np.expm1(epsilon - losses[above]))
    return min(1.0, delta + ERROR) if up else max(0.0, delta - ERROR)
