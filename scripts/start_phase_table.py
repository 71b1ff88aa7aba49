"""Start phases of DP-FTPL-Gauss and -Beta: as printed, as short as Lemma 8 allows, and the regret of both.

python -m scripts.start_phase_table
"""

import pandas as pd

from bandits.policies.perturbed_leader import WithStartPhase
from experiments import load
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.frames import RESULTS, stored_cells
from experiments.store import Store

EXPERIMENT = "wang2024/start_phases"


def table() -> pd.DataFrame:
    """One row per policy and budget: pulls of an arm in the start phase, mean final regret with its half interval."""
    final = load(EXPERIMENT)
    groups = final.groupby(["policy", "epsilon", "delta", "start_phase"]).regret
    regret = (groups.mean().map("{:.0f}".format) + " ± " + (1.96 * groups.sem()).map("{:.0f}".format)).unstack()
    cells = stored_cells([f"+experiment={EXPERIMENT}"], Store(RESULTS), Composer())
    keys = ("epsilon", "delta", "start_phase")
    pulls = {
        (cell.policy.name, *(cell.columns[key] for key in keys)): cell.policy.start
        for cell, _ in cells
        if isinstance(cell.policy, WithStartPhase)
    }
    start = pd.Series(pulls).unstack()
    start.index.names = regret.index.names
    columns = {"N paper": start["paper"], "N exact": start["exact"]}
    columns |= {"regret paper": regret["paper"], "regret exact": regret["exact"]}
    return pd.DataFrame(columns).sort_index(ascending=[True, False, False]).reset_index()


def main() -> None:
    """Entry point of `python -m scripts.start_phase_table`."""
    print(table().to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
