"""Lower bounds under local privacy, for heavy tails (ours; on instances of Tao et al. 2022) and for Bernoulli rewards.

An epsilon-locally private channel maps two laws at total variation V to outputs whose divergences, in both directions
together, are at most min(4, e^(2 epsilon)) (e^epsilon - 1)^2 V^2 (Duchi, Jordan and Wainwright 2018, Theorem 1).
Lemma 15 of Tao et al. replaces V^2 by the divergence of the two laws. For rare rewards V^2 is far smaller: on their own
instances V is of the order gap^((1+v)/v), and so is the divergence. With V, pulls must grow as gap^(-2(1+v)/v), the
exponent of LDPRSE's epoch lengths. Proofs: local_privacy.md, section 1.

For Bernoulli rewards no channel separates two arms better than randomised response: `local_bernoulli_*`, section 5.

The minimax rate (1.3) is that of Zhou and Zhang (Locally Private and Robust Multi-Armed Bandits, NeurIPS 2024), who
were first; only the abstract of their paper was read.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.bounds.common import (
    require_gaps,
    require_horizon,
    require_small_epsilon,
    two_point_means,
)
from bandits.divergences import divergence_from
from bandits.environments.heavy_tails import require_exponent
from bandits.parameters import require, require_arms, require_epsilon


def local_variation_lower_bound_slope(means: ArrayLike, epsilon: float, v: float) -> float:
    """The least limit of regret / log(T) on the `TwoPoint` instance of these means, of every epsilon-LDP policy.

    For policies whose regret grows slower than every power of T where moments are at most 1: the sum of
    gap / (min(4, e^(2 epsilon)) (e^epsilon - 1)^2 V^2), V = 2 gap (2 mean)^(1/v) between the arm's law and the law that
    pays more often and is better by a gap. The instances and conditions of Theorem 8 of Tao et al. (2022).
    """
    _require(epsilon, v)
    arms = two_point_means(means)
    suboptimal = arms[arms < arms.max()]
    gaps = arms.max() - suboptimal
    variations = 2 * gaps * (2 * suboptimal) ** (1 / v)
    prices = [_divergence(epsilon, float(variation)) for variation in variations]
    return sum(float(gap) / price for gap, price in zip(gaps, prices, strict=True))


def local_atom_lower_bound_slope(means: ArrayLike, moments: ArrayLike, epsilon: float, v: float) -> float:
    """The least limit of regret / log(T) of every epsilon-LDP policy, on any instance with moments at most 1.

    For policies whose regret grows slower than every power of T on all instances with E|X|^(1+v) <= 1. `means` and
    `moments`, E|X|^(1+v), are those of the arms, shapes (arms,). A suboptimal arm of mean m, moment M and gap D adds
    (x - m)^2 / (D min(4, e^(2 epsilon)) (e^epsilon - 1)^2), where x >= 1 is the largest value of an atom that, mixed
    into the arm's law, makes the arm the best with a moment of at most 1: (1 - M) (x - m) = D (x^(1+v) - M). For D at
    most (1 - M) / 2^(1+v) the arm adds at least (1 - M)^(2/v) D^(-1-2/v) / 2^(2+2/v). Theorem 1.4 of local_privacy.md
    (ours), after the proof of Theorem 5 of Tao et al. (2022).
    """
    _require(epsilon, v)
    arms, within = np.asarray(means, dtype=np.float64), np.asarray(moments, dtype=np.float64)
    require(arms.ndim == 1 and arms.shape == within.shape, "means", arms.shape, f"of the moments' shape {within.shape}")
    some = len(arms) > 1 and bool((arms < 1).all()) and arms.min() < arms.max()
    require(some, "means", means, "numbers below 1, at least one below the largest")
    possible = bool(((within <= 1) & (within >= np.abs(arms) ** (1 + v) - 1e-12)).all())
    require(possible, "moments", moments, "at most 1, and at least |mean|^(1 + v)")
    best, total = float(arms.max()), 0.0
    for mean, moment in zip(arms[arms < best].tolist(), within[arms < best].tolist(), strict=True):
        gap = best - mean
        atom = _farthest_atom(mean, moment, gap, v)
        total += gap / _divergence(epsilon, gap / (atom - mean))
    return total


def _farthest_atom(mean: float, moment: float, gap: float, v: float) -> float:
    """The largest x with (1 - moment) (x - mean) >= gap (x^(1+v) - moment); x = 1 satisfies it, as mean + gap <= 1."""

    def room(x: float) -> float:
        return (1 - moment) * (x - mean) - gap * (math.pow(x, 1 + v) - moment)

    low, high = 1.0, 2.0
    while room(high) >= 0:
        low, high = high, 2 * high
    for _ in range(200):  # room is concave: one change of sign
        middle = (low + high) / 2
        low, high = (middle, high) if room(middle) >= 0 else (low, middle)
    return low


def local_variation_asymptote(means: ArrayLike, epsilon: float, horizon: float, v: float) -> float:
    """log(T) times `local_variation_lower_bound_slope`, a line for figures: regret may lie below it at a finite T."""
    require_horizon(horizon)
    return math.log(horizon) * local_variation_lower_bound_slope(means, epsilon, v)


def local_variation_two_armed_lower_bound_slope(gap: float, epsilon: float, v: float) -> float:
    """The least limit of regret / log(T) on the two arms of Theorem 11 of Tao et al. (2022), of every LDP policy.

    They pay 1/s with probability s^(1+v)/2 and s^(1+v)/2 - gap s, s = (5 gap)^(1/v), so that V = 2 gap s:
    gap^(-1-2/v) / (4 x 5^(2/v) min(4, e^(2 epsilon)) (e^epsilon - 1)^2). The theorem has the order gap^(-1/v).
    """
    _require(epsilon, v)
    require(0 < gap < 0.2, "gap", gap, "a number in (0, 0.2)")
    return gap / _divergence(epsilon, _two_point_variation(gap, v))


def local_variation_lower_bound_order(gaps: FloatArray, epsilon: float, v: float) -> float:
    """The order of these bounds, limit of regret / log(T): sum of gap^(-1-2/v) / epsilon^2."""
    _require(epsilon, v)
    require_gaps(gaps)
    return float((gaps ** (-1 - 2 / v)).sum()) / epsilon**2


def local_variation_worst_case_lower_bound(arms: int, epsilon: float, horizon: float, v: float) -> float:
    """Regret of every epsilon-LDP policy on one of the instances of Theorem 9 of Tao et al. (2022), u <= 1.

    T gap / 8 x exp(-T / (K-1) x min(4, e^(2 epsilon)) (e^epsilon - 1)^2 V^2) at nearly the best gap below 1/5. It
    grows as (K / epsilon^2)^(v/(2+2v)) T^((2+v)/(2+2v)), as LDPRSE's own bound does; the theorem has T^(1/(1+v)).
    """
    _require(epsilon, v)
    require_horizon(horizon)
    require_arms(arms)
    n = horizon / (arms - 1)
    gaps = [float(gap) for gap in np.geomspace(1e-30, 0.19, 800)]
    return max(horizon * gap / 8 * math.exp(-n * _divergence(epsilon, _two_point_variation(gap, v))) for gap in gaps)


def local_bernoulli_lower_bound_slope(means: ArrayLike, epsilon: float) -> float:
    """The least limit of regret / log(T) on Bernoulli arms of these means, of every epsilon-LDP policy.

    For policies whose regret grows slower than every power of T on all Bernoulli arms: the sum of
    gap / kl(r(mean), r(best mean)), where r(x) = (1 + x (e^epsilon - 1)) / (1 + e^epsilon) is the mean of randomised
    response to rewards of mean x. Theorem 5.2 of gajane2018.md (ours). Without privacy, epsilon infinite, it is the
    bound of Lai and Robbins (1985).
    """
    require(epsilon > 0, "epsilon", epsilon, "a number > 0, or infinity")
    arms = np.asarray(means, dtype=np.float64)
    within = len(arms) > 1 and bool(((arms >= 0) & (arms < 1)).all()) and arms.min() < arms.max()
    require(within, "means", means, "numbers in [0, 1), at least one below the largest")
    gaps = arms.max() - arms
    best = _response(float(arms.max()), epsilon)
    kept = math.tanh(epsilon / 2)  # share of a gap
    return float(sum(gap / divergence_from(best, -gap * kept) for gap in gaps[gaps > 0].tolist()))


def local_bernoulli_asymptote(means: ArrayLike, epsilon: float, horizon: float) -> float:
    """log(T) times `local_bernoulli_lower_bound_slope`, a line for figures: regret may lie below it at a finite T."""
    require_horizon(horizon)
    return math.log(horizon) * local_bernoulli_lower_bound_slope(means, epsilon)


def response(mean: float, epsilon: float) -> float:
    """The mean of randomised response to a Bernoulli reward: a gap of two means becomes gap x tanh(epsilon / 2)."""
    require_epsilon(epsilon)
    return _response(mean, epsilon)


def _response(mean: float, epsilon: float) -> float:
    """As `response`, but epsilon may be infinite: no privacy."""
    truth = 1 / (1 + math.exp(-epsilon))  # the probability of a true answer
    return truth * mean + (1 - truth) * (1 - mean)


def _divergence(epsilon: float, variation: float) -> float:
    """The bound on the sum of both divergences of two laws after an epsilon-LDP channel."""
    return float(min(4.0, math.exp(2 * epsilon)) * math.expm1(epsilon) ** 2 * variation**2)


def _two_point_variation(gap: float, v: float) -> float:
    """Total variation between the arm worse by `gap` and the arm better by `gap`, in Theorems 9 and 11."""
    return float(2 * gap * (5 * gap) ** (1 / v))


def _require(epsilon: float, v: float) -> None:
    require_small_epsilon(epsilon)
    require_exponent(v)
