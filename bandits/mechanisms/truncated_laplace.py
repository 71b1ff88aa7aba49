"""The truncated Laplace distribution of DP-FTPL-New, which meets the privacy condition with equality.

Around the center x0 of a mean of `count` = N rewards, with c = delta / (e^epsilon - 1),

    F(x) = (1/2 + c) e^{N epsilon (x - x0)} - c    on [x0 - A, x0], mirrored above,
    A = log((e^epsilon - 1) / (2 delta) + 1) / (N epsilon)

(Wang and Zhu 2024, Lemma 15). delta = 0 is Laplace noise of scale 1 / (N epsilon), epsilon = 0 the uniform distribution
on x0 +- 1 / (2 N delta). The distribution for N rewards is that for one reward, scaled by 1 / N, so it is computed for
N = 1 and divided by N.

e^epsilon enters as e^-epsilon, and differences as expm1 and log1p: nothing overflows and nothing
cancels between epsilon = 0 and 10^6, delta = 0 and 1.
"""

import math
from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray
from bandits.compiled import compiled
from bandits.parameters import require

_LARGE = 1e100  # a tail constant from which the law is uniform to the last bit


def tail_constant(epsilon: float, delta: float) -> float:
    """c = delta / (e^epsilon - 1), infinite for epsilon = 0: an argument of `offset`, computed once."""
    if delta == 0:
        return 0.0
    growth = -math.expm1(-epsilon)
    return delta * math.exp(-epsilon) / growth if growth > 0 else math.inf


@compiled
def offset(uniform: float, epsilon: float, delta: float, constant: float) -> float:
    """The quantile of level `uniform` of N (x - x0); `constant` is `tail_constant(epsilon, delta)`.

    With a uniform random level, x0 + offset / N is one draw. It is
    -sign(uniform - 1/2) / epsilon * log((w + c) / (1/2 + c)), w = min(uniform, 1 - uniform). Infinite only for
    w = 0 and c = 0 (or c < 10^-323).
    """
    tail = min(uniform, 1.0 - uniform)
    if constant > _LARGE:
        size = (0.5 - tail) / delta
    else:
        share = (0.5 - tail) / (0.5 + constant)
        log = math.log1p(-share) if share < 0.5 else math.log((tail + constant) / (0.5 + constant))
        size = -log / epsilon
    return size if uniform > 0.5 else -size


@compiled
def upper_tail(distance: float, epsilon: float, delta: float, constant: float) -> float:
    """Pr[N (x - x0) > distance], e^-y / 2 - c (1 - e^-y) with y = epsilon distance, where that is positive."""
    size = abs(distance)
    decay = math.expm1(-epsilon * size)
    cut = delta * size if constant > _LARGE else -constant * decay
    tail = max(0.0, 0.5 * (1.0 + decay) - cut)
    return tail if distance > 0 else 1.0 - tail


@compiled
def _offsets(uniforms: FloatArray, epsilon: float, delta: float, constant: float) -> FloatArray:
    offsets = np.empty_like(uniforms)
    for index, uniform in enumerate(uniforms):
        offsets[index] = offset(uniform, epsilon, delta, constant)
    return offsets


def optimistic_center(mean: float, count: float, horizon: float, epsilon: float, delta: float) -> float:
    """x0 of DP-FTPL-New after `count` rewards with this mean (Wang and Zhu 2024, section 6.3).

    mean + sqrt(log T / N) + log((T (e^epsilon - 1) + 2 T delta) / (2 (e^epsilon - 1) + 2 T delta)) / (N epsilon),
    so high that a draw falls short of mean + sqrt(log T / N) with probability 1 / T.
    """
    _require_budget(epsilon, delta)
    require(count > 0, "count", count, "a number > 0")
    require(math.isfinite(horizon) and horizon >= 1, "horizon", horizon, "a finite number >= 1")
    return mean + math.sqrt(math.log(horizon) / count) + optimism(horizon, epsilon, delta) / count


def optimism(horizon: float, epsilon: float, delta: float) -> float:
    """N times the last term of `optimistic_center`; (T - 2) / (2 T delta) for epsilon = 0."""
    growth = -math.expm1(-epsilon)
    if growth == 0 or tail_constant(epsilon, delta) > _LARGE:
        return (horizon - 2) / (2 * horizon * delta)
    return math.log1p((horizon - 2) * growth / (2 * growth + 2 * horizon * delta * math.exp(-epsilon))) / epsilon


@dataclass(frozen=True)
class TruncatedLaplace:
    """The law of one draw around `center`, from `count` rewards in [0, 1].

    Guarantee: a draw is (`epsilon`, `delta`)-DP when one reward changes, which moves the center by at
    most 1 / `count` (Wang and Zhu 2024, Lemma 15); for delta <= 1/2 this is tight. Scope: this one draw.
    Raises `ParameterError` for parameters out of range; `epsilon` and `delta` are not both zero.
    """

    epsilon: float
    delta: float
    count: float
    center: float

    def __post_init__(self) -> None:
        _require_budget(self.epsilon, self.delta)
        require(math.isfinite(self.count) and self.count > 0, "count", self.count, "a finite number > 0")
        require(math.isfinite(self.center), "center", self.center, "a finite number")

    @property
    def half_width(self) -> float:
        """A: the support is center +- A, infinite for delta = 0."""
        if self.delta == 0:
            return math.inf
        constant = tail_constant(self.epsilon, self.delta)
        if constant > _LARGE:
            return 1 / (2 * self.delta) / self.count
        if constant > 1e-17:
            return math.log1p(1 / (2 * constant)) / self.epsilon / self.count
        log_growth = math.log(-math.expm1(-self.epsilon))
        return (self.epsilon + log_growth - math.log(2) - math.log(self.delta)) / self.epsilon / self.count

    def pdf(self, x: float | FloatArray) -> FloatArray:
        """Density at `x`, of the same shape."""
        distance = np.abs(np.asarray(x, dtype=np.float64) - self.center)
        constant = tail_constant(self.epsilon, self.delta)
        peak = self.delta if constant > _LARGE else self.epsilon * (0.5 + constant)  # the density times N
        return np.where(distance <= self.half_width, self.count * peak * np.exp(-self._exponent(distance)), 0.0)

    def cdf(self, x: float | FloatArray) -> FloatArray:
        """Pr[draw <= x], of the shape of `x`."""
        difference = np.asarray(x, dtype=np.float64) - self.center
        tail = self._tail(np.abs(difference))
        return np.where(difference > 0, 1.0 - tail, tail)

    def inverse(self, level: float | FloatArray) -> FloatArray:
        """The x with Pr[draw <= x] = `level`, of the shape of `level`."""
        levels = np.asarray(level, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError("a level is a number from 0 to 1")
        constant = tail_constant(self.epsilon, self.delta)
        offsets = _offsets(levels.ravel(), self.epsilon, self.delta, constant)
        distances = offsets.reshape(levels.shape) / self.count
        return self.center + np.clip(distances, -self.half_width, self.half_width)

    def sample(self, rng: np.random.Generator) -> float:
        """One draw."""
        constant = tail_constant(self.epsilon, self.delta)
        return self.center + offset(rng.random(), self.epsilon, self.delta, constant) / self.count

    def _exponent(self, distance: FloatArray) -> FloatArray:
        return np.minimum(self.count * self.epsilon * distance, 800.0)  # e^-800 = 0

    def _tail(self, distance: FloatArray) -> FloatArray:
        """Pr[draw < center - distance] = e^-y / 2 - c (1 - e^-y), y = N epsilon distance."""
        constant = tail_constant(self.epsilon, self.delta)
        if constant > _LARGE:
            cut = self.delta * self.count * distance
        else:
            cut = -constant * np.expm1(-self._exponent(distance))
        inside = np.maximum(np.exp(-self._exponent(distance)) / 2 - cut, 0.0)
        return np.where(distance < self.half_width, inside, 0.0)


def _require_budget(epsilon: float, delta: float) -> None:
    require(math.isfinite(epsilon) and epsilon >= 0, "epsilon", epsilon, "a finite number >= 0")
    require(0 <= delta < 1, "delta", delta, "a number >= 0 and < 1")
    require(epsilon > 0 or delta > 0, "delta", delta, "> 0 where epsilon is 0")
