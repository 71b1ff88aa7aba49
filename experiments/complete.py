"""From plans to results that are complete: what is missing is simulated, and said."""

import sys
import time
from collections import Counter
from collections.abc import Sequence

from experiments import cost
from experiments.again import reasons
from experiments.config.build import build
from experiments.config.plan import Plan, merge
from experiments.simulate import Job, look_up, run_on
from experiments.simulate.runners import Runner
from experiments.store import Store


def describe(plans: Sequence[Plan]) -> str:
    """What would be run, what is stored, and what the rest may cost, for each folder of results."""
    return "\n".join(_described(of_folder, store) for store, of_folder in _by_store(plans))


def _described(plans: Sequence[Plan], store: Store) -> str:
    jobs = _jobs(plans, store)
    return "\n".join([cost.describe(jobs, store), *reasons(jobs, store)])


def complete(plans: Sequence[Plan], runner: Runner) -> str:
    """Simulate what is missing of `plans`; what was done, a sentence for each folder. Raises `PolicyError`."""
    return "\n".join(_complete(of_folder, store, runner) for store, of_folder in _by_store(plans))


def runner_of(plans: Sequence[Plan]) -> Runner:
    """Where the first of `plans` says that cells are simulated. Raises `UserError`."""
    asked = plans[0]
    files = {"runner": asked.composer.file_of("runner", asked.composed.choices["runner"])}
    return build(asked.config, "runner", files, Runner)  # type: ignore[type-abstract]


def _by_store(plans: Sequence[Plan]) -> list[tuple[Store, list[Plan]]]:
    """Plans by where their results are."""
    stores = dict.fromkeys(Store.of(asked) for asked in plans)
    return [(store, [asked for asked in plans if Store.of(asked) == store]) for store in stores]


def _complete(plans: Sequence[Plan], store: Store, runner: Runner) -> str:
    jobs = _jobs(plans, store)
    began = time.perf_counter()
    cells, simulated = sum(job.missing > 0 for job in jobs), sum(job.left for job in jobs)
    if cells:
        for line in reasons(jobs, store):
            print(line, flush=True)
        store.check_writable()
        run_on(runner, jobs, store)
    return (
        f"cells: {len(jobs) - cells} stored already, {cells} simulated "
        f"({simulated} replications in {time.perf_counter() - began:.1f} s), in {store.root}"
    )


def _jobs(plans: Sequence[Plan], store: Store) -> list[Job]:
    """Every cell once, with what is stored of it; says the caveats of numbers that are still to be simulated."""
    jobs = look_up(merge(request for asked in plans for request in asked.requests), store)
    caveats = [(job.request.cell.policy.name, text) for job in jobs if job.missing for text in job.request.cell.caveats]
    for (name, text), cells in sorted(Counter(caveats).items()):
        print(f"warning: {name}: {text} ({cells} cells)", file=sys.stderr)
    return jobs
