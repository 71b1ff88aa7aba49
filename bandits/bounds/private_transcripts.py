"""Two arms whose losses never vary: what a private transcript costs, more than private decisions. Ours.

Proofs: private_transcripts.md, 2.6 and 2.7. `epsilon` is the budget of the whole transcript, one loss vector changed.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, diags_array, vstack

from bandits.arrays import BoolArray, FloatArray, IntArray
from bandits.bounds.never_varying import two_armed_lower_bound
from bandits.parameters import require, require_epsilon

SPAN = 32.0  # epsilon times the steps of the linear programmes: beyond, an error is below e^-16
MOST_STEPS = 4096  # of the programme with one split
MOST_TWICE = 640  # of that with two, which has more inequalities
BROKEN = 1e-7  # an inequality that fails by more enters the programme
ROUNDS = 10  # in which inequalities enter
KEPT = 100  # solutions: a longer horizon often needs the same steps


def transcript_lower_bound(epsilon: float, horizon: float, gap: float = 1.0) -> float:
    """Regret of every policy with an epsilon-private transcript, on two arms (private_transcripts.md, 2.6).

    On one of the two instances with losses (0, gap) or (gap, 0) at every step: gap / 2 times the sum of `least_errors`
    over the first min(T, 32 / epsilon, 4096) steps, and what `two_armed_lower_bound` adds after them. For T = 3 it is
    gap (1/2 + 2 / (1 + e^epsilon)), and no larger bound holds; for T >= 4 `twice_split_lower_bound` is larger. For
    small epsilon (down to about 0.01, where 4096 steps are enough) and T = infinity it is about 1.2646 gap / epsilon.
    """
    steps = _steps(epsilon, horizon, MOST_STEPS)
    return gap / 2 * float(least_errors(epsilon, steps).sum()) + _later(epsilon, horizon, steps, gap)


def twice_split_lower_bound(epsilon: float, horizon: float, gap: float = 1.0) -> float:
    """The same by splits at two earlier arms (private_transcripts.md, 2.7), over at most 640 steps: a larger bound.

    It is exact for T = 4 where epsilon >= log(3) / 2, gap (1/2 + 2r + 2r^2) with r = 1 / (1 + e^epsilon), and for T = 5
    where epsilon >= log(5) / 2, gap (1/2 + 2r + 4r^2). For epsilon = 1/20 and T = infinity it is 1.344 gap / epsilon.
    For a smaller epsilon 640 steps are too few; the bound with one split is returned where that is larger.
    """
    steps = _steps(epsilon, horizon, MOST_TWICE)
    twice = gap / 2 * float(least_errors_twice_split(epsilon, steps).sum()) + _later(epsilon, horizon, steps, gap)
    return max(twice, transcript_lower_bound(epsilon, horizon, gap))


def _steps(epsilon: float, horizon: float, most: int) -> int:
    require_epsilon(epsilon)
    require(horizon >= 1, "horizon", horizon, "a number of steps, at least 1")
    return int(min(horizon, most, max(math.ceil(SPAN / epsilon), 3)))


def _later(epsilon: float, horizon: float, steps: int, gap: float) -> float:
    """What private decisions cost after the first `steps`."""
    from_choices = two_armed_lower_bound(epsilon, horizon, gap)
    return from_choices - two_armed_lower_bound(epsilon, steps, gap) if horizon > steps else 0.0


@dataclass(frozen=True)
class _Splits:
    """Inequalities e_n >= share (4 - 2 e_early - growth e_late), one in each row; shapes (inequalities,).

    A split at the late arm alone has early = 0 and growth 1, as e_0 = 1.
    """

    n: IntArray
    share: FloatArray
    early: IntArray
    growth: FloatArray
    late: IntArray

    def broken(self, errors: FloatArray) -> FloatArray:
        """How far each inequality fails."""
        return self.share * (4 - 2 * errors[self.early] - self.growth * errors[self.late]) - errors[self.n]

    def least(self, of_choices: FloatArray, kept: BoolArray) -> FloatArray:
        """The e with the least sum that satisfy the `kept`, are at least `of_choices`, and do not increase."""
        rows, steps = np.flatnonzero(kept), len(of_choices)
        share = self.share[rows]
        entries = np.concatenate([-np.ones(rows.size), -2 * share, -share * self.growth[rows]])
        columns = np.concatenate([self.n[rows], self.early[rows], self.late[rows]])
        split = coo_array((entries, (np.tile(np.arange(rows.size), 3), columns)), shape=(rows.size, steps))
        falls = diags_array([-1.0, 1.0], offsets=[0, 1], shape=(steps - 1, steps))
        limits: Any = vstack([split, falls]).tocsr()  # the types of linprog know dense matrices only
        ends = np.concatenate([-4 * share, np.zeros(steps - 1)])
        between = [(float(least), 1.0) for least in of_choices]
        return np.asarray(linprog(np.ones(steps), limits, ends, bounds=between, method="highs").x)


@lru_cache(maxsize=KEPT)
def least_errors(epsilon: float, steps: int) -> FloatArray:
    """Errors e_n with the least sum that the inequalities of 2.6 allow, n = 0, ..., steps - 1, shape (steps,).

    e_n is the probability of the worse arm after n loss vectors, added up over both instances. It does not increase, is
    at least g(n) of 2.5, and at least e^(-epsilon j) (2 - e_j) for j = n / 2, rounded up. The inequalities for other j
    change nothing: those for smaller j follow, and those for larger j changed the sum nowhere that we looked. By linear
    programming, within about 1e-7 a step. Not to be changed, as it is kept for the next horizon.
    """
    of_choices = _of_choices(epsilon, steps, MOST_STEPS)
    if steps < 3:
        return of_choices
    late = np.arange(2, steps)
    half = (late + 1) // 2
    once = _Splits(late, np.exp(-epsilon * half), np.zeros_like(late), np.ones(late.size), half)
    return once.least(of_choices, np.ones(late.size, dtype=bool))


@lru_cache(maxsize=KEPT)
def least_errors_twice_split(epsilon: float, steps: int) -> FloatArray:
    """The same for the inequalities of 2.7: e_n >= g(n) (4 - 2 e_i - e^(epsilon i) e_j), j = min(n - 1, n // 2 + i).

    For 0 <= i <= n // 2. Those of 2.7 with a larger m changed the sum nowhere that we looked. The programme begins with
    i = 0, and takes for each n the inequality that fails most, at most `ROUNDS` times: fewer give a smaller sum.
    """
    of_choices = _of_choices(epsilon, steps, MOST_TWICE)
    if steps < 3:
        return of_choices
    n, early = (axis.ravel() for axis in np.meshgrid(np.arange(2, steps), np.arange(steps // 2 + 1), indexing="ij"))
    apart = (early <= n // 2) & (early < n - 1)
    n, early = n[apart], early[apart]
    twice = _Splits(n, of_choices[n], early, np.exp(epsilon * early), np.minimum(n - 1, n // 2 + early))
    kept: BoolArray = early == 0
    errors = twice.least(of_choices, kept)
    for _ in range(ROUNDS):
        broken = np.where(kept, 0.0, twice.broken(errors))
        most = np.full(steps, BROKEN)
        np.maximum.at(most, n, broken)
        kept |= broken >= most[n]
        errors = twice.least(of_choices, kept)
    return errors


def _of_choices(epsilon: float, steps: int, most: int) -> FloatArray:
    """g(n) of 2.5 for n = 0, ..., steps - 1."""
    require_epsilon(epsilon)
    require(1 <= steps <= most, "steps", steps, f"a whole number in 1..{most}")
    errors: FloatArray = np.exp(-epsilon * (np.arange(steps) // 2))
    errors[1::2] *= 2 / (math.exp(min(epsilon, 700.0)) + 1)
    return errors
