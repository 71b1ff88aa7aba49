"""Regret at the horizon of every cell of an experiment, and how often the best arm was the most pulled.

python -m scripts.final_regret wang2024/fig04
"""

import sys

import pandas as pd

from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.errors import UserError
from experiments.frames import RESULTS, stored_cells
from experiments.store import Store


def table(experiment: str) -> pd.DataFrame:
    """One row per cell: mean and standard deviation of the final regret and runs led by a best arm."""
    rows = []
    for cell, result in stored_cells([f"+experiment={experiment}"], Store(RESULTS), Composer()):
        final = result.regret[:, -1]
        best = cell.instance.gaps[result.pulls.argmax(axis=1)] == 0
        rows.append(
            {
                **{name: cell.columns.get(name, "") for name in ("instance", "arms", "v")},
                "policy": cell.policy.legend(),
                **{name: cell.columns[name] for name in ("epsilon", "delta")},
                "T": f"{cell.horizon:.0e}",
                "mean": f"{final.mean():.4g}",
                "sd": f"{final.std(ddof=1):.3g}" if len(final) > 1 else "-",
                "best arm leads": f"{best.sum()} of {len(best)}",
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Entry point of `python -m scripts.final_regret EXPERIMENT`."""
    if len(sys.argv) != 2:
        raise UserError("which experiment? give its name, as in sajed2019/fig01")
    print(table(sys.argv[1]).to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
