"""Complete the results of plans: what is missing, why it is simulated, and a summary."""

import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from experiments.config.build import build
from experiments.config.compose import Composed, Composer
from experiments.config.folders import RUNS
from experiments.config.overrides import without
from experiments.config.plan import Plan, merge
from experiments.intervals import ROUNDING, mean
from experiments.simulate import CellJob, look_up
from experiments.simulate.runners import Runner
from experiments.store import CODE, Store, stored_cells
from experiments.store.stored import Cells, Stored

PRINTED_COLUMNS = ("instance", "arms", "policy", "epsilon", "delta", "horizon")
KILO = 1024
MOST = 24  # cells up to which their numbers are shown
ERROR = 0.05  # the intervals cover with probability 1 - ERROR


def describe_plans(plans: Sequence[Plan]) -> str:
    """What is stored and what would be simulated, for each folder of results."""
    return "\n".join(_described(of_folder, store) for store, of_folder in _by_store(plans))


def _described(plans: Sequence[Plan], store: Store) -> str:
    jobs = _jobs(plans, store)
    return "\n".join([_listed(jobs), *why_again(jobs, store)])


def complete(plans: Sequence[Plan], runner: Runner) -> str:
    """Simulate what is missing of `plans`; returns a sentence for each folder of results. Raises `PolicyError`."""
    return "\n".join(_complete(of_folder, store, runner) for store, of_folder in _by_store(plans))


def runner_of(plans: Sequence[Plan]) -> Runner:
    """The runner that the first of `plans` configures. Raises `UserError`."""
    return runner_in(plans[0].composed, plans[0].composer)


def runner_in(composed: Composed, composer: Composer) -> Runner:
    """The runner of a config. Raises `UserError`."""
    files = {"runner": composer.file_of("runner", composed.choices["runner"])}
    return build(composed.keys, "runner", files, Runner)  # type: ignore[type-abstract]


def _by_store(plans: Sequence[Plan]) -> list[tuple[Store, list[Plan]]]:
    """Plans grouped by the store of their results."""
    stores = dict.fromkeys(Store.of(planned) for planned in plans)
    return [(store, [planned for planned in plans if Store.of(planned) == store]) for store in stores]


def _complete(plans: Sequence[Plan], store: Store, runner: Runner) -> str:
    jobs = _jobs(plans, store)
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


def _jobs(plans: Sequence[Plan], store: Store) -> list[CellJob]:
    """Every cell once, with what is stored of it; prints warnings with the caveats of cells that are not complete."""
    jobs = look_up(merge(request for planned in plans for request in planned.requests), store)
    caveats = [(job.request.cell.policy.name, text) for job in jobs if job.missing for text in job.request.cell.caveats]
    for (name, text), cells in sorted(Counter(caveats).items()):
        print(f"warning: {name}: {text} ({cells} cells)", file=sys.stderr)
    return jobs


def _listed(jobs: Sequence[CellJob]) -> str:
    """A table of cells, with the replications that are stored and missing."""
    names = [*PRINTED_COLUMNS, *varying([job.cell.columns for job in jobs])]
    rows = []
    for job in jobs:
        columns = job.cell.columns
        stored = min(job.stored_until, job.request.replications) + job.missing - job.left
        rows.append([*(columns.get(name, "") for name in names), stored, job.left])
    missing = sum(job.left for job in jobs)
    cached = sum(not job.missing for job in jobs)
    return (
        f"{in_columns([*names, 'stored', 'missing'], rows)}\n"
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


def in_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as text; pandas could do it too, but its import is slow."""
    words = [list(columns), *([_word(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in words)


def _word(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _megabytes(jobs: Sequence[CellJob]) -> float:
    """Estimated memory of a process: what this one uses, which has the same libraries, and the largest cell."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILO + max(map(_numbers, jobs), default=0) * 8 / KILO**2


def _numbers(job: CellJob) -> int:
    """How many numbers are in memory: the rows of a cell, and a running replication."""
    checkpoints, arms = len(job.cell.checkpoints), len(getattr(job.cell.instance, "gaps", ()))
    return job.request.replications * (2 * checkpoints + arms) + checkpoints * (2 + arms)


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
    for _, footer in store.look().copies if of_later else ():
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
        yield in_columns([*names, "replications", f"mean {headline}", "95 % interval"], rows)


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
