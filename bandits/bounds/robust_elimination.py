"""The regret of Robust SE under corruption: theorem 13.3 of bandits/policies/robust_elimination.md, ours."""

import itertools

from bandits.arrays import FloatArray
from bandits.bounds.common import require_horizon
from bandits.parameters import require
from bandits.policies.heavy_tailed import Moment
from bandits.policies.robust_elimination import RobustSE


def robust_se_regret(gaps: FloatArray, u: float, v: float, corruption: float, epsilon: float, horizon: float) -> float:
    """Expected regret of Robust SE is at most this (13.3): the sum over suboptimal arms of gap times

    min(2^(tau + 1) - 2, (T + 1) / 2), tau the first batch with 4r below the gap, and the largest gap once more.

    `u` bounds E |X|^(1+v), and so each mean by u^(1/(1+v)). Raises `ParameterError` for gaps that are not
    positive, or larger than such means allow, and for what `RobustSE` refuses.
    """
    require_horizon(horizon)
    policy, arms = RobustSE(epsilon, corruption, u), len(gaps) + 1
    require(v > 0, "v", v, "a number > 0")
    most_gap = 2 * u ** (1 / (1 + v))
    within = len(gaps) > 0 and bool(((gaps > 0) & (gaps <= most_gap)).all())
    require(within, "gaps", list(gaps), f"numbers in (0, {most_gap:g}], one for each suboptimal arm")

    def pulls(gap: float) -> float:
        for batch in itertools.count(1):
            most = 2.0 ** (batch + 1) - 2
            threshold = policy.epoch_of(Moment(u, v), arms, batch, int(horizon)).threshold
            if 2 * threshold < gap or most >= (horizon + 1) / 2:
                return min(most, (horizon + 1) / 2)
        raise AssertionError("batches double, so that one reaches the horizon")

    return float(sum(gap * pulls(float(gap)) for gap in gaps) + max(gaps))
