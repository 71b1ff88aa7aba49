"""The exact regret of RNM-FTNL(0, Gumbel) where all suboptimal arms share one tiny gap and losses never vary.

In units of the scale b = 2 / epsilon let y = s gap / b after s loss vectors. The next epoch costs 2 b y g(y), where
g(y) = (K-1) e^-y / (1 + (K-1) e^-y) is the probability of a suboptimal arm. As the gap goes to 0 the values of y become
all y 2^m, m an integer: regret depends on the gap only through the `place` y in [1, 2) of this lattice.
"""

import math

import numpy as np

from bandits.arrays import FloatArray
from bandits.parameters import require

_PLACES = 4001
_EPOCHS = 60  # below the largest y that matters; the rest adds less than 2^-59 of the regret


def one_gap_ratios(log_arms: float, places: FloatArray) -> FloatArray:
    """Regret x epsilon / log K in the limit of gap 0, for y = `places` x 2^m, m an integer; places in [1, 2).

    Takes the logarithm of the number of arms, which may be huge, such as 2^500.
    """
    require(log_arms >= math.log(2), "log_arms", log_arms, "at least log 2")
    others = log_arms + math.log1p(-math.exp(-log_arms))  # log(K - 1)
    top = math.ceil(math.log2(log_arms + 60))  # for larger m, g(y) < e^-60
    y = places[:, None] * 2.0 ** np.arange(top - _EPOCHS, top + 1)
    wrong = 1 / (1 + np.exp(np.minimum(y - others, 700)))
    return np.asarray(4 * (y * wrong).sum(axis=1) / log_arms)


def largest_one_gap_ratio(log_arms: float) -> float:
    """The largest of these ratios over all places of the lattice; the upper bound is 8
    (bandits/bounds/never_varying.md, 2.1)."""
    return float(one_gap_ratios(log_arms, 2 ** np.linspace(0, 1, _PLACES)).max())
