"""Complete the results of plans: what is missing, and why it is simulated."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from experiments.config.build import build
from experiments.config.compose import Composed, Composer
from experiments.config.plan import Plan, merge
from experiments.simulate import CellJob, look_up
from experiments.simulate.runners import Runner
from experiments.store import Store


def complete(plans: Sequence[Plan], runner: Runner) -> str:
    """Simulate what is missing of `plans`; returns a sentence for each folder of results. Raises `PolicyError`."""
    return "\n".join(_complete(of_folder, store, runner) for store, of_folder in by_store(plans))


def runner_of(plans: Sequence[Plan]) -> Runner:
    """The runner that the first of `plans` configures. Raises `UserError`."""
    return runner_in(plans[0].composed, plans[0].composer)


def runner_in(composed: Composed, composer: Composer) -> Runner:
    """The runner of a config. Raises `UserError`."""
    files = {"runner": composer.file_of("runner", composed.choices["runner"])}
    return build(composed.keys, "runner", files, Runner)  # type: ignore[type-abstract]


def by_store(plans: Sequence[Plan]) -> list[tuple[Store, list[Plan]]]:
    """Plans grouped by the store of their results."""
    stores = dict.fromkeys(Store.of(planned) for planned in plans)
    return [(store, [planned for planned in plans if Store.of(planned) == store]) for store in stores]


def _complete(plans: Sequence[Plan], store: Store, runner: Runner) -> str:
    jobs = jobs_of_plans(plans, store)
    began = time.perf_counter()
    cells, simulated = sum(job.missing > 0 for job in jobs), sum(job.left for job in jobs)
    if cells:
        for line in why_again(jobs, store):
            print(line, flush=True)
        store.check_writable()
        runner.run(jobs, store)
    return (
        f"cells: {len(jobs) - cells} stored already, {cells} simulated "
        f"({simulated} replications in {time.perf_counter() - began:.1f} s), in {store.root}"
    )


def jobs_of_plans(plans: Sequence[Plan], store: Store) -> list[CellJob]:
    """Every cell once, with what is stored of it; prints warnings with the caveats of cells that are not complete."""
    jobs = look_up(merge(request for planned in plans for request in planned.requests), store)
    caveats = [(job.request.cell.policy.name, text) for job in jobs if job.missing for text in job.request.cell.caveats]
    for (name, text), cells in sorted(Counter(caveats).items()):
        print(f"warning: {name}: {text} ({cells} cells)", file=sys.stderr)
    return jobs


def why_again(jobs: Sequence[CellJob], store: Store) -> Iterator[str]:
    """Why cells that were simulated before are simulated again: a line for each reason, with the number of cells.

    No line is about cells that are new, or already complete.
    """
    missing = [job for job in jobs if job.missing]
    more = [job for job in missing if job.stored]
    if more:
        new = sum(job.missing for job in more)
        yield f"{_cells(more)} stored with fewer replications: {new} more are simulated"
    damaged = [job for job in missing if job.damage]
    if damaged:
        yield f"{_cells(damaged)} computed again: damaged files"
    begun = [job for job in missing if job.left < job.missing]
    if begun:
        kept = sum(job.missing - job.left for job in begun)
        yield f"{_cells(begun)} begun before: {kept} replications are taken from there"
    older = _older(store, missing)
    changes = [(job, list(_raised(job, older[job.cell.identity]))) for job in missing if job.cell.identity in older]
    raised = [job for job, parts in changes if parts]  # of the others, other checkpoints are stored
    if raised:
        parts = sorted({part for _, of_job in changes for part in of_job})
        yield f"{_cells(raised)} computed again: {', '.join(parts)}"


def _cells(jobs: Sequence[CellJob]) -> str:
    return "1 cell" if len(jobs) == 1 else f"{len(jobs)} cells"


def _older(store: Store, jobs: Sequence[CellJob]) -> dict[str, dict[str, Any]]:
    """For cells of `jobs` of which nothing is stored: footers of the same cell with another revision or code.

    By `identity` of the cell.
    """
    first = {"instance": 1, "policy": 1}
    of_later = [job.cell for job in jobs if not job.stored and (_revisions(job) != first or job.cell.code)]
    wanted = {cell.identity for cell in of_later}
    footers: dict[str, dict[str, Any]] = {}
    for _, footer in store.beside(of_later):
        if footer["identity"] in wanted:
            footers[footer["identity"]] = footer
    return footers


def _revisions(job: CellJob) -> dict[str, int]:
    return {"instance": job.cell.instance.revision, "policy": job.cell.policy.revision}


def _raised(job: CellJob, before: dict[str, Any]) -> Iterator[str]:
    """What has changed since a cell was stored: a text for each part with another revision, or other code."""
    for part, revision in _revisions(job).items():
        then = before["revisions"][part]
        if revision != then:
            yield f"{getattr(job.cell, part).name} has revision {revision}, stored numbers are of {then}"
    if job.cell.code != before.get("source"):
        names = " and ".join(cls.__qualname__ for cls in job.cell.own)
        yield f"the code of {names} has changed ({job.cell.code}, stored numbers are of {before.get('source')})"
