"""Simulation of the cells of a plan, fanned out over processes."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from bandits.exact.regret import QuadratureError
from bandits.seeds import entropy
from experiments.cells import Cell, Rows
from experiments.cells.regret import RegretCell
from experiments.config.plan import Request
from experiments.errors import UserError
from experiments.own_code import NotRepeatableError, in_words, is_own, require_repeatable
from experiments.progress import Progress
from experiments.provenance import provenance
from experiments.results_file import DamagedFileError, set_aside
from experiments.store import Store, source_of
from experiments.stored import Stored
from experiments.worker import prepare

BLOCK = 5  # replications per task; fixed, so that what a task computes does not depend on the number of workers


@dataclass
class Job:
    """A cell with replications still to be simulated."""

    request: Request
    stored: Stored | None
    damage: str | None = None
    blocks: dict[int, "Block"] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The first replication that is missing."""
        return self.stored.replications if self.stored else 0

    @property
    def missing(self) -> int:
        return max(0, self.request.replications - self.first)

    def starts(self) -> range:
        return range(self.first, self.request.replications, BLOCK)

    @property
    def complete(self) -> bool:
        return len(self.blocks) == len(self.starts())

    def stored_now(self) -> Stored:
        """Stored and fresh replications together, with a footer that says how they came about. Call when `complete`."""
        cell = self.request.cell
        fresh = [self.blocks[start] for start in self.starts()]
        seconds = [second for block in fresh for second in block.seconds]
        run = {
            "replications": [self.first, self.request.replications],
            "seconds": sum(seconds),
            "typical_seconds": float(np.median(seconds)),  # of a replication; the first may have to compile
            **provenance(),
        }
        footer: dict[str, Any] = {
            **({} if cell.record == RegretCell.record else {"record": cell.record}),
            "key": cell.key,
            "identity": cell.identity,
            "revisions": {"instance": cell.instance.revision, "policy": cell.policy.revision},
            "columns": cell.columns,
            "caveats": list(cell.caveats),
            "source": source_of(cell),
            "config": self.request.config,
            "seed_entropy": str(entropy(cell.identity)),
            "runs": [*(self.stored.footer["runs"] if self.stored else []), run],
        }
        parts = [*([self.stored.rows] if self.stored else []), *(block.rows for block in fresh)]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in cell.fields}
        return Stored(rows, footer, cell)


@dataclass(frozen=True)
class Block:
    """Consecutive replications of a cell: their rows, and the time of each in seconds."""

    rows: Rows
    seconds: list[float]


@dataclass(frozen=True)
class Failure:
    """A block that came to nothing: of which policy, where, and why, in one line."""

    policy: str
    where: str
    why: str


def simulate_block(cell: Cell, start: int, stop: int) -> Block:
    """Replications `start` to `stop` - 1 of `cell`; depends on nothing else. Raises `ValueError` for wrong numbers."""
    rows, seconds = [], []
    for replication in range(start, stop):
        began = time.perf_counter()
        rows.append(cell.replicate(replication))
        seconds.append(time.perf_counter() - began)
    together = {name: np.array([row[name] for row in rows]) for name in cell.fields}
    cell.check(together, {"columns": cell.columns})
    return Block(together, seconds)


def look_up(requests: Sequence[Request], store: Store) -> list[Job]:
    """What of each request is stored already; nothing of a damaged file. Raises `UserError` for another class's."""
    jobs = []
    for request in requests:
        try:
            jobs.append(Job(request, store.read(request.cell, request.replications)))
        except DamagedFileError as damage:
            jobs.append(Job(request, None, damage=str(damage)))
        else:
            _require_same_class(jobs[-1], store.path(request.cell))
    return jobs


def _require_same_class(job: Job, path: Path) -> None:
    """Raise `UserError` if another class of the user, of the same name and parameters, stored what is asked for."""
    before = job.stored.footer["config"] if job.stored else {}
    for part in ("instance", "policy"):
        stored, asked = (config.get(part, {}).get("_target_") for config in (before, job.request.config))
        if stored not in (None, asked) and is_own(getattr(job.request.cell, part)):
            raise UserError(f"{path}: was stored by {stored}, not {asked}; give each a `name` of its own, or remove it")


def run(jobs: Sequence[Job], store: Store, workers: int) -> None:
    """Simulate what is missing; each cell is stored as soon as it is complete, so an interruption loses little.

    A damaged file is set aside first, and reported. A cell whose policy fails does not keep the others from being run;
    then `PolicyError` is raised at the end.
    """
    missing = [job for job in jobs if job.missing]
    for job in missing:
        _set_damaged_aside(job, store)
    failures: list[Failure] = []
    totals = {"cells": len(missing), "replications": sum(job.missing for job in missing)}
    with Progress("simulating", totals) as progress:
        for job, start, block in _blocks(missing, workers):
            if isinstance(block, Failure):
                failures.append(block)
                continue
            job.blocks[start] = block
            progress.after(block, replications=len(block.seconds))
            if job.complete:
                store.write(job.stored_now())
                job.blocks.clear()
                progress.after(job, cells=1)
    if failures:
        raise PolicyError(failures)


class PolicyError(Exception):
    """Policies failed in `failures`, a line for each reason; what else was asked for is complete and stored."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        found: dict[tuple[str, str], list[str]] = {}
        for failure in sorted(failures, key=lambda failure: failure.where):
            found.setdefault((failure.policy, failure.why), []).append(failure.where)
        super().__init__("\n".join(f"error: {of}: {why}: {_first(places)}" for (of, why), places in found.items()))


def _first(places: Sequence[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]}, and {len(places) - 1} times more"


def _set_damaged_aside(job: Job, store: Store) -> None:
    if job.damage:
        path = store.file(job.request.cell, job.request.replications)
        assert path is not None
        # what is published is not ours to move
        done = f"moved to {set_aside(path).name}" if path == store.path(job.request.cell) else "left where it is"
        print(f"warning: {path}: {job.damage}; {done}, recomputing", file=sys.stderr)


def _blocks(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, int, Block | Failure]]:
    """Every block that is missing, as it is done."""
    tasks = ((index, job, start) for index, job in enumerate(jobs) for start in job.starts())
    results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(
        joblib.delayed(_labelled_block)(
            os.getpid(), index, job.request.cell, range(start, min(start + BLOCK, job.request.replications)), job.first
        )
        for index, job, start in tasks
    )
    for index, start, block in results:
        yield jobs[index], start, block


def _labelled_block(parent: int, index: int, cell: Cell, block: range, first: int) -> tuple[int, int, Block | Failure]:
    """The replications in `block` as an outcome of the job `index`; `first` is the first that is missing there."""
    prepare(parent)
    try:
        require_repeatable(cell, block.start, first=block.start == first)
        return index, block.start, simulate_block(cell, block.start, block.stop)
    except (QuadratureError, NotRepeatableError, MemoryError) as error:  # refused rather than broken
        why = str(error)
    except (Exception, SystemExit) as error:
        why = in_words(error)
    where = f"{cell.identity}, replications {block.start} to {block.stop - 1}"
    return index, block.start, Failure(cell.policy.name, where, why)
