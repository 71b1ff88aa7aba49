"""How often sequential halving names a wrong arm, with noise of any kind or none (ours): halving.md.

One arm is best; gaps are those of all others, in any order. Every function takes `epsilon` for Laplace noise, `rho`
for normal noise, or neither for none.
"""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.common import require_gap, require_gaps
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import require, require_epsilon
from bandits.policies.halving import Allocation, Round, rounds_of

TILTS = np.linspace(0, 1, 201)[1:-1]  # of Laplace noise, as shares of epsilon; each gives a valid bound


def overtaken(pulls: int, gap: float, epsilon: float | None = None, rho: float | None = None) -> float:
    """The noisy sum of an arm with this gap is at least that of the best, after so many pulls of both, at most so often

    (15.1). Without noise exp(-n gap^2), with normal noise exp(-n^2 gap^2 / (n + 2 / rho)), with Laplace noise the least
    over x < epsilon of exp(-x n gap + n x^2 / 4) / (1 - x^2 / epsilon^2)^2.
    """
    require(pulls >= 1, "pulls", pulls, "a number of pulls, at least 1")
    require_gap(gap)
    _require_one(epsilon, rho)
    if epsilon is not None:
        tilts = epsilon * TILTS
        logs = -tilts * pulls * gap + pulls * tilts**2 / 4 - 2 * np.log1p(-(TILTS**2))
        return math.exp(min(0.0, float(logs.min())))
    noise = 0.0 if rho is None else 2 / rho
    return math.exp(-((pulls * gap) ** 2) / (pulls + noise))


def halving_error(
    gaps: FloatArray,
    explored: int,
    epsilon: float | None = None,
    rho: float | None = None,
    allocation: Allocation = "halving",
) -> float:
    """The probability that halving with `explored` users names a wrong arm is at most this (15.2): a sum over rounds.

    Raises `ParameterError` if a round has fewer users than arms, and for gaps outside (0, 1].
    """
    require_gaps(gaps)
    rounds = rounds_of(len(gaps) + 1, explored, allocation)
    return min(1.0, sum(_lost(np.sort(gaps), one, epsilon, rho) for one in rounds))


def local_halving_error(gaps: FloatArray, explored: int, epsilon: float, allocation: Allocation = "halving") -> float:
    """The same for halving on bits of randomised response (15.5): without noise, at gaps times tanh(epsilon / 2)."""
    require_gaps(gaps)
    require_epsilon(epsilon)
    return halving_error(math.tanh(epsilon / 2) * gaps, explored, allocation=allocation)


def _lost(gaps: FloatArray, one: Round, epsilon: float | None, rho: float | None) -> float:
    """The best arm is lost in this round at most so often: at least `kept` others overtake it, of `left` - 1.

    The j-th best of any arms that are left has a gap of at least that of the j-th best of all. Without the q best of
    these others, of whom `kept` - q must overtake it, Markov's inequality bounds this, for every q.
    """
    chances = np.array([overtaken(one.pulls, float(gap), epsilon, rho) for gap in gaps[: one.left - 1]])
    from_last = np.cumsum(chances[::-1])[::-1]  # the sum without the q best
    return min(1.0, float((from_last[: one.kept] / (one.kept - np.arange(one.kept))).min()))


def complexities(gaps: FloatArray) -> tuple[float, float]:
    """H_2 = max i / D_i^2 and H_eps = max i / D_i over i = 2..K, D_2 <= ... <= D_K the gaps."""
    require_gaps(gaps)
    places = np.arange(2, len(gaps) + 2)
    ordered = np.sort(gaps)
    return float((places / ordered**2).max()), float((places / ordered).max())


def halving_error_order(
    gaps: FloatArray, explored: int, epsilon: float | None = None, rho: float | None = None
) -> float:
    """The same in closed form, weaker (15.3): with R = ceil(log2 K) rounds and T = explored - R K,

    3 R exp(-T / (4 R H_2)) without noise; with Laplace noise 12 R times the larger of that exponential and
    exp(-epsilon T / (8 sqrt(2) R H_eps)); with normal noise 3 R exp(-1 / (4 R H_2 / T + 32 R^2 H_eps^2 / (rho T^2))).
    """
    _require_one(epsilon, rho)
    require(explored >= 1, "explored", explored, "a number of users, at least 1")
    squares, linear = complexities(gaps)
    number = len(gaps).bit_length()
    rest = explored - number * (len(gaps) + 1)
    if rest <= 0:
        return 1.0
    mean = rest / (4 * number * squares)
    if epsilon is not None:
        noise = epsilon * rest / (8 * math.sqrt(2) * number * linear)
        return min(1.0, 12 * number * math.exp(-min(mean, noise)))
    shift = 0.0 if rho is None else 32 * (number * linear) ** 2 / (rho * rest**2)
    return min(1.0, 3 * number * math.exp(-1 / (1 / mean + shift)))


def _require_one(epsilon: float | None, rho: float | None) -> None:
    require(epsilon is None or rho is None, "rho", rho, "left out beside epsilon")
    if epsilon is not None:
        require_epsilon(epsilon)
    if rho is not None:
        require_rho(rho)
