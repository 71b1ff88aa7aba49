"""Expected regret of RNM-FTNL (Wu and Wang 2025, Algorithm 1), computed instead of simulated.

The arm J_0 is uniform. During the steps 2^(r-1), ..., 2^r - 1 the policy plays J_(r-1), sums the losses of each
arm into G and takes J_r = argmax_j -G_j + Q_j. So J_r depends on the losses of its epoch only, and

    E regret(T) = sum over r of (steps of epoch r up to T) * (sum over arms of gap * Pr[J_(r-1) is the arm]).

G_j is fixed for deterministic losses and binomial for Bernoulli losses, and the probabilities are integrals over one
variable. Arms come in groups of equal mean, so their number does not matter.

Noise, independent for all arms: Laplace(2/epsilon) (Hu, Huang and Mehta 2021), Gumbel(2/epsilon), the
exponential law with scale 1/epsilon (calibration "printed", Theorems 2 and 4) or 2/epsilon ("proved": a changed loss
vector moves every value by up to 1 in either direction), or none: follow the leader of the last epoch, ties broken
uniformly.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray, IntArray
from bandits.exact.noisy_values import (
    LARGEST_LATTICE,
    Binomial,
    FixedValues,
    LatticeValues,
    QuadratureError,
    binomial_reach,
    require_work,
)
from bandits.exact.winners import fixed_winners, gumbel_winners, lattice_winners
from bandits.parameters import require, require_arms, require_epsilon

__all__ = [
    "RELATIVE_ERROR",
    "SMALLEST",
    "QuadratureError",
    "expected_regret",
    "expected_regret_curve",
    "selection_probabilities",
]

RELATIVE_ERROR = 1e-8
SMALLEST = 1e-30  # probabilities down to which `selection_probabilities` is precise
LONGEST = 2**60  # steps

_NEGLIGIBLE = 1e-12  # error in the regret of one epoch, relative to the regret before it
_NOISES = ("laplace", "gumbel", "exponential", "none")
_LOSSES = ("deterministic", "bernoulli")
_CALIBRATIONS = ("printed", "proved")
_TILTS = np.concatenate([np.logspace(-9, -0.5, 35), 1 - np.logspace(-0.5, -3.9, 15)])  # in units of 1 / scale
_FREE_TILTS = np.logspace(-9, 2.5, 60)  # suit binomial sums


def expected_regret(
    means: ArrayLike,
    counts: ArrayLike,
    noise: str,
    epsilon: float,
    horizon: int,
    losses: str = "deterministic",
    resample: bool = False,
    calibration: str = "printed",
) -> float:
    """Expected pseudo-regret up to step `horizon`; see `expected_regret_curve`."""
    return float(expected_regret_curve(means, counts, noise, epsilon, [horizon], losses, resample, calibration)[0])


def expected_regret_curve(
    means: ArrayLike,
    counts: ArrayLike,
    noise: str,
    epsilon: float,
    checkpoints: Sequence[int],
    losses: str = "deterministic",
    resample: bool = False,
    calibration: str = "printed",
) -> FloatArray:
    """Expected pseudo-regret up to each of the increasing steps `checkpoints`, shape (checkpoints,).

    Parameters
    ----------
    means, counts: mean loss of the arms of each group and the number of these arms, shapes (groups,).
    noise: "laplace", "gumbel", "exponential" or "none".
    losses: "deterministic", or "bernoulli" for losses 0 and 1.
    resample: replace every loss by a Bernoulli variable with that mean (B = 1), which Bernoulli losses already are.
    calibration: scale of exponential noise, "printed" or "proved".

    The relative error is at most `RELATIVE_ERROR`. Raises `ParameterError`, or `QuadratureError` if this error cannot
    be reached or the computation would take too long.
    """
    game, _ = merged_groups(means, counts, noise, epsilon, losses, resample, calibration)
    return epoch_curve(game, checkpoints, game.expected_gap)


def epoch_curve(game: "Game", checkpoints: Sequence[int], gap_after: Callable[[int, float], float]) -> FloatArray:
    """Expected pseudo-regret at `checkpoints`.

    `gap_after(steps, floor)` is the expected gap of the choice after an epoch of `steps` steps, with errors of a few
    `floor` in probabilities.
    """
    steps = checked_steps(checkpoints)
    gaps = game.gaps
    regret = np.zeros(len(steps))
    if gaps[-1] == 0:
        return regret
    before, first, gap = 0.0, 1, float(gaps @ game.counts / game.counts.sum())
    while first <= steps[-1]:  # an epoch: steps `first` to 2 first - 1
        regret += gap * np.clip(steps - first + 1, 0, first)
        before += gap * first
        gap = gap_after(first, _NEGLIGIBLE * before / (2.0 * first * float(gaps[-1])))
        first *= 2
    return regret


def selection_probabilities(
    means: ArrayLike,
    counts: ArrayLike,
    noise: str,
    epsilon: float,
    rounds: int,
    losses: str = "deterministic",
    resample: bool = False,
    calibration: str = "printed",
) -> FloatArray:
    """Probability that J_r is an arm of each group after an epoch of `rounds` losses, shape (groups,).

    Error: at most `RELATIVE_ERROR` of the probability itself, plus 10 `SMALLEST`.
    """
    game, group = merged_groups(means, counts, noise, epsilon, losses, resample, calibration)
    require(1 <= rounds <= LONGEST, "rounds", rounds, "a whole number in [1, 2^60]")
    share = np.asarray(counts, dtype=np.float64) / game.counts[group]
    return np.asarray(game.winners(int(rounds), SMALLEST)[group] * share)


@dataclass(frozen=True)
class Game:
    """Groups of arms, means increasing, and the noise; sums of losses are binomial if `binomial`, else fixed."""

    means: FloatArray
    counts: FloatArray
    noise: str
    scale: float
    binomial: bool

    @property
    def gaps(self) -> FloatArray:
        return np.asarray(self.means - self.means[0])

    def expected_gap(self, rounds: int, floor: float) -> float:
        """The expected gap of the arm selected after `rounds` loss vectors, with errors of a few `floor`."""
        return float(self.gaps @ self.winners(rounds, floor))

    def winners(self, rounds: int, floor: float) -> FloatArray:
        """Probability that an arm of each group is selected, with errors of a few `floor`."""
        if self.noise == "gumbel" and not self.binomial:
            # A softmax; the paper's proof of Theorem 4 prints exp(-epsilon G), which belongs to Gumbel(1/epsilon).
            weights = self.counts * np.exp(-rounds * self.gaps / self.scale)
            return np.asarray(weights / weights.sum())
        chances = np.zeros(len(self.means))
        # Leaving out a group changes the winner only if the group would have won.
        possible = self._log_bounds(rounds) > math.log(floor / len(self.means))
        possible[0] = True
        if possible.sum() == 1:
            chances[0] = 1.0
        else:
            kept = Game(self.means[possible], self.counts[possible], self.noise, self.scale, self.binomial)
            chances[possible] = (
                kept._binomial_winners(rounds, floor) if self.binomial else kept._fixed_winners(rounds, floor)
            )
        return chances

    def _fixed_winners(self, rounds: int, floor: float) -> FloatArray:
        values = FixedValues(rounds * self.gaps, self.counts, self.scale, self.noise == "exponential")
        return fixed_winners(values, floor)

    def _binomial_winners(self, rounds: int, floor: float) -> FloatArray:
        cut = floor / float(self.counts.sum())
        reach = sum(min(2 * binomial_reach(rounds, float(mean), cut), rounds) for mean in self.means)
        require_work(reach, LARGEST_LATTICE, "values of binomial sums")
        origin = round(rounds * float(self.means[0]))
        sums = tuple(Binomial(rounds, float(mean), cut, origin) for mean in self.means)
        # Noise that stays below 1/2 everywhere cannot change the order of two different sums.
        bridges = self.scale * math.log(2 * float(self.counts.sum()) / floor) > 0.5
        if self.noise == "gumbel" and bridges:
            return gumbel_winners(sums, self.counts, self.scale, floor)
        return lattice_winners(LatticeValues(sums, self.counts, self.noise if bridges else "none", self.scale), floor)

    def _log_bounds(self, rounds: int) -> FloatArray:
        """Log of Chernoff's bound on the probability that some arm of a group beats one best arm, shape (groups,).

        Pr[V_g >= V_1] <= E exp(tilt (V_g - V_1)) for every tilt > 0 for which the expectation is finite.
        """
        if self.noise == "none" and not self.binomial:
            return np.where(self.gaps > 0, -math.inf, 0.0)
        units = _FREE_TILTS * self.scale if self.noise == "none" else _TILTS
        if self.binomial and self.noise != "none":
            units = np.concatenate([units, _FREE_TILTS * self.scale])
            units = units[units < 1 - 1e-4]
        noise = _log_noise_moments(self.noise, units)
        tilts = np.minimum(units / self.scale, 500.0)  # still a bound, if the tilt is smaller than in the moments
        best, mean = self.means[0], self.means[:, None]
        losses = _log_moment(best, tilts) + _log_moment(mean, -tilts) if self.binomial else -tilts * (mean - best)
        return np.asarray(np.log(self.counts) + np.minimum((rounds * losses + noise).min(axis=1), 0))


def _log_moment(mean: float | FloatArray, tilts: FloatArray) -> FloatArray:
    """Log of E exp(tilt X), X Bernoulli with this mean."""
    small = np.log1p(mean * np.expm1(np.clip(tilts, -0.5, 0.5)))
    return np.where(np.abs(tilts) < 0.5, small, np.log((1 - mean) + mean * np.exp(tilts)))


def _log_noise_moments(noise: str, units: FloatArray) -> FloatArray:
    """Log of E exp(tilt Q) E exp(-tilt Q), tilt in units of 1 / scale and below 1."""
    if noise == "none":
        return np.zeros_like(units)
    if noise == "gumbel":
        return np.asarray(np.log(math.pi * units / np.sin(math.pi * units)))
    return np.asarray(-(2 if noise == "laplace" else 1) * np.log1p(-units * units))


def merged_groups(
    means: ArrayLike, counts: ArrayLike, noise: str, epsilon: float, losses: str, resample: bool, calibration: str
) -> tuple[Game, IntArray]:
    """The game with groups of equal means merged, and the index of each group in it, shape (groups,)."""
    mean, count = np.asarray(means, dtype=np.float64), np.asarray(counts)
    require(mean.ndim == 1 and mean.shape == count.shape, "counts", count.shape, f"of the means' shape {mean.shape}")
    require(bool(np.all((mean >= 0) & (mean <= 1))), "means", mean, "in [0, 1]")
    whole = np.isfinite(count) & (count >= 1) & (count == np.floor(count))
    require(bool(np.all(whole)), "counts", count, "whole numbers >= 1")
    require_arms(int(count.sum()))
    require(noise in _NOISES, "noise", noise, f"one of {', '.join(_NOISES)}")
    require_epsilon(epsilon)
    require(losses in _LOSSES, "losses", losses, f"one of {', '.join(_LOSSES)}")
    require(calibration in _CALIBRATIONS, "calibration", calibration, f"one of {', '.join(_CALIBRATIONS)}")
    different, group = np.unique(mean, return_inverse=True)
    together = np.bincount(group, weights=count.astype(np.float64)).astype(np.float64)
    scale = (1 if noise == "exponential" and calibration == "printed" else 2) / epsilon
    return Game(different, together, noise, scale, resample or losses == "bernoulli"), group


def checked_steps(checkpoints: Sequence[int]) -> IntArray:
    """`checkpoints` as an array. Raises `ParameterError` unless they increase within [1, `LONGEST`]."""
    steps = np.asarray(checkpoints, dtype=np.int64)
    allowed = steps.ndim == 1 and len(steps) > 0 and bool(np.all(np.diff(steps) > 0))
    require(allowed and steps[0] >= 1 and steps[-1] <= LONGEST, "horizon", checkpoints, "increasing, in [1, 2^60]")
    return steps
