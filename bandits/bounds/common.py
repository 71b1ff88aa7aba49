"""Checks of arguments that several bounds share."""

import numpy as np
from numpy.typing import ArrayLike

from bandits.arrays import FloatArray
from bandits.parameters import require, require_epsilon


def suboptimal_gaps(gaps: FloatArray) -> FloatArray:
    """The gaps above 0."""
    return gaps[gaps > 0]


def require_gaps(gaps: FloatArray) -> None:
    """Refuse gaps outside (0, 1], and no gaps at all."""
    within = len(gaps) > 0 and bool(np.all((gaps > 0) & (gaps <= 1)))
    require(within, "gaps", list(gaps), "numbers in (0, 1], one for each suboptimal arm")


def require_gap(gap: float) -> None:
    """Refuse a gap outside (0, 1]."""
    require(0 < gap <= 1, "gap", gap, "a number in (0, 1]")


def require_horizon(horizon: float) -> None:
    """Refuse fewer than 2 steps, so that log(horizon) > 0; infinity is allowed, for bounds that have a limit."""
    require(horizon >= 2, "horizon", horizon, "a number of steps, at least 2")


def require_small_epsilon(epsilon: float) -> None:
    """Refuse epsilon above 1, for which Tao et al. (2022) prove nothing."""
    require_epsilon(epsilon)
    require(epsilon <= 1, "epsilon", epsilon, "at most 1, as the theorem assumes")


def two_point_means(means: ArrayLike) -> FloatArray:
    """The means of Theorem 8 of Tao et al. (2022), which keep all moments at most 1, as an array."""
    array = np.asarray(means, dtype=np.float64)
    require(array.size > 0 and bool(((array > 0) & (array <= 0.5)).all()), "means", means, "numbers in (0, 0.5]")
    suboptimal = array[array < array.max()]
    shares = (array.max() - suboptimal) / suboptimal
    within = len(shares) > 0 and bool(((shares >= 0.2 - 1e-12) & (shares <= 0.5 + 1e-12)).all())
    require(within, "means", means, "with gaps from 1/5 to 1/2 of the arm's own mean")
    return array
