"""Lengths of the start phases of DP-FTPL-Gauss and DP-FTPL-Beta: pulls of every arm before the first private decision.

Wang and Zhu (2024) print sufficient numbers of pulls (Algorithms 1 and 2, Theorems 11 and 13): the
`_paper` functions. The `_exact` functions find the smallest number N from which on the condition of
their Lemma 8 holds: for the distribution functions F, F' of an arm's index under reward sums R, R'
of N Bernoulli rewards that differ in one reward, and for all x,

    F(x) <= e^epsilon F'(x) + delta    and    1 - F(x) <= e^epsilon (1 - F'(x)) + delta.

Guarantee: with a start phase that satisfies it for all N from its length on, every single decision is
(epsilon, delta)-DP, one reward of a fixed history changed. Scope `decision`: not the sequence of arms.

For both families the likelihood ratio of F and F' is monotone in x, so the condition says that the
hockey-stick divergence is at most delta. `gauss_condition` and `beta_condition` give that
divergence, the smallest delta that N pulls achieve. It does not rise in N:

- Gauss: the divergence depends on the distance of the means in standard deviations, 1 / sqrt(2 N),
  and noise added to both laws of a closer pair cannot increase it.
- Beta: neighbours are Beta(a, b + 1) and Beta(a + 1, b). Multiplied by an independent
  Beta(a + b + 1, m) they are Beta(a, b + 1 + m) and Beta(a + 1, b + m), so the divergence D(a, b) never rises with b
  (data processing), and, applied to 1 - x, never with a. Every pair that occurs after N + 1 pulls has both parameters
  at least as large as some pair after N pulls, even where k jumps.

So bisection finds the exact start phase without any further bound. Divergences are computed
as integrals of positive terms, to about 11 digits for every epsilon, delta and N: a start phase beyond
10^11 pulls is exact to as many digits.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.mechanisms.gaussian import gaussian_delta
from bandits.parameters import ParameterError, require

PROVED = 1.83  # the largest epsilon for which the printed start phase of DP-FTPL-Beta has a proof
_DEPTH = 45.0  # integrals end where the integrand has fallen by e^-_DEPTH
_NODES, _WEIGHTS = (points / 2 for points in np.polynomial.legendre.leggauss(80))
_NODES = _NODES + 0.5  # Gauss-Legendre on [0, 1]
_RESOLUTION = 1e-12  # relative, of a divergence
_LONGEST = 2**500  # pulls, more than any start phase that does not overflow


@cache
def gauss_paper(epsilon: float, delta: float) -> int:
    """N_G = min{1 / (4 pi delta^2), log(e / (4 pi delta^2)) / epsilon^2} (Wang and Zhu 2024, Theorem 11)."""
    _require_budget(epsilon, delta)
    log_first = -math.log(4 * math.pi) - 2 * math.log(delta)
    return _whole(min(_exp(log_first), _over_square(1 + log_first, epsilon)))


@cache
def beta_paper(epsilon: float, delta: float) -> int:
    """N_B = max{min{40 e / (9 pi delta^2), 8000 log(1 / (25 delta^2)) / (81 epsilon^2)}, 1000 e / (9 pi)}.

    Wang and Zhu 2024, Theorem 13. The proof takes (e^epsilon - 1) / (p + q e^epsilon), p + q = 1 and
    q <= 0.9, to be at least epsilon, which holds for no q > 1/2; with Pinsker's inequality in its sharp form
    epsilon / 2 is enough, and that holds for epsilon <= 1.83. For larger epsilon the bound has no proof and is
    too small for some delta: for (40, 1e-300) it is 97, where `beta_exact` is 128.
    """
    _require_budget(epsilon, delta)
    first = _exp(math.log(40 * math.e / (9 * math.pi)) - 2 * math.log(delta))
    second = _over_square(8000 / 81 * (-math.log(25) - 2 * math.log(delta)), epsilon)
    return _whole(max(min(first, second), 1000 * math.e / (9 * math.pi)))


@cache
def beta_sufficient(epsilon: float, delta: float) -> int:
    """`beta_paper` where it has a proof, for epsilon up to 1.83; for larger epsilon at least `beta_exact`."""
    printed = beta_paper(epsilon, delta)
    return printed if epsilon <= PROVED else max(printed, beta_exact(epsilon, delta))


@cache
def gauss_exact(epsilon: float, delta: float) -> int:
    """The smallest N >= 1 from which on Normal(R / N, variance 2 / N) satisfies Lemma 8."""
    _require_budget(epsilon, delta)
    return _first_at_most(delta, lambda count: gauss_condition(count, epsilon), 1)


@cache
def beta_exact(epsilon: float, delta: float) -> int:
    """The smallest N >= 1 from which on Beta(R + 1 + k, N - R + 1 + k), k = floor(N / 8) + 1, satisfies Lemma 8."""
    _require_budget(epsilon, delta)
    one_sum = _first_at_most(delta, lambda count: beta_condition_of_no_success(count, epsilon), 1)
    return _first_at_most(delta, lambda count: beta_condition(count, epsilon), one_sum)


def gauss_condition(count: int, epsilon: float) -> float:
    """The smallest delta for which Normal(R / N, variance 2 / N), N = `count`, is (`epsilon`, delta)-DP.

    One reward moves it by 1 / sqrt(2 N) standard deviations, so that it is 1 / sqrt(2 N)-GDP.
    """
    _require_profile(count, epsilon)
    return gaussian_delta(1 / math.sqrt(2 * count), epsilon)


def beta_condition(count: int, epsilon: float) -> float:
    """The smallest delta for which DP-FTPL-Beta's law after `count` pulls is (`epsilon`, delta)-DP: max over R.

    The sums R are searched by branch and bound: no pair with R in [first, last] has a larger divergence than
    D(first + 1 + k, N - last + k), as D falls with both arguments. Certified to a relative `_RESOLUTION`.
    """
    _require_profile(count, epsilon)
    k = count // 8 + 1
    best = 0.0
    first, last = np.zeros(1), np.full(1, count - 1.0)  # R of the smaller sum; the other is R + 1
    while len(first):
        middle = np.floor((first + last) / 2)
        best = max(best, float(np.max(beta_divergence(middle + 1 + k, count - middle + k, epsilon))))
        first, last = np.concatenate([first, middle + 1]), np.concatenate([middle, last])
        bound = beta_divergence(first + 1 + k, count - last + k, epsilon)
        open_ = (first <= last) & (bound > best * (1 + _RESOLUTION))
        first, last = first[open_], last[open_]
    return best


def beta_condition_of_no_success(count: int, epsilon: float) -> float:
    """A lower bound on `beta_condition`, usually equal to it: the divergence for R = 0 and R' = 1."""
    k = count // 8 + 1
    return float(beta_divergence(np.array([1.0 + k]), np.array([float(count + k)]), epsilon)[0])


def beta_divergence(a: FloatArray, b: FloatArray, epsilon: float) -> FloatArray:
    """D(a, b) = max over x of F(x) - e^epsilon F'(x), F of Beta(a, b + 1) and F' of Beta(a + 1, b); shapes (n,).

    The densities satisfy f / f' = (1 - x) a / (x b), so the maximum is at x* = a / (a + b e^epsilon). With
    t = logit x* - logit x, D is the integral over t > 0 of the density of t times 1 - e^-t.
    """
    decay = math.exp(-epsilon)
    growth = -math.expm1(-epsilon)
    total = a + b
    star = a * decay / (a * decay + b)
    slope = a * (b * growth - decay) / (a * decay + b)

    def fall(t: FloatArray) -> FloatArray:
        """Log density of t = 0 minus that of t, shape (n, nodes)."""
        w = -np.expm1(-t)
        return (
            a[:, None] * _beyond_linear(t) + slope[:, None] * w - (total[:, None] + 1) * _log_excess(star[:, None] * w)
        )

    low, high = np.full(len(a), math.log(1e-170)), np.full(len(a), math.log(100.0))
    for _ in range(14):
        middle = (low + high) / 2
        deep = fall(np.exp(middle)[:, None])[:, 0] > _DEPTH
        low, high = np.where(deep, low, middle), np.where(deep, middle, high)
    end = np.exp(high)
    t = end[:, None] * _NODES
    integral = end * (np.exp(-fall(t)) * -np.expm1(-t) @ _WEIGHTS)

    divergence = a * _beyond_linear(np.full(1, epsilon)) - total * _log_excess(a / total * growth)  # n KL(a / n, x*)
    log_mass = np.log(total / (2 * math.pi * a * b)) / 2 + _stirling(total) - _stirling(a) - _stirling(b) - divergence
    return np.asarray(a * b / (a * decay + b) * np.exp(log_mass) * integral)


def _beyond_linear(t: FloatArray) -> FloatArray:
    """e^-t - 1 + t >= 0."""
    series = t * t / 2 * (1 - t / 3 * (1 - t / 4 * (1 - t / 5 * (1 - t / 6 * (1 - t / 7 * (1 - t / 8))))))
    return np.where(t < 0.03, series, t + np.expm1(-t))


def _log_excess(y: FloatArray) -> FloatArray:
    """-log(1 - y) - y >= 0."""
    series = np.zeros_like(y)
    for order in range(11, 1, -1):
        series = y * series + 1 / order
    return np.where(y < 0.03, y * y * series, -np.log1p(-y) - y)


def _stirling(z: FloatArray) -> FloatArray:
    """log Gamma(z + 1) minus Stirling's (z + 1/2) log z - z + log(2 pi) / 2."""
    square = z * z
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / z
    small = scipy.special.gammaln(z + 1) - (z + 0.5) * np.log(z) + z - math.log(2 * math.pi) / 2
    return np.where(z < 16, small, series)


def _first_at_most(delta: float, profile: Callable[[int], float], start: int) -> int:
    """The smallest N >= `start` with `profile`(N) <= `delta`, for a profile that never rises."""
    low, high = start - 1, start  # nothing up to `low` is an answer
    while profile(high) > delta:
        low, high = high, 2 * high
        _require_length(high <= _LONGEST)
    while high - low > 1:
        middle = (low + high) // 2
        if profile(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _over_square(numerator: float, epsilon: float) -> float:
    """`numerator` / `epsilon`^2, a negative numerator counting as 0."""
    if numerator <= 0:
        return 0.0
    return numerator / epsilon / epsilon if epsilon > 0 else math.inf


def _whole(count: float) -> int:
    """The smallest whole number of pulls >= `count`, and at least one pull."""
    _require_length(count <= _LONGEST)
    return max(math.ceil(count), 1)


def _require_length(possible: bool) -> None:
    if not possible:
        raise ParameterError("delta", "so small that the start phase is longer than 2^500 pulls")


def _require_profile(count: int, epsilon: float) -> None:
    require(count >= 1, "count", count, "a whole number >= 1")
    require(math.isfinite(epsilon) and epsilon >= 0, "epsilon", epsilon, "a finite number >= 0")


def _require_budget(epsilon: float, delta: float) -> None:
    require(math.isfinite(epsilon) and epsilon >= 0, "epsilon", epsilon, "a finite number >= 0")
    if delta == 0:
        raise ParameterError("delta", "must be > 0: no start phase is enough for delta = 0; DP-FTPL-New works there")
    require(0 < delta < 1, "delta", delta, "a number > 0 and < 1")
