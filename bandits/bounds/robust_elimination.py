"""The regret of Robust SE under corruption: theorem 13.3 of docs/theorems.md, ours."""

import itertools

from bandits.arrays import FloatArray
from bandits.bounds.common import require_horizon
from bandits.parameters import require
from bandits.policies.heavy_tailed import Moment
from bandits.policies.robust_elimination import RobustSE


def robust_se_regret(
    gaps: FloatArray, moment: float, v: float, corruption: float, epsilon: float, horizon: float
) -> float:
    """Expected regret of Robust SE is at most this (13.3): the sum over suboptimal arms of gap times

    min(2^(tau + 1) - 2, (T + 1) / 2), tau the first batch with 4r below the gap, and the largest gap once more.

    `moment` bounds E |X|^(1+v). Raises `ParameterError` for gaps that are not positive and for what `RobustSE` refuses.
    """
    require(len(gaps) > 0 and bool((gaps > 0).all()), "gaps", list(gaps), "numbers > 0, one for each suboptimal arm")
    require_horizon(horizon)
    policy, arms = RobustSE(epsilon, corruption, moment), len(gaps) + 1

    def pulls(gap: float) -> float:
        for batch in itertools.count(1):
            most = 2.0 ** (batch + 1) - 2
            threshold = policy.epoch_of(Moment(moment, v), arms, batch, int(horizon)).threshold
            if 2 * threshold < gap or most >= (horizon + 1) / 2:
                return min(most, (horizon + 1) / 2)
        raise AssertionError("batches double, so that one reaches the horizon")

    return float(sum(gap * pulls(float(gap)) for gap in gaps) + max(gaps))
