"""What a plan would cost."""

from collections.abc import Sequence

import pandas as pd

from experiments.simulate import Job
from experiments.store import DamagedFileError, Store, read_footer


def describe(jobs: Sequence[Job], store: Store) -> str:
    """A table of cells with what is stored, what is missing, and the time that missing ones may take on one core.

    The estimate is the time per replication of the stored cells of the same policy, instance and
    arms, at the nearest horizon; `?` where there is none.
    """
    costs = _costs(store)
    rows = []
    for job in jobs:
        cell = job.request.cell
        seconds = _seconds(costs, cell.policy.name, cell.instance.name, cell.arms, cell.horizon)
        rows.append(
            {
                **{name: cell.columns[name] for name in ("instance", "arms", "policy", "epsilon", "delta", "horizon")},
                "stored": job.first,
                "missing": job.missing,
                "estimate": "-" if not job.missing else "?" if seconds is None else f"{seconds * job.missing:.1f} s",
            }
        )
    missing = sum(job.missing for job in jobs)
    cached = sum(not job.missing for job in jobs)
    total = f"{len(jobs)} cells: {cached} stored, {len(jobs) - cached} to simulate, {missing} replications"
    return f"{pd.DataFrame(rows).to_string(index=False)}\n{total}"


def _costs(store: Store) -> pd.DataFrame:
    rows = []
    for path in store.files():
        try:
            footer = read_footer(path)
        except DamagedFileError:
            continue
        columns, runs = footer["columns"], footer["runs"]
        seconds = sum(run["seconds"] for run in runs) / runs[-1]["replications"][1]
        rows.append((columns["policy"], columns["instance"], columns["arms"], columns["horizon"], seconds))
    return pd.DataFrame(rows, columns=["policy", "instance", "arms", "horizon", "seconds"])


def _seconds(costs: pd.DataFrame, policy: str, instance: str, arms: int, horizon: int) -> float | None:
    known = costs[(costs.policy == policy) & (costs.instance == instance) & (costs.arms == arms)]
    if known.empty:
        return None
    distance = (known.horizon - horizon).abs()
    return float(known.seconds[distance == distance.min()].median())
