"""A sweep: simulate all cells of a plan that are not stored yet, and store each when it is complete."""

import math
import sys
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress

from experiments.cells import Cell
from experiments.config.progress import Progress
from experiments.errors import NotRepeatableError, UserError
from experiments.simulate.block import Failure, Task
from experiments.simulate.failures import Failures, PolicyError
from experiments.simulate.job import Job, look_up
from experiments.simulate.pieces import Pieces
from experiments.simulate.runners import Processes, Runner
from experiments.simulate.second_play import Played, SecondPlays, chosen, require_same
from experiments.simulate.status import Status
from experiments.store import LEASES, Store
from experiments.store.leases import Leases
from experiments.store.results_file import set_aside
from experiments.store.stored import Replications

PAUSE = 1.0  # seconds between two checks of the cells of other processes


def run(jobs: Sequence[Job], store: Store, workers: int) -> None:
    """Simulate what is missing with `workers` processes of this machine; see `run_on`."""
    run_on(Processes(workers), jobs, store)


def run_on(runner: Runner, jobs: Sequence[Job], store: Store) -> None:
    """Simulate what is missing; store each cell as soon as it is complete, and pieces of long cells before that.

    Damaged files are first reported and set aside. If cells fail, the others are simulated all the same, and
    `PolicyError` is raised at the end. Cells that another process is simulating are left to it and waited for.
    """
    missing = [job for job in jobs if job.missing]
    for job in missing:
        _set_damaged_aside(job, store)
    totals = {"cells": len(missing), "replications": sum(job.left for job in missing)}
    leases = Leases(store.root / LEASES)
    with (
        Progress("simulating", totals) as progress,
        Status(store.root, progress) as status,
        leases.renewed(),
    ):
        sweep = Sweep(runner, store, leases, progress, status)
        try:
            sweep.run(missing)
        finally:  # also after Ctrl-C
            sweep.save_all()
            sweep.second_plays.close()
    if sweep.failures:
        raise PolicyError(sweep.failures, store.root)


def similar(cell: Cell) -> Hashable:
    """What cells share whose replications take about the same time."""
    return cell.policy.name, cell.arms, cell.horizon


def _set_damaged_aside(job: Job, store: Store) -> None:
    if job.damage:
        place = store.place(job.cell, job.request.replications)
        assert place is not None
        # published files are not ours to move, nor is a pack, which has other cells
        done = f"moved to {set_aside(place.file).name}" if place.file == store.path(job.cell) else "left where it is"
        print(f"warning: {place}: {job.damage}; {done}, recomputing", file=sys.stderr)


class Sweep:
    """A running sweep: takes cells one by one, simulates what is missing, and stores them."""

    def __init__(self, runner: Runner, store: Store, leases: Leases, progress: Progress, status: Status) -> None:
        self.failures: list[Failure] = []
        self._runner, self._store, self._leases = runner, store, leases
        self._progress, self._status = progress, status
        self._took: dict[Hashable, tuple[float, int]] = {}  # seconds of how many replications, of similar cells
        self._pieces, self._records = Pieces(store.root), Failures(store.root)
        self._open: dict[str, Job] = {}  # cells whose lease this process has taken
        self._unsaved: dict[str, list[Replications]] = defaultdict(list)
        self._seconds: dict[str, float] = defaultdict(float)  # seconds of simulation that are unsaved
        self._saved: dict[str, float] = defaultdict(float)  # seconds of simulation in pieces
        self._killers: set[str] = set()  # cells that killed a worker
        self.second_plays = SecondPlays()
        self._asked: dict[str, Future[Played]] = {}  # second plays of cells with classes of the user

    def run(self, jobs: Sequence[Job]) -> None:
        """Complete `jobs`: first those that no other process has taken, then those that others did not finish."""
        waiting = self._round(jobs)
        if waiting:
            print(f"waiting for {len(waiting)} cells that other processes simulate", file=sys.stderr)
        while waiting:
            again = look_up([job.request for job in waiting], self._store)
            for before, job in zip(waiting, again, strict=True):
                if not job.missing:
                    self._progress.after(job, replications=before.left, cells=1)
            waiting = self._round([job for job in again if job.missing])
            if len(waiting) == len(again):
                time.sleep(PAUSE)

    def save_all(self) -> None:
        """Save what was simulated of cells that are not complete; errors of the file system are ignored."""
        with suppress(OSError, UserError):
            for key in list(self._unsaved):
                self._save(self._open[key])

    def _round(self, jobs: Sequence[Job]) -> list[Job]:
        """Complete those of `jobs` that no other process has taken; returns the others."""
        for job in jobs:
            if not job.left:
                self._finish(job)
        others: list[Job] = []
        tasks = self._tasks([job for job in jobs if job.left], others)
        with closing(self._runner.outcomes(tasks, lambda task: task.cell.key not in self._killers)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, Replications):
                    self._take(self._open[outcome.footer["key"]], outcome)
                else:
                    self._fail(self._open[outcome.key], outcome)
        for key in self._open:
            self._leases.release(key)
        return others

    def _tasks(self, jobs: Iterable[Job], others: list[Job]) -> Iterator[Task]:
        """The tasks of `jobs`, whose leases this process takes one by one; jobs that it cannot take go to `others`."""
        for job in jobs:
            key = job.cell.key
            if not self._leases.take(key):
                others.append(job)
            elif self._store.replications(job.cell) > job.first:  # another process has stored it meanwhile
                self._leases.release(key)
                others.append(job)
            else:
                self._open[key] = job
                if job.cell.own:
                    self._asked[key] = self._ask(job)
                for task in job.tasks(self._typical(job.cell)):
                    if key in self._killers:
                        break
                    yield task

    def _typical(self, cell: Cell) -> float:
        """Mean seconds of a replication of similar cells in this sweep, infinite if there is none yet."""
        seconds, count = self._took.get(similar(cell), (math.inf, 1))
        return seconds / count

    def _take(self, job: Job, block: Replications) -> None:
        """Add simulated replications to their cell; save or store it if that is due."""
        new = job.add(block)
        if not new:  # a piece of another job of the array has them too
            return
        seconds, count = self._took.get(similar(job.cell), (0.0, 0))
        self._took[similar(job.cell)] = seconds + float(block.seconds.sum()), count + len(block.seconds)
        self._progress.after(block, replications=new)
        if not job.left:
            self._finish(job)
            return
        key = job.cell.key
        self._unsaved[key].append(block)
        self._seconds[key] += float(block.seconds.sum())
        if self._pieces.is_due(self._seconds[key], self._saved[key]):
            self._save(job)
            self._saved[key] += self._seconds.pop(key)

    def _ask(self, job: Job) -> "Future[Played]":
        return self.second_plays.ask(job.cell, chosen(job.cell, range(job.first, job.request.replications)))

    def _save(self, job: Job) -> None:
        with self._store.writing():
            self._pieces.save(self._unsaved.pop(job.cell.key))

    def _finish(self, job: Job) -> None:
        """Store a complete cell; one with a class of the user fails if its second play gives other numbers."""
        key = job.cell.key
        stored = job.stored_now()
        if job.cell.own:
            numbers = range(job.first, job.request.replications)
            again = self._asked.pop(key, None) or self._ask(job)
            rows = {name: values[job.first :] for name, values in stored.rows.items()}
            try:
                require_same(job.cell, rows, numbers, again.result())
            except NotRepeatableError as error:
                self._pieces.remove(job.cell)
                self._unsaved.pop(key, None)
                self._fail(job, Failure.of(Task(job.cell, numbers), numbers.start, str(error)))
                return
        self._store.write(stored)
        self._pieces.remove(job.cell)
        self._records.forget(key)
        self._unsaved.pop(key, None)
        self._leases.release(key)
        job.blocks.clear()
        self._progress.after(job, cells=1)

    def _fail(self, job: Job, failure: Failure) -> None:
        """Note the failure of a block; no more tasks of a cell that killed its worker are tried."""
        earlier = [before.numbers.start for before in self.failures if before.key == failure.key]
        self.failures.append(failure)
        self._status.failed(failure)
        if failure.died:
            self._killers.add(failure.key)
        if not earlier or failure.numbers.start < min(earlier):
            with self._store.writing():
                self._records.record(job.request, failure)
