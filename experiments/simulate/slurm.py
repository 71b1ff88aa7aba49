"""Simulation by one array job of a SLURM cluster, through submitit."""

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bandits import ParameterError
from experiments.cells import Cell
from experiments.errors import UserError
from experiments.simulate.block import Failure, Outcome, Task, attempt
from experiments.simulate.pieces import Pieces
from experiments.simulate.remote import Parcel, library
from experiments.simulate.runners import Outcomes, Runner
from experiments.stored import Replications

LOGS = ".slurm"
LOOK = 1.0  # seconds between two looks at the jobs
Numbered = tuple[int, Task]


@dataclass(frozen=True)
class Slurm(Runner):
    """One array job of a SLURM cluster whose machines all see the folder `results`. Raises `ParameterError`.

    Attributes
    ----------
    cluster: "local" runs the same jobs on this machine, for a try.
    partition: of the cluster; None for its default.
    jobs: of the array, each on one core.
    minutes, memory: what a job may take; memory in GB.
    """

    results: str = ""
    cluster: Literal["slurm", "local"] = "slurm"
    partition: str | None = None
    jobs: int = 40
    minutes: int = 240
    memory: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "minutes", "memory"):
            if not getattr(self, name) > 0:
                raise ParameterError(name, f"must be above 0, got {getattr(self, name)}")

    def outcomes(self, tasks: Iterable[tuple[int, Task]]) -> Outcomes:
        """Every job gets every so manieth task, so that all take about as long; how long is not known before.

        A job that ends before it is done, as its time is over or it was killed, has what it did kept in pieces;
        another job gets the rest, one replication at a time. That at which a job ends which did nothing else is a
        failure. Where all went well nothing is kept of the jobs.
        """
        every = list(tasks)
        logs, well = self._logs(), True
        waiting = [self._submitted([every[first :: self.jobs] for first in range(min(self.jobs, len(every)))], logs)]
        try:
            while any(waiting):
                time.sleep(LOOK)
                again: list[list[Numbered]] = []
                for batch in waiting:
                    for sent in [sent for sent in batch if sent.job.done()]:
                        batch.remove(sent)
                        for number, outcome in self._after(sent, again):
                            well = well and isinstance(outcome, Replications)
                            yield number, outcome
                well = well and not again
                waiting.append(self._submitted(again, logs, careful=True))
        finally:
            for sent in (sent for batch in waiting for sent in batch):
                with suppress(Exception):  # it may have ended just now
                    sent.job.cancel(check=False)
        if well:
            shutil.rmtree(logs, ignore_errors=True)

    def _logs(self) -> Path:
        """A new folder for what jobs say, and how they are handed over. Raises `UserError`."""
        folder = Path(self.results).resolve() / LOGS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=folder))
        except OSError as error:
            raise UserError(f"runner=slurm: cannot submit: {error}") from error

    def _submitted(self, chunks: Sequence[list[Numbered]], logs: Path, careful: bool = False) -> list["_Sent"]:
        """One array job, a job for each of the chunks. Raises `UserError`."""
        if not chunks:
            return []
        submitit = library("submitit", "slurm")
        results = Path(self.results).resolve()
        partition = {} if self.partition is None else {"slurm_partition": self.partition}
        try:
            executor = submitit.AutoExecutor(folder=logs, cluster=self.cluster)
            executor.update_parameters(
                name="bandits", timeout_min=self.minutes, mem_gb=self.memory, cpus_per_task=1, **partition
            )
            parcels = [Parcel.of(chunk) for chunk in chunks]
            root = str(results)
            sent = executor.map_array(simulate, parcels, [root] * len(parcels), [careful] * len(parcels))
        except (RuntimeError, OSError, submitit.core.utils.FailedSubmissionError) as error:
            raise UserError(f"runner=slurm: cannot submit: {' '.join(str(error).split())}") from error
        pieces = Pieces(results)
        return [
            _Sent(job, chunk, careful, Kept(pieces, chunk).replications if careful else 0)
            for job, chunk in zip(sent, chunks, strict=True)
        ]

    def _after(self, sent: "_Sent", again: list[list[Numbered]]) -> Iterator[tuple[int, Outcome]]:
        """The outcomes of a job that ended; what is left of it goes to `again`."""
        try:
            found: list[tuple[int, Outcome]] = sent.job.result()
            yield from found
            return
        except Exception as error:  # of whatever kind: it was killed, or could not begin
            why = f"the job {sent.job.job_id} that simulated it ended, as one before: {_last_line(error)}"
        kept = Kept(Pieces(Path(self.results)), sent.tasks)
        yield from ((number, kept.block(task)) for number, task in sent.tasks if not kept.missing(task))
        left = [(number, task) for number, task in sent.tasks if kept.missing(task)]
        if sent.careful and left and kept.replications == sent.kept:  # it ended at the first that it tried
            number, task = left.pop(0)
            yield number, Failure.of(task, kept.missing(task)[0], why, died=True)
        if left:
            again.append(left)


@dataclass(frozen=True)
class _Sent:
    """A job on its way.

    Attributes
    ----------
    careful: whether it keeps each replication by itself.
    kept: how many replications of its tasks were in pieces when it was sent.
    """

    job: Any
    tasks: list[Numbered]
    careful: bool
    kept: int


class Kept:
    """What is in pieces of some tasks."""

    def __init__(self, pieces: Pieces, tasks: Iterable[Numbered]) -> None:
        self._tasks = [task for _, task in tasks]
        known, cells = pieces.keys(), {task.cell.key: task.cell for task in self._tasks}
        self._blocks = {key: pieces.read(cell) if key in known else [] for key, cell in cells.items()}
        self._numbers = {
            key: {int(number) for block in of for number in block.numbers} for key, of in self._blocks.items()
        }

    @property
    def replications(self) -> int:
        """How many replications of the tasks."""
        return sum(len(task.numbers) - len(self.missing(task)) for task in self._tasks)

    def missing(self, task: Task) -> list[int]:
        """The replications of a task that are not kept."""
        return [number for number in task.numbers if number not in self._numbers[task.cell.key]]

    def block(self, task: Task) -> Replications:
        """The replications of a task of which none is missing."""
        joined = Replications.joined(self._blocks[task.cell.key])
        return joined.at(np.flatnonzero(np.isin(joined.numbers, task.numbers)))


def simulate(parcel: Parcel, root: str, careful: bool) -> list[tuple[int, Outcome]]:
    """What a job of the array does: its tasks in order, with pieces kept for the case that it is ended.

    What is in pieces already, of a job that was ended and began again, is not simulated a second time.
    """
    tasks, pieces = parcel.tasks(), Pieces(Path(root))
    kept = Kept(pieces, tasks)
    found, unsaved = list[tuple[int, Outcome]](), list[tuple[Task, Replications]]()
    for number, task in tasks:
        if not kept.missing(task):
            found.append((number, kept.block(task)))
            continue
        outcome = _one_by_one(pieces, task, kept.missing(task)) if careful else attempt(task)
        found.append((number, outcome))
        if isinstance(outcome, Replications):
            unsaved.append((task, outcome))
        if pieces.is_due(sum(float(block.seconds.sum()) for _, block in unsaved), 0.0):
            _save(pieces, unsaved)
    _save(pieces, unsaved)  # the command that asked may have ended meanwhile
    return found


def _save(pieces: Pieces, unsaved: list[tuple[Task, Replications]]) -> None:
    """Keep them, a piece for each cell."""
    of_cells: dict[str, tuple[Cell, list[Replications]]] = {}
    for task, block in unsaved:
        of_cells.setdefault(task.cell.key, (task.cell, []))[1].append(block)
    for cell, blocks in of_cells.values():
        pieces.save(cell, blocks)
    unsaved.clear()


def _one_by_one(pieces: Pieces, task: Task, missing: Iterable[int]) -> Outcome:
    """The outcome of a task, each replication that is missing kept as soon as it is there."""
    for number in missing:
        outcome = attempt(Task(task.cell, range(number, number + 1)))
        if isinstance(outcome, Failure):
            return outcome
        pieces.save(task.cell, [outcome])
    return Kept(pieces, [(0, task)]).block(task)


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
