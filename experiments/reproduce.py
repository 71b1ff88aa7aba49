"""Simulate experiments again from nothing and compare every number with what is stored.

    python -m experiments.reproduce +experiment=sajed2019/fig03
    python -m experiments.reproduce -m +experiment=sajed2019/fig01,sajed2019/fig02

The same platform gives the same bits. Another processor or mathematical library may round a
logarithm differently; the footer of a results file names the platform that made it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from experiments.complete import runner_of
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.plan import merge
from experiments.provenance import machine
from experiments.simulate import Job, run_on
from experiments.store import Store, stored_cells
from experiments.stored import Replications


def difference(stored: Replications, fresh: Replications) -> str | None:
    """Where the same replications, stored and fresh, first differ, in words, or None."""
    for name, values in stored.rows.items():
        same = (values == fresh.rows[name]) | ((values != values) & (fresh.rows[name] != fresh.rows[name]))  # NaN
        if same.all():
            continue
        replication, *at = np.argwhere(~same)[0]
        place = f"replication {stored.numbers[replication]} differs"
        change = f"{name} {values[replication, *at]} stored, {fresh.rows[name][replication, *at]} now"
        return f"{place} from t = {stored.t[at[0]]} on: {change}" if name == "regret" else f"{place}: {change}"
    return None


def main() -> None:
    """Entry point of `python -m experiments.reproduce`; exit code 1 if a number differs."""
    command = read_command_line()
    if not command.jobs:
        return
    plans = command.plans()
    requests = merge(request for asked in plans for request in asked.requests)
    stored = {found.cell.key: found for asked in plans for found in stored_cells(asked)}
    different = 0
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        scratch = Store(Path(folder))
        run_on(runner_of(plans), [Job(request, None) for request in requests], scratch)
        for request in requests:
            before, after = stored[request.cell.key], scratch.read(request.cell)
            assert after is not None
            found = difference(before, after)
            if found:
                different += 1
                print(f"{request.cell.identity} ({request.cell.key}): {found}{_other_platform(before)}")
    print(f"{len(requests)} cells simulated again: {len(requests) - different} identical, {different} different")
    sys.exit(1 if different else 0)


def _other_platform(stored: Replications) -> str:
    platform = stored.footer["runs"][-1]["platform"]
    return "" if platform == machine() else f" (stored on {platform}, this is {machine()})"


if __name__ == "__main__":
    exit_on_user_error(main)
