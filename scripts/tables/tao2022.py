"""Tables about Tao, Wu, Zhao and Wang (2022)."""

import itertools
import math
from typing import Any

import numpy as np

from bandits.environments.bandit import Instance
from bandits.policies.elimination import EpochElimination
from bandits.policies.heavy_tailed import LDPRSE
from bandits.policies.robust_elimination import RobustBitSE, RobustSE
from experiments.intervals import Interval, exactly
from scripts.drawing.kinds.rates import fit
from scripts.drawing.numbers import parameter
from scripts.tables.table import Table, cells_of, mean_with_interval


def separation() -> Table:
    """At which horizons the final regret of LDPRSE on S3 differs between all budgets.

    The budgets are separate at a horizon if the intervals of their mean final regrets are disjoint and a larger epsilon
    has less regret. With scaled constants they need not remain separate: runs that have lost the best arm (see
    tao2022/lost_best_arm) have regret at every step, equally for every budget.
    """
    rows: list[dict[str, Any]] = []
    at: dict[tuple[str, float], dict[bool, list[str]]] = {}
    for (constants, v, horizon), cells in sorted(
        cells_of("tao2022/local_horizons").by("constants", "v", "horizon").items()
    ):
        regret = {
            epsilon: mean_with_interval(stored.headline)
            for (epsilon,), (stored,) in sorted(cells.by("epsilon").items())
        }
        separate = all(less.low > more.high for less, more in itertools.pairwise(regret.values()))
        at.setdefault((constants, v), {True: [], False: []})[separate].append(parameter(horizon))
        budgets = {f"ε = {epsilon:g}": interval for epsilon, interval in regret.items()}
        rows.append({"constants": constants, "v": v, "horizon": horizon, **budgets, "separate": separate})
    return Table.of(
        rows,
        [
            f"{constants}, v = {v:g}: separate at T = {', '.join(cells[True]) or 'none'}; "
            f"not at {', '.join(cells[False]) or 'none'}"
            for (constants, v), cells in at.items()
        ],
    )


def lost_best_arm() -> Table:
    """How often LDPRSE has lost the best arm of S3 at the horizon, among runs that have removed an arm.

    The cells are those of tao2022/local_horizons. A run has removed an arm if the pulls of arms differ by more than 1.
    It has lost the best arm if another arm has more pulls; then its regret grows with every step.
    """
    rows = []
    groups = cells_of("tao2022/local_horizons").by("constants", "v", "epsilon", "horizon")
    for (constants, v, epsilon, horizon), (stored,) in sorted(groups.items()):
        pulls = stored.pulls
        removed = np.ptp(pulls, axis=1) > 1
        lost = stored.measure("best_arm_behind")
        if removed.any():
            share = mean_with_interval(lost[removed])
            rows.append(
                {
                    "constants": constants,
                    "v": v,
                    "ε": epsilon,
                    "horizon": horizon,
                    "removed an arm": f"{removed.sum()} of {len(pulls)}",
                    "lost the best arm": share,
                }
            )
    return Table.of(rows)


def rates() -> Table:
    """Table 1, upper bounds for heavy tails: printed and measured exponents of a suboptimal arm's pulls."""
    return Table.of(
        {
            "model": "epsilon-LDP" if rate.policy == "ldprse" else "epsilon-DP",
            "policy": rate.label,
            "v": rate.v,
            "printed regret": f"sum of gap^(-{1 / rate.v:.3g})",
            "printed pulls": f"gap^-{rate.printed:.3g}",
            "epoch lengths": f"gap^-{rate.consistent:.3g}",
            "measured": Interval(rate.exponent, rate.low, rate.high),
        }
        for rate in fit(cells_of("tao2022/rates"))
    )


LONGEST = 2**62  # horizons are searched up to it


def learning() -> Table:
    """From which horizon on elimination can remove an arm, and regret at the horizon that was run.

    Before that horizon no epoch that ends has a threshold below the largest gap (`EpochElimination.first_removal`): all
    arms are pulled in turn, as if nothing were learned, unless means err by more than they are allowed to. The last
    column is the same for our policies with proved constants, Robust SE, or Robust bit SE where rewards are private
    locally. Regret is relative to that of pulling all arms in turn.
    """
    rows: list[dict[str, Any]] = []
    figures = [f"tao2022/fig0{number}{printed}" for number in range(1, 5) for printed in ("", "_paper")]
    for stored in cells_of(*figures, "tao2022/learns_nothing"):
        cell = stored.cell
        if isinstance(cell.instance, Instance) and isinstance(cell.policy, EpochElimination):
            local, epsilon = isinstance(cell.policy, LDPRSE), cell.policy.guarantee.epsilon
            proved = RobustBitSE(epsilon) if local else RobustSE(epsilon)
            gaps = cell.instance.mean_rewards.max() - cell.instance.mean_rewards
            rows.append(
                {
                    "instance": cell.instance.name,
                    "arms": len(gaps),
                    "v": stored.columns["v"],
                    "ε": epsilon,
                    "policy": cell.policy.legend(),
                    "removes from T =": exactly(_shortest(cell.policy, cell.instance)),
                    "T": cell.horizon,
                    "regret": mean_with_interval(stored.headline / (gaps.mean() * cell.horizon)),
                    "proved, from T =": exactly(_shortest(proved, cell.instance)),
                }
            )
    return Table.of(rows)


def _shortest(policy: EpochElimination, instance: Instance) -> float:
    """The least horizon at which an epoch that can remove an arm ends; infinite if that is beyond `LONGEST`.

    Epochs grow with log T, slower than T, so horizons that are too short lie below all others.
    """
    low, high = 1, LONGEST
    if math.isinf(policy.first_removal(instance, high)):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        if math.isinf(policy.first_removal(instance, middle)):
            low = middle
        else:
            high = middle
    return float(high)
