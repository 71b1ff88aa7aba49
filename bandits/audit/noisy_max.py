"""The exact cost of report noisy max: the largest log ratio of the probability of an arm under neighbouring losses.

Arm i wins against rivals whose scores are higher by D_j with probability P(D) = E[S(M)], S the survival function of its
noise and M = max_j (D_j + noise_j). Losses of one step lie in [0, 1], so one vector moves each D_j by at most 2, or by
at most 1 if all its losses move in one direction. P falls in every D_j, so the worst change is that of all D_j at once.
With F_M the distribution function of M and f the density of the noise, by parts,

    P(D) / P(D + c) = int F_M(m) f(m) dm / int F_M(m) f(m + c) dm,

a mean of f(m) / f(m + c) with weights F_M(m) f(m + c). As log f is concave, that ratio is nondecreasing in m; a larger
D_j multiplies F_M by a nondecreasing function. So P(D) / P(D + c) is nondecreasing in every D_j, and is the largest for
the largest D_j: R - c after R vectors, if these favour the rivals and the changed one favours arm i (losses 0 and 1
attain R - c). All three noises have a concave log density. A whole run of RNM-FTNL costs as much as its longest epoch:
a vector enters the choice of one epoch only.

Resampling (each loss x is replaced by a Bernoulli(x) variable) does not change the cost: given the resampled losses the
ratio is bounded as above, and a ratio of means is no larger; losses 0 and 1, which attain the bound, stay the same.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.audit.costs import Bounds
from bandits.audit.gauss_legendre import nodes_between
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.parameters import require

MOST_SCALES = 12.0  # prefixes that are tried are at most this many noise scales longer than the shortest
ERROR = 1e-12  # of the quadratures; tests compare them with closed forms


def noisy_max_cost(noise: NoiseName, scale: float, arms: int, rounds: int, monotone: bool = False) -> Bounds:
    """Pure epsilon of one choice among `arms` after an epoch of `rounds` loss vectors in [0, 1].

    `monotone`: all losses of the changed vector move in one direction.
    """
    require(arms >= 2, "arms", arms, "a whole number >= 2")
    require(rounds >= 1, "rounds", rounds, "a whole number >= 1")
    change = 1 if monotone else 2
    lead = rounds - change
    high, low = (log_chance(noise, scale, arms, d) for d in (lead, lead + change))
    moved = "from (0, 0, ...) to (1, 0, ...)" if monotone else "from (0, 1, 1, ...) to (1, 0, 0, ...)"
    witness = f"{rounds - 1} vectors (1, 0, 0, ...), one more {moved}; arm 1 is chosen"
    return Bounds(high - low, high - low, witness, "closed form, worst input proved", ERROR + 1e-15 * abs(low))


def vote_cost(noise: NoiseName, scale: float, arms: int, rounds: int) -> Bounds:
    """Pure epsilon of one choice by votes after `rounds` of them, of which one is changed; noise is added to votes.

    Upper bound: that of losses. A changed vote moves one rival by 2 and the others by 1. For two arms votes are losses
    0 and 1. For more arms the lower bound is from votes for one rival, one of which moves to the chosen arm.
    """
    kept = noisy_max_cost(noise, scale, arms, rounds)
    witness = f"{rounds} votes for arm 2, one of which goes to arm 1, which is chosen"
    if arms == 2:
        return replace(kept, witness=witness)
    before, after = (
        _log_chance_of(noise, [(1, (rounds - 2 * moved) / scale), (arms - 2, -moved / scale)]) for moved in (0, 1)
    )
    return Bounds(kept.kept, after - before, witness, "closed form; one pair", ERROR + 1e-15 * abs(before))


def prefix_cost(noise: NoiseName, scale: float, arms: int, rounds: int) -> Bounds:
    """Pure epsilon of one choice from a random prefix, uniform on `rounds` // 2 + 1, ..., `rounds` vectors.

    Upper bound: a mixture costs no more than its most expensive part, the whole epoch. Lower bound: the first vectors
    favour the rivals and the rest are 0, for the best number of first vectors from the shortest prefix on; the very
    first vector changes.
    """
    shortest = rounds // 2 + 1
    whole = noisy_max_cost(noise, scale, arms, rounds)
    stops = range(shortest, min(rounds, shortest + math.ceil(MOST_SCALES * scale)) + 1)
    less, more = (np.array([log_chance(noise, scale, arms, stop + change) for stop in stops]) for change in (-2.0, 0.0))
    best, place = -math.inf, 0
    for number, stop in enumerate(stops):
        weights = np.ones(number + 1)
        weights[-1] = rounds - stop + 1
        logs = [float(scipy.special.logsumexp(values[: number + 1], b=weights)) for values in (less, more)]
        if logs[0] - logs[1] > best:
            best, place = logs[0] - logs[1], stop
    witness = (
        f"{place - 1} vectors (1, 0, 0, ...) after one more from (0, 1, 1, ...) to (1, 0, 0, ...), "
        f"{rounds - place} vectors 0; arm 1 is chosen"
    )
    method = "closed form of the longest prefix; a mixture of prefixes"
    return Bounds(whole.kept, best, witness, method, whole.error + 1e-12)


def log_chance(noise: NoiseName, scale: float, arms: int, lead: float) -> float:
    """Log of the probability of an arm whose `arms` - 1 rivals all have a score higher by `lead`."""
    rivals = arms - 1
    d = lead / scale
    if noise == "exponential" and d >= 0:
        return -d - math.log(arms)
    return _log_chance_of(noise, [(rivals, d)])


def _log_chance_of(noise: NoiseName, rivals: Sequence[tuple[int, float]]) -> float:
    """Log of the probability of an arm against groups of rivals: pairs of their number and their lead in scales.

    It is int f(x) prod F(x - d)^rivals dx, computed with logs of the integrand.
    """
    if noise == "gumbel":
        return -float(np.logaddexp.reduce([0.0, *(d + math.log(count) for count, d in rivals)]))
    around = np.arange(-60.0, 61.0, 1.0)
    peaks = [d + math.log(count) for count, d in rivals]  # about the largest of a group
    least = min(0.0, *(d - math.log(count) for count, d in rivals)) - 60.0
    start = 0.0 if noise == "exponential" else least
    breaks = np.unique(
        np.concatenate([[start, 0.0], around, *(around + peak for peak in peaks), [d for _, d in rivals]])
    )
    nodes, weights = nodes_between(breaks[breaks >= start])
    log_values = _log_density(noise, nodes) + sum(count * _log_below(noise, nodes - d) for count, d in rivals)
    top = float(log_values.max())
    return top + math.log(float(np.exp(log_values - top) @ weights))


def _log_density(noise: NoiseName, x: FloatArray) -> FloatArray:
    return np.where(x >= 0, -x, -np.inf) if noise == "exponential" else -np.abs(x) - math.log(2)


def _log_below(noise: NoiseName, x: FloatArray) -> FloatArray:
    """Log of the distribution function."""
    if noise == "exponential":
        return np.log(-np.expm1(-np.maximum(x, 1e-300)), where=x > 0, out=np.full(x.shape, -np.inf))
    return np.where(x < 0, np.minimum(x, 0) - math.log(2), np.log1p(-np.exp(-np.abs(x)) / 2))
