"""Pulls of the worse of two arms with constant rewards, by a perturbed leader with Gaussian values (DP-FTPL-Gauss).

Both arms are pulled `start` times. Then the value of an arm with N pulls is Normal(its mean reward, variance / N),
drawn anew at every step, and the arm with the larger value is pulled (Wang and Zhu 2024, Algorithm 1, has variance 2;
Agrawal and Goyal 2013 have 1). As rewards never vary, the pulls n of the worse arm are a Markov chain that only grows:
after t - 1 steps it grows with probability q_n(t) = Phi(-gap / sqrt(variance (1/n + 1/(t - 1 - n)))), which falls as t
grows.

The first steps are computed one by one, later ones in windows in which q_n(t) is replaced by its value at the end of
the window, for a lower bound, and at its beginning, for an upper bound. Of two chains that grow by one at a time, the
one with smaller probabilities everywhere never overtakes the other, so both bounds are rigorous up to rounding.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bandits.arrays import FloatArray
from bandits.parameters import require

_STEPS = 2**12  # steps that are computed one by one
_LAST = 2**27  # from this step on there is one window: q_n(t) changes by a relative 1e-4 or less
_NEVER = 1e-12  # expected pulls beyond the largest n of the chain
_LARGEST = 2000  # limit of this n, as matrices have n^2 entries


class PullBounds(NamedTuple):
    """Expected pulls at each horizon lie between `low` and `high`, shapes (horizons,)."""

    low: FloatArray
    high: FloatArray


def fixed_rewards_pulls(gap: float, start: int, horizons: Sequence[int], value_variance: float = 2.0) -> PullBounds:
    """Expected pulls of the worse of two arms with never varying rewards, start phase included, at increasing horizons.

    Parameters
    ----------
    gap: of the mean rewards, > 0; tiny gaps are refused.
    start: pulls of each arm before the first comparison, >= 1.
    horizons: steps, increasing, each at least 2 x `start`.
    value_variance: variance of a value times pulls of its arm.
    """
    require(0 < gap < math.inf, "gap", gap, "a number > 0")
    require(start >= 1, "start", start, "a whole number >= 1")
    require(0 < value_variance < math.inf, "value_variance", value_variance, "a number > 0")
    increasing = all(a < b for a, b in pairwise(horizons))
    enough = bool(horizons) and horizons[0] >= 2 * start and increasing
    require(enough, "horizons", list(horizons), f"increasing, from {2 * start} on")
    reach = value_variance * (float(ndtri(_NEVER / horizons[-1])) / gap) ** 2
    require(reach <= _LARGEST, "gap", gap, f"larger: pulls up to {reach:.0f} would have to be computed")
    pulls = np.arange(start, max(start + 1, math.ceil(reach)) + 1)
    exact = np.zeros(len(pulls))
    exact[0] = 1.0  # the law of n after 2 start steps

    def growth(t: float) -> FloatArray:
        """q_n(t + 1), at most 1/2 for n > t, and 0 for the largest n of the chain."""
        other = np.maximum(t - pulls, 1e-300)
        chance = ndtr(-gap / np.sqrt(value_variance * (1 / pulls + 1 / other)))
        chance[-1] = 0.0
        return np.asarray(chance)

    laws = [exact, exact]
    low, high = np.zeros(len(horizons)), np.zeros(len(horizons))
    done = 2 * start
    for place, horizon in enumerate(horizons):
        while done < horizon:
            if done < max(_STEPS, 4 * start):
                laws = [_grow(laws[0], growth(done))] * 2
                done += 1
                continue
            end = horizon if done >= _LAST else min(horizon, 1 << done.bit_length())
            ends = (end, done) if done < _LAST else (math.inf, done)
            laws = [_grow_often(law, growth(t), end - done) for law, t in zip(laws, ends, strict=True)]
            done = end
        low[place], high[place] = (float(law @ pulls) for law in laws)
    return PullBounds(low, high + _NEVER)


def _grow(law: FloatArray, chance: FloatArray) -> FloatArray:
    moved = law * chance
    after = law - moved
    after[1:] += moved[:-1]
    return after


def _grow_often(law: FloatArray, chance: FloatArray, steps: int) -> FloatArray:
    """The law after `steps` steps of the matrix 1 + C, by squaring; only C is stored, to keep tiny probabilities."""
    change = np.diag(-chance) + np.diag(chance[:-1], 1)
    while steps:
        if steps & 1:
            law = law + law @ change
        steps >>= 1
        if steps:
            change = 2 * change + change @ change
    return law
