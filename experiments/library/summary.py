"""What a command prints of its plans: the table of a plan, and the summary of what is stored."""

import resource
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.cells.base import CODE
from experiments.config.folders import RUNS
from experiments.config.overrides import without
from experiments.config.plan import Plan, merge
from experiments.intervals import ROUNDING, mean
from experiments.simulate import CellJob
from experiments.simulate.complete import by_store, jobs_of_plans, why_again
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells, Stored
from experiments.text_table import text_table

PRINTED_COLUMNS = ("instance", "arms", "policy", "epsilon", "delta", "horizon")
KILO = 1024
MOST = 24  # cells up to which their numbers are shown
ERROR = 0.05  # the intervals cover with probability 1 - ERROR


def describe_plans(plans: Sequence[Plan]) -> str:
    """What is stored and what would be simulated, for each folder of results."""
    return "\n".join(_described(of_folder, store) for store, of_folder in by_store(plans))


def _described(plans: Sequence[Plan], store: Store) -> str:
    jobs = jobs_of_plans(plans, store)
    return "\n".join([_listed(jobs), *why_again(jobs, store)])


def _listed(jobs: Sequence[CellJob]) -> str:
    """A table of cells, with the replications that are stored and missing."""
    names = [*PRINTED_COLUMNS, *varying([job.cell.columns for job in jobs])]
    rows: list[list[object]] = [[*names, "stored", "missing"]]
    for job in jobs:
        columns = job.cell.columns
        stored = min(job.stored_until, job.request.replications) + job.missing - job.left
        rows.append([*(columns.get(name, "") for name in names), stored, job.left])
    missing = sum(job.left for job in jobs)
    cached = sum(not job.missing for job in jobs)
    return (
        f"{_right(rows)}\n"
        f"{len(jobs)} cells: {cached} stored, {len(jobs) - cached} to simulate, {missing} replications, "
        f"and {_megabytes([job for job in jobs if job.left]):.0f} MB of memory for each process"
    )


def varying(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns, other than `PRINTED_COLUMNS`, in which cells of the same policy and instance differ."""
    values_of: dict[str, dict[tuple[object, ...], set[str]]] = {}
    for columns in cells:
        for name, value in columns.items():
            of_group = values_of.setdefault(name, {}).setdefault((columns["policy"], columns["instance"]), set())
            of_group.add(str(value))
    several = [name for name, groups in values_of.items() if any(len(values) > 1 for values in groups.values())]
    return [name for name in several if name not in PRINTED_COLUMNS and name != "scope"]


def _megabytes(jobs: Sequence[CellJob]) -> float:
    """Estimated memory of a process: what this one uses, which has the same libraries, and the largest cell."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILO + max(map(_numbers, jobs), default=0) * 8 / KILO**2


def _numbers(job: CellJob) -> int:
    """How many numbers are in memory: the rows of a cell, and a running replication."""
    checkpoints, arms = len(job.cell.checkpoints), len(getattr(job.cell.instance, "gaps", ()))
    return job.request.replications * (2 * checkpoints + arms) + checkpoints * (2 + arms)


def summary_of_plans(plans: Sequence[Plan]) -> str:
    """The mean headline of each cell with its 95 % interval, if there are few; and the call of `load` for all rows."""
    several = merge(request for planned in plans for request in planned.requests)
    lines = [f"in Python: {call}" for call in dict.fromkeys(map(_call, plans))][:MOST]
    if len(several) <= MOST:
        lines = [*_tables(Cells.of(map(stored_cells, plans))), *lines]
    return "\n".join(lines)


def _tables(cells: Cells) -> Iterable[str]:
    """A table for each headline, as cells of one command may have different ones."""
    for headline, alike in cells.grouped(lambda stored: stored.cell.headline).items():
        names = [*PRINTED_COLUMNS, *varying([stored.cell.columns for stored in alike])]
        rows = [[*(stored.cell.columns.get(name, "") for name in names), *_estimate(stored)] for stored in alike]
        yield _right([[*names, "replications", f"mean {headline}", "95 % interval"], *rows])


def _right(rows: Sequence[Sequence[object]]) -> str:
    return "\n".join(text_table(rows, left=0))


def _estimate(stored: Stored) -> tuple[Any, ...]:
    values = stored.headline
    if stored.exact:
        return "", f"{values[0]:.6g}", "computed"
    interval = mean(values, ERROR)
    half = interval.high - interval.estimate
    half = 0.0 if half <= ROUNDING * abs(interval.estimate) else half  # runs that differ by rounding alone
    return len(values), f"{interval.estimate:.6g}", "-" if len(values) == 1 else f"± {half:.3g}"


def _call(planned: Plan) -> str:
    """The call in Python that reads the rows of a plan."""
    results = "" if planned.results == RUNS else f"results_dir={str(planned.results)!r}"
    if planned.experiment is not None:
        overrides = without(planned.overrides, ["experiment", "results_dir"])
        words = [repr(planned.experiment), f"overrides={overrides}" if overrides else "", results]
        folders = [str(folder) for folder in planned.composer.config_dirs]
        words.append(f"config_dirs={folders}" if folders else "")
    else:
        columns = {"instance": planned.requests[0].cell.instance.name, "policy": planned.requests[0].cell.policy.name}
        codes = {CODE: code} if (code := planned.requests[0].cell.code) else {}
        words = [*(f"{name}={value!r}" for name, value in (columns | codes).items()), results]
    table = next(iter(planned.requests[0].cell.tables if planned.requests else ()), "curves")
    name = "load" if table == "curves" else f"load_{table}"
    return f"from experiments import {name}; {name}({', '.join(filter(None, words))})"
