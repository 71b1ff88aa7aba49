"""From plans to results that are complete: what is missing is simulated, and said."""

import sys
import time
from collections import Counter
from collections.abc import Sequence

from experiments import cost
from experiments.config.plan import Plan, merge
from experiments.simulate import Job, PolicyError, look_up, run
from experiments.store import Store, changed_source


def describe(plans: Sequence[Plan]) -> str:
    """What would be run, what is stored, and what the rest may cost, for each folder of results."""
    return "\n".join(cost.describe(_jobs(of_folder, store), store) for store, of_folder in _by_store(plans))


def complete(plans: Sequence[Plan], workers: int) -> str:
    """Simulate what is missing of `plans`; what was done, a sentence for each folder. Exit code 1 if a policy fails."""
    return "\n".join(_complete(of_folder, store, workers) for store, of_folder in _by_store(plans))


def _by_store(plans: Sequence[Plan]) -> list[tuple[Store, list[Plan]]]:
    """Plans by where their results are."""
    stores = dict.fromkeys(Store.of(asked) for asked in plans)
    return [(store, [asked for asked in plans if Store.of(asked) == store]) for store in stores]


def _complete(plans: Sequence[Plan], store: Store, workers: int) -> str:
    jobs = _jobs(plans, store)
    began = time.perf_counter()
    if any(job.missing for job in jobs):
        store.check_writable()
        try:
            run(jobs, store, workers)
        except PolicyError as error:
            print(error, file=sys.stderr)
            sys.exit(1)
    simulated = sum(job.missing for job in jobs)
    cells = sum(job.missing > 0 for job in jobs)
    return (
        f"cells: {len(jobs) - cells} stored already, {cells} simulated "
        f"({simulated} replications in {time.perf_counter() - began:.1f} s), in {store.root}"
    )


def _jobs(plans: Sequence[Plan], store: Store) -> list[Job]:
    """Every cell once, with what is stored of it; says what a reader of the numbers must know.

    Of numbers still to be simulated that is their caveats, of stored ones that the file of their policy was edited.
    """
    jobs = look_up(merge(request for asked in plans for request in asked.requests), store)
    caveats = [(job.request.cell.policy.name, text) for job in jobs if job.missing for text in job.request.cell.caveats]
    for (name, text), cells in sorted(Counter(caveats).items()):
        print(f"warning: {name}: {text} ({cells} cells)", file=sys.stderr)
    changed = {job.stored.cell.policy.name for job in jobs if job.stored and changed_source(job.stored)}
    for name in sorted(changed):
        print(f"warning: the file of {name} was edited; raise its revision if its numbers changed", file=sys.stderr)
    return jobs
