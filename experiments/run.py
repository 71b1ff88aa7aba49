"""The command line: plan cells, simulate those that are missing, store them.

python -m experiments.run instance=c1 policy=dp_se budget.epsilon=0.5 horizon=1e6
python -m experiments.run -m instance=c1,c2 policy=dp_se,dp_ucb budget.epsilon=0.1,0.25
python -m experiments.run +experiment=sajed2019/fig03
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence

from experiments.config.build import flag
from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.cost import describe
from experiments.frames import RESULTS
from experiments.simulate import Job, PolicyError, look_up, run
from experiments.store import Store


def main() -> None:
    """Entry point of `python -m experiments.run`."""
    command = read_command_line()
    if not command.jobs:  # --help, --cfg and the like have answered already
        return
    requests = command.requests()
    store = command.store
    jobs = look_up(requests, store)
    _warn(jobs, store)
    if flag(command.config, "plan"):
        print(describe(jobs, [store, Store(RESULTS)]))
        return
    began = time.perf_counter()
    workers = command.workers
    if any(job.missing for job in jobs):
        store.check_writable()
        try:
            run(jobs, store, workers)
        except PolicyError as error:
            print(error, file=sys.stderr)
            sys.exit(1)
    simulated = sum(job.missing for job in jobs)
    cells = sum(job.missing > 0 for job in jobs)
    print(
        f"cells: {len(jobs) - cells} stored already, {cells} simulated "
        f"({simulated} replications in {time.perf_counter() - began:.1f} s), in {store.root}"
    )


def _warn(jobs: Sequence[Job], store: Store) -> None:
    """Say what a reader of the numbers must know: of fresh ones their caveats, of stored ones a changed source."""
    caveats = [(job.request.cell.policy.name, text) for job in jobs if job.missing for text in job.request.cell.caveats]
    for (name, text), cells in sorted(Counter(caveats).items()):
        print(f"warning: {name}: {text} ({cells} cells)", file=sys.stderr)
    changed = {
        job.request.cell.policy.name
        for job in jobs
        if job.stored and store.changed_source(job.request.cell, job.stored)
    }
    for name in sorted(changed):
        print(f"warning: the file of {name} was edited; raise its revision if its numbers changed", file=sys.stderr)


if __name__ == "__main__":
    exit_on_user_error(main)
