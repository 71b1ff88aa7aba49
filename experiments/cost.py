"""What a plan would cost."""

import resource
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.progress import duration
from experiments.simulate import Job
from experiments.store import Store
from experiments.store.costs import Costs

OF_CELL = ("instance", "arms", "policy", "epsilon", "delta", "horizon")
KILO = 1024


def describe(jobs: Sequence[Job], store: Store) -> str:
    """A table of cells with what is stored, what is missing, and the time that missing ones may take on one core.

    The estimate is that of `Costs`; `?` where nothing is known.
    """
    seconds = _seconds([job for job in jobs if job.left], store)
    names = [*OF_CELL, *varying([job.cell.columns for job in jobs])]
    rows = []
    for job in jobs:
        asked = job.cell.columns
        stored = min(job.first, job.request.replications) + job.missing - job.left
        estimate = _estimate(seconds[job.cell.key]) if job.left else "-"
        rows.append([*(asked.get(name, "") for name in names), stored, job.left, estimate])
    total = sum(of_cell for of_cell in seconds.values() if of_cell is not None)
    unknown = sum(of_cell is None for of_cell in seconds.values())
    missing = sum(job.left for job in jobs)
    cached = sum(not job.missing for job in jobs)
    return (
        f"{in_columns([*names, 'stored', 'missing', 'estimate'], rows)}\n"
        f"{len(jobs)} cells: {cached} stored, {len(jobs) - cached} to simulate, {missing} replications, "
        f"about {duration(total)} on one core{f' and {unknown} cells of unknown cost' if unknown else ''}, "
        f"and {_megabytes([job for job in jobs if job.left]):.0f} MB of memory for each process"
    )


def _seconds(jobs: Sequence[Job], store: Store) -> dict[str, float | None]:
    """What is left of each of `jobs` may take on one core, by key; None where nothing is known."""
    if not jobs:
        return {}
    costs = Costs(store.index())
    of_one = [costs.of(job.cell) for job in jobs]
    return {
        job.cell.key: None if seconds is None else seconds * job.left for job, seconds in zip(jobs, of_one, strict=True)
    }


def _estimate(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:.1f} s"


def varying(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns, beside those that every table has, in which cells of one policy and instance differ."""
    found: dict[str, dict[tuple[object, ...], set[str]]] = {}
    for columns in cells:
        for name, value in columns.items():
            of_group = found.setdefault(name, {}).setdefault((columns["policy"], columns["instance"]), set())
            of_group.add(str(value))
    several = [name for name, groups in found.items() if any(len(values) > 1 for values in groups.values())]
    return [name for name in several if name not in OF_CELL and name != "scope"]


def in_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Named columns as text; pandas would write it as well, and takes long to import."""
    words = [list(columns), *([_word(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in words)


def _word(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _megabytes(jobs: Sequence[Job]) -> float:
    """What a process may need: what this one needs, which has the same libraries, and one cell with a replication."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILO + max(map(_numbers, jobs), default=0) * 8 / KILO**2


def _numbers(job: Job) -> int:
    """How many numbers the rows of a cell are, and a replication at work."""
    checkpoints, arms = len(job.cell.checkpoints), len(getattr(job.cell.instance, "gaps", ()))
    return job.request.replications * (2 * checkpoints + arms) + checkpoints * (2 + arms)
