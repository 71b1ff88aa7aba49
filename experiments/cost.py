"""What a plan would cost."""

import itertools
import resource
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from experiments.cells import Cell
from experiments.progress import duration
from experiments.results_file import DamagedFileError, read_footer
from experiments.simulate import Job
from experiments.simulate.job import BLOCK
from experiments.store import Store

OF_CELL = ("instance", "arms", "policy", "epsilon", "delta", "horizon")
KILO = 1024


def describe(jobs: Sequence[Job], store: Store) -> str:
    """A table of cells with what is stored, what is missing, and the time that missing ones may take on one core.

    The estimate is the typical time of a replication in the stored cells of the same policy and
    number of arms at the nearest horizon, in proportion to the horizon (which overrates policies
    whose cost does not grow with it); `?` where nothing is known.
    """
    costs = _costs(store, {job.request.cell.policy.name for job in jobs if job.missing})
    rows, total, unknown = [], 0.0, 0
    for job in jobs:
        cell = job.request.cell
        seconds = _seconds(costs, cell)
        if job.left and seconds is None:
            unknown += 1
        elif job.left and seconds is not None:
            total += seconds * job.left
        estimate = "-" if not job.left else "?" if seconds is None else f"{seconds * job.left:.1f} s"
        stored = min(job.first, job.request.replications) + job.missing - job.left
        rows.append([*(cell.columns[name] for name in OF_CELL), stored, job.left, estimate])
    missing = sum(job.left for job in jobs)
    cached = sum(not job.missing for job in jobs)
    return (
        f"{_table([*OF_CELL, 'stored', 'missing', 'estimate'], rows)}\n"
        f"{len(jobs)} cells: {cached} stored, {len(jobs) - cached} to simulate, {missing} replications, "
        f"about {duration(total)} on one core{f' and {unknown} cells of unknown cost' if unknown else ''}, "
        f"and {_megabytes([job.cell for job in jobs if job.left]):.0f} MB of memory for each process"
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Named columns as text; pandas would write it as well, and takes long to import."""
    words = [list(columns), *([_word(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in words)


def _word(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _megabytes(cells: Sequence[Cell]) -> float:
    """What a process may need: what this one needs, which has the same libraries, and the largest block."""
    largest = max((len(cell.checkpoints) * (2 + len(getattr(cell.instance, "gaps", ()))) for cell in cells), default=0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILO + BLOCK * largest * 8 / KILO**2


def _costs(store: Store, policies: Iterable[str]) -> dict[tuple[str, int], dict[int, list[float]]]:
    """Typical seconds of a replication in stored cells of the `policies`: by policy and arms, then by horizon."""
    known: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in itertools.chain.from_iterable(map(store.files, sorted(policies))):
        try:
            footer = read_footer(path)
        except DamagedFileError:
            continue
        columns, last = footer["columns"], footer["runs"][-1]
        known[columns["policy"], columns["arms"]][columns["horizon"]].append(last["typical_seconds"])
    return known


def _seconds(costs: dict[tuple[str, int], dict[int, list[float]]], cell: Cell) -> float | None:
    known = costs.get((cell.policy.name, cell.arms))
    if not known:
        return None
    nearest = min(known, key=lambda horizon: abs(horizon - cell.horizon))
    return median(known[nearest]) * cell.horizon / nearest
