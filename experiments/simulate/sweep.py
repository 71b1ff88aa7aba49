"""A sweep: simulate all cells of a plan that are not stored yet, and store each when it is complete."""

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from itertools import chain

from experiments.errors import NotRepeatableError, UserError
from experiments.simulate.block import Attempted, Failure, Task
from experiments.simulate.failures import Failures
from experiments.simulate.job import CellJob, begun_in, look_up
from experiments.simulate.second_play import Again, chosen, play_again, require_same, stop_plays
from experiments.simulate.status import Status
from experiments.store import Store
from experiments.store.locks import Locks, alone
from experiments.store.results_file import set_aside, write_file
from experiments.store.stored import Replications
from experiments.store.whole_files import remove_file

PAUSE = 1.0  # seconds between two checks of the cells of other processes
SAVE, SHARE = 5.0, 0.05  # what a cell gained is saved after these seconds, plus this share of the time spent on it
Outcomes = Callable[[Iterator[Task], Callable[[Task], bool]], Generator[Attempted, None, None]]


def sweep(outcomes: Outcomes, jobs: Sequence[CellJob], store: Store) -> None:
    """Simulate what is missing by the `outcomes` of a runner; store each cell as soon as it is complete.

    What a cell gained is saved from time to time before that, and at the end. If cells fail, the others are simulated
    all the same, and `PolicyError` is raised at the end. Cells that another process is simulating are left to it and
    waited for.
    """
    missing = without_damage(jobs, store)
    if missing:
        store.check_writable()
    with Status(missing, store) as status:
        running = Sweep(outcomes, store, status)
        try:
            running.run(missing)
        finally:  # also after Ctrl-C
            running.end()


def without_damage(jobs: Sequence[CellJob], store: Store) -> list[CellJob]:
    """The jobs that lack replications, after their damaged files were reported and set aside."""
    missing = [job for job in jobs if job.missing]
    for job in missing:
        if job.damage:
            _report_damage(job, store)
    return missing


def _report_damage(job: CellJob, store: Store) -> None:
    """Report a damaged file and set it aside, unless another process has done so, or stored a sound one, meanwhile."""
    with store.writing(), alone(store.root, f"{job.cell.key}-write"):
        (now,) = look_up([job.request], store)
        place = store.place(job.cell, job.request.replications)
        if now.damage is None or place is None:
            return
        # published files are not ours to move, nor is a pack, which has other cells
        done = f"moved to {set_aside(place.file).name}" if place.file == store.path(job.cell) else "left where it is"
    print(f"warning: {place}: {now.damage}; {done}, recomputing", file=sys.stderr)


class Sweep:
    """A running sweep: takes cells one by one, simulates what is missing, and stores them.

    The runner pulls tasks from `_tasks`, which locks a cell and looks it up once more before its first task. `_round`
    pulls what workers have simulated from the runner, and `_take` appends it to the cell. So `_tasks` sees how long the
    last block took when it is asked for the next one.
    """

    def __init__(self, outcomes: Outcomes, store: Store, status: Status) -> None:
        self._outcomes, self._store, self._status = outcomes, store, status
        self._locks, self._records, self._begun = Locks(store.root), Failures(store.root), begun_in(store)
        self._open: dict[str, CellJob] = {}  # cells that are not complete, whose locks this process has taken
        self._opened: dict[str, float] = {}  # when
        self._saved: dict[str, float] = {}  # when what was simulated of them was last saved
        self._killers: set[str] = set()  # cells that killed a worker
        self._again: dict[str, Future[Again]] = {}  # second plays of cells with classes of the user

    def run(self, jobs: Sequence[CellJob]) -> None:
        """Complete `jobs`: first those that no other process has taken, then those that others did not finish."""
        waiting = self._round(jobs)
        if waiting:
            print(f"waiting for {len(waiting)} cells that other processes simulate", file=sys.stderr)
        while waiting:
            time.sleep(PAUSE)
            waiting = self._round(waiting)

    def end(self) -> None:
        """Save what was simulated of cells that are not complete; errors of the file system are ignored."""
        with suppress(OSError, UserError):
            for job in self._open.values():
                self._save(job)
        self._locks.release_all()
        stop_plays(self._again.values())

    def _round(self, jobs: Sequence[CellJob]) -> list[CellJob]:
        """Complete those of `jobs` that no other process has taken; returns the others."""
        others: list[CellJob] = []
        tasks = self._tasks(jobs, others)
        for first in tasks:  # without a task no runner is started
            wanted = chain([first], tasks)
            with closing(self._outcomes(wanted, lambda task: task.cell.key not in self._killers)) as outcomes:
                for outcome in outcomes:
                    if isinstance(outcome, Replications):
                        self._take(self._open[outcome.footer["key"]], outcome)
                    else:
                        self._fail(outcome)
        for job in self._open.values():  # they failed
            self._save(job)
        self._open.clear()
        self._locks.release_all()
        return others

    def _tasks(self, jobs: Iterable[CellJob], others: list[CellJob]) -> Iterator[Task]:
        """The tasks of `jobs`, whose locks this process takes one by one; jobs that it cannot take go to `others`."""
        for before in jobs:
            key = before.cell.key
            if not self._locks.take(key):
                others.append(before)
                continue
            (job,) = look_up([before.request], self._store)  # another process may have simulated it meanwhile
            self._status.after(replications=before.left - job.left)
            if not job.missing:
                self._status.after(cells=1)
                self._locks.release(key)
                continue
            self._open[key] = job
            self._opened[key] = self._saved[key] = time.monotonic()
            if job.cell.own:
                numbers = chosen(job.cell, range(job.stored_until, job.request.replications))
                self._again[key] = play_again(job.cell, job.request.config, numbers)
            if not job.left:
                self._finish(job)
            for task in job.tasks():
                if key in self._killers:
                    break
                yield task

    def _take(self, job: CellJob, block: Replications) -> None:
        """Add simulated replications to their cell; save or store it if that is due."""
        key, now = job.cell.key, time.monotonic()
        job.blocks.append(block)
        self._status.after(replications=block.replications)
        if not job.left:
            self._finish(job)
        elif now - self._saved[key] > SAVE + SHARE * (self._saved[key] - self._opened[key]):
            self._save(job)
            self._saved[key] = now

    def _save(self, job: CellJob) -> None:
        """Save what was simulated of a cell that is not complete."""
        stored = job.joined_so_far()
        if stored and stored.replications > job.kept_until:
            with self._store.writing():
                write_file(self._begun.path(job.cell), stored)

    def _finish(self, job: CellJob) -> None:
        """Store a complete cell; one with a class of the user fails if its second play gives other numbers."""
        key = job.cell.key
        stored = job.joined_so_far()
        assert stored is not None
        if job.cell.own:
            numbers = range(job.stored_until, stored.replications)
            rows = {name: values[job.stored_until :] for name, values in stored.rows.items()}
            try:
                require_same(job.cell, rows, numbers, self._again[key].result())
            except NotRepeatableError as error:
                self._close(job)
                self._fail(Failure.of(Task(job.cell, numbers), numbers.start, str(error)))
                return
        self._store.write(stored)
        self._close(job)
        self._records.forget(key)
        self._locks.release(key)
        self._status.after(cells=1)

    def _close(self, job: CellJob) -> None:
        """Forget what was simulated of a cell."""
        del self._open[job.cell.key]
        self._again.pop(job.cell.key, None)
        with suppress(OSError):
            remove_file(self._begun.path(job.cell))  # the lock of the cell is ours

    def _fail(self, failure: Failure) -> None:
        """Note the failure of a block; no more tasks of a cell that killed its worker are tried."""
        self._status.failed(failure)
        if failure.died:
            self._killers.add(failure.key)
