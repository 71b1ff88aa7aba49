"""Tables about Wang and Zhu (2024)."""

from bandits.policies.perturbed_leader import WithStartPhase
from experiments.store.stored import Stored
from scripts.tables.table import Table, cells_of, mean_with_interval


def start_phases() -> Table:
    """Start phases of DP-FTPL-Gauss and -Beta, as printed and as short as Lemma 8 allows, and the regret with each.

    N is the number of pulls of each arm in the start phase.
    """
    rows = []
    for (policy, epsilon, delta), cells in cells_of("wang2024/start_phases").by("policy", "epsilon", "delta").items():
        forms = {start: cells.where(start_phase=start) for start in ("paper", "exact")}
        pulls = {f"N {start}": _start(stored) for start, (stored,) in forms.items()}
        regret = {f"regret {start}": mean_with_interval(stored.headline) for start, (stored,) in forms.items()}
        rows.append({"policy": policy, "epsilon": epsilon, "delta": delta, **pulls, **regret})
    return Table.of(sorted(rows, key=lambda row: (row["policy"], -row["epsilon"], -row["delta"])))


def _start(stored: Stored) -> int:
    policy = stored.cell.policy
    assert isinstance(policy, WithStartPhase)
    return policy.start
