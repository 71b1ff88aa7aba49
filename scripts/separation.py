"""From which horizon on do the curves of LDPRSE for different epsilon separate?

    python -m scripts.separation

They separate when the 95 % intervals of their mean final regrets are disjoint, in the order of epsilon.
"""

import numpy as np
import pandas as pd

from experiments import load
from experiments.config.command_line import exit_on_user_error

EXPERIMENT = "tao2022/local_horizons"


def table() -> pd.DataFrame:
    """A row per constants, v and horizon: mean final regret and its half interval by epsilon, and if they separate."""
    curves = load(EXPERIMENT)
    final = curves[curves.t == curves.horizon]
    rows = []
    for (constants, v, horizon), group in final.groupby(["constants", "v", "horizon"]):
        regret = group.groupby("epsilon").regret  # increasing epsilon: decreasing regret is expected
        mean, half = regret.mean().to_numpy(), 1.96 * regret.sem().to_numpy()
        separate = bool(np.all(mean[:-1] - half[:-1] > mean[1:] + half[1:]))
        told = {f"epsilon={e:g}": f"{m:.3g} ± {h:.1g}" for e, m, h in zip(regret.mean().index, mean, half, strict=True)}
        rows.append({"constants": constants, "v": v, "horizon": f"{horizon:.0e}", **told, "separate": separate})
    return pd.DataFrame(rows)


def main() -> None:
    """Entry point of `python -m scripts.separation`."""
    separation = table()
    print(separation.to_string(index=False))
    for (constants, v), group in separation[separation.separate].groupby(["constants", "v"]):
        print(f"{constants}, v = {v:g}: separate from T = {group.horizon.iloc[0]} on")


if __name__ == "__main__":
    exit_on_user_error(main)
