"""A bound on KLUCB-CF (Gajane, Urvoy and Kaufmann 2018) with the best leading constant under local privacy.

Only the abstract of the paper was read: the bound is derived here, from the proof of KL-UCB (Garivier and Cappe
2011; Cappe, Garivier, Maillard, Munos and Stoltz 2013) on bits. Proof: gajane2018.md, section 5.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from bandits.bounds.common import require_horizon
from bandits.bounds.local_privacy import response
from bandits.divergences import divergence_from, shift_of_lower_mean
from bandits.parameters import require, require_epsilon

SUMMED = 4096  # steps that are summed one by one; the rest is an integral
SLACKS = 200  # values of eta that are tried


def klucb_cf_regret(means: ArrayLike, epsilon: float, horizon: float, c: float) -> float:
    """Bound on the expected regret of KLUCB-CF with c >= 3, on rewards in [0, 1] with these means, the best below 1.

    Sum over suboptimal arms of gap (n + exp(-n k) / (1 - exp(-k))), n = ceil((1 + eta) L(T) / d), at the best eta > 0,
    plus the largest gap times `klucb_cf_misses`. L(T) = log T + c log log T, d = kl(r, r*) is that of the bits, and
    k = kl(y, r) where r < y < r* and kl(y, r*) = d / (1 + eta).
    """
    require_epsilon(epsilon)
    misses = klucb_cf_misses(horizon, c)
    arms = np.asarray(means, dtype=np.float64)
    within = len(arms) > 1 and bool(((arms >= 0) & (arms < 1)).all()) and arms.min() < arms.max()
    require(within, "means", means, "numbers in [0, 1), at least one below the largest")
    best, bit = float(arms.max()), response(float(arms.max()), epsilon)
    level = _level(math.log(horizon), c)
    largest = best - float(arms.min())
    regret = largest * misses
    for gap in (best - arms[arms < best]).tolist():
        regret += gap * _pulls(bit, gap * math.tanh(epsilon / 2), level)
    return min(regret, horizon * largest)


def klucb_cf_misses(horizon: float, c: float) -> float:
    """Bound on the expected steps t <= T at which the index of an arm is below its mean.

    The sum of min(1, e ceil(L(t) log t) exp(-L(t))) (Garivier and Cappe 2011, Theorem 10).
    """
    require(3 <= c <= 1e6, "c", c, "a number >= 3, as the proof asks for")
    require_horizon(horizon)
    steps = np.arange(1, int(min(SUMMED, horizon)) + 1)
    misses = float(sum(_miss(math.log(t), c) for t in steps.tolist()))
    if horizon > SUMMED:
        misses += quad(lambda u: math.e * (u * _level(u, c) + 1) * u**-c, math.log(SUMMED), math.log(horizon))[0]
    return misses


def _miss(log_t: float, c: float) -> float:
    return min(1.0, math.e * math.ceil(_level(log_t, c) * log_t) * math.exp(-_level(log_t, c)))


def _level(log_t: float, c: float) -> float:
    """L(t)."""
    return log_t + c * math.log(max(log_t, 1.0))


def _pulls(best: float, gap: float, level: float) -> float:
    """The bound on the pulls of one arm, whose bits have a mean lower by `gap`, at the best eta on a grid."""
    divergence, bit = divergence_from(best, -gap), best - gap
    least = math.inf
    for eta in np.geomspace(1e-4, 30, SLACKS).tolist():
        above = gap - min(shift_of_lower_mean(best, divergence / (1 + eta)), gap)
        apart = divergence_from(bit, above) if bit > 0 else math.inf
        pulls = math.ceil((1 + eta) * level / divergence)
        if apart > 0:
            least = min(least, pulls + math.exp(-pulls * apart) / -math.expm1(-apart))
    return least
