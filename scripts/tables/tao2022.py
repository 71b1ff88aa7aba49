"""Tables about Tao, Wu, Zhao and Wang (2022)."""

import itertools
from typing import Any

from experiments.intervals import Interval
from scripts.drawing.kinds.rates import fit
from scripts.drawing.numbers import parameter
from scripts.tables.table import Table, by, cells_of, measured


def separation() -> Table:
    """From which horizon on the final regret of LDPRSE on S3 differs between all budgets.

    At a horizon the budgets are separate where the intervals of their mean final regrets are disjoint, less regret for
    more epsilon.
    """
    rows: list[dict[str, Any]] = []
    first: dict[tuple[str, float], int] = {}
    for (constants, v, horizon), cells in by(cells_of("tao2022/local_horizons"), "constants", "v", "horizon"):
        regret = {epsilon: measured(stored.headline) for (epsilon,), (stored,) in by(cells, "epsilon")}
        separate = all(less.low > more.high for less, more in itertools.pairwise(regret.values()))
        if separate:
            first.setdefault((constants, v), horizon)
        budgets = {f"ε = {epsilon:g}": interval for epsilon, interval in regret.items()}
        rows.append({"constants": constants, "v": v, "horizon": horizon, **budgets, "separate": separate})
    return Table.of(
        rows,
        [f"{constants}, v = {v:g}: first separate at T = {parameter(at)}" for (constants, v), at in first.items()],
    )


def rates() -> Table:
    """Table 1, upper bounds for heavy tails: printed exponents of a suboptimal arm's pulls beside measured ones."""
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
