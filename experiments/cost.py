"""What a plan would cost."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from experiments.cells import Cell
from experiments.results_file import DamagedFileError, read_footer
from experiments.simulate import Job
from experiments.store import Store

OF_CELL = ("instance", "arms", "policy", "epsilon", "delta", "horizon")


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
        if job.missing and seconds is None:
            unknown += 1
        elif job.missing and seconds is not None:
            total += seconds * job.missing
        estimate = "-" if not job.missing else "?" if seconds is None else f"{seconds * job.missing:.1f} s"
        rows.append([*(cell.columns[name] for name in OF_CELL), job.first, job.missing, estimate])
    missing = sum(job.missing for job in jobs)
    cached = sum(not job.missing for job in jobs)
    return (
        f"{_table([*OF_CELL, 'stored', 'missing', 'estimate'], rows)}\n"
        f"{len(jobs)} cells: {cached} stored, {len(jobs) - cached} to simulate, {missing} replications, "
        f"about {total:.0f} s on one core{f' and {unknown} cells of unknown cost' if unknown else ''}"
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Named columns as text; pandas would write it as well, and takes long to import."""
    words = [list(columns), *([_word(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in words)


def _word(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


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
