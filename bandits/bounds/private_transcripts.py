"""Two arms whose losses never vary: what a private transcript costs, more than private decisions. Ours.

Proof: private_transcripts.md, 2.6. `epsilon` is the budget of the whole transcript, one loss vector changed.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, diags_array, vstack

from bandits.arrays import FloatArray
from bandits.bounds.never_varying import two_armed_lower_bound
from bandits.parameters import require, require_epsilon

SPAN = 32.0  # epsilon times the steps of the linear programme: beyond, an error is below e^-16
MOST_STEPS = 4096  # of the linear programme


def transcript_lower_bound(epsilon: float, horizon: float, gap: float = 1.0) -> float:
    """Regret of every policy with an epsilon-private transcript, on two arms (private_transcripts.md, 2.6).

    On one of the two instances with losses (0, gap) or (gap, 0) at every step: gap / 2 times the sum of `least_errors`
    over the first min(T, 32 / epsilon, 4096) steps, and what `two_armed_lower_bound` adds after them. For T = 3 it is
    gap (1/2 + 2 / (1 + e^epsilon)), and no larger bound holds; for T >= 4 larger ones do. For small epsilon (down to
    about 0.01, where 4096 steps are enough) and T = infinity it is about 1.2646 gap / epsilon.
    """
    from_choices = two_armed_lower_bound(epsilon, horizon, gap)
    steps = int(min(horizon, MOST_STEPS, max(math.ceil(SPAN / epsilon), 3)))
    later = from_choices - two_armed_lower_bound(epsilon, steps, gap) if horizon > steps else 0.0
    return gap / 2 * float(least_errors(epsilon, steps).sum()) + later


def least_errors(epsilon: float, steps: int) -> FloatArray:
    """Errors e_n with the least sum that the inequalities of 2.6 allow, n = 0, ..., steps - 1, shape (steps,).

    e_n is the probability of the worse arm after n loss vectors, added up over both instances. It does not increase, is
    at least g(n) of 2.5, and at least e^(-epsilon j) (2 - e_j) for j = n / 2, rounded up. The inequalities for other j
    change nothing: those for smaller j follow, and those for larger j changed the sum nowhere that we looked. By linear
    programming, within about 1e-7 a step.
    """
    require_epsilon(epsilon)
    require(1 <= steps <= MOST_STEPS, "steps", steps, f"a whole number in 1..{MOST_STEPS}")
    step = np.arange(steps)
    of_choices: FloatArray = np.exp(-epsilon * (step // 2))
    of_choices[1::2] *= 2 / (math.exp(min(epsilon, 700.0)) + 1)
    if steps < 3:
        return of_choices
    late = step[2:]
    half = (late + 1) // 2
    share = np.exp(-epsilon * half)
    row = np.arange(late.size)
    entries = np.concatenate([-np.ones(late.size), -share])
    split = coo_array((entries, (np.tile(row, 2), np.concatenate([late, half]))), shape=(late.size, steps))
    falls = diags_array([-1.0, 1.0], offsets=[0, 1], shape=(steps - 1, steps))
    limits: Any = vstack([split, falls]).tocsr()  # the types of linprog know dense matrices only
    ends = np.concatenate([-2 * share, np.zeros(steps - 1)])
    between = [(float(least), 1.0) for least in of_choices]
    return np.asarray(linprog(np.ones(steps), limits, ends, bounds=between, method="highs").x)
