"""Why cells that were simulated once are simulated again."""

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.results_file import DamagedFileError
from experiments.simulate import Job
from experiments.store import Store
from experiments.store.place import Place


def reasons(jobs: Sequence[Job], store: Store) -> Iterator[str]:
    """A line for each reason, with how many cells it is about; nothing of cells that are new, or stored."""
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
    raised = [job for job in missing if job.cell.identity in older]
    if raised:
        parts = sorted({part for job in raised for part in _raised(job, older[job.cell.identity])})
        yield f"{_cells(raised)} computed again: {', '.join(parts)}"


def _cells(jobs: Sequence[Job]) -> str:
    return "1 cell" if len(jobs) == 1 else f"{len(jobs)} cells"


def _older(store: Store, jobs: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """Footers of what is stored of the cells of `jobs` that have nothing, of other revisions or code, by identity."""
    first = {"instance": 1, "policy": 1}
    of_later = [job.cell for job in jobs if not job.stored and (_revisions(job) != first or job.cell.code)]
    wanted = {cell.identity for cell in of_later}
    found: dict[str, dict[str, Any]] = {}
    for place in _of_policies(store, {cell.policy.name for cell in of_later}):
        footer = _footer(place)
        if footer.get("identity") in wanted:
            found[footer["identity"]] = footer
    return found


def _of_policies(store: Store, policies: set[str]) -> Iterator[Place]:
    """What is stored of some policies."""
    index = store.index()
    return iter(index.only(index.column("policy").where(lambda policy: policy in policies)).places)


def _footer(place: Place) -> dict[str, Any]:
    try:
        return place.footer()
    except DamagedFileError:
        return {}


def _revisions(job: Job) -> dict[str, int]:
    return {"instance": job.cell.instance.revision, "policy": job.cell.policy.revision}


def _raised(job: Job, before: dict[str, Any]) -> Iterator[str]:
    """What is not as it was: the parts of a cell that have another revision, or other code."""
    for part, revision in _revisions(job).items():
        then = before["revisions"][part]
        if revision != then:
            yield f"{getattr(job.cell, part).name} has revision {revision}, stored are numbers of {then}"
    if job.cell.code != before.get("source"):
        names = " and ".join(cls.__qualname__ for cls in job.cell.own)
        yield f"the code of {names} is another ({job.cell.code}, stored are numbers of {before.get('source')})"
