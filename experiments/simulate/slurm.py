"""A runner that simulates in array jobs of a SLURM cluster, through submitit."""

import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from bandits import ParameterError
from experiments.errors import UserError
from experiments.own_code.fan_out import Shipped
from experiments.simulate.block import Attempted, Failure, Task, attempt
from experiments.simulate.pieces import Pieces
from experiments.simulate.runners import Batch, Runner, library
from experiments.store.stored import Replications

LOGS = ".slurm"
LOOK = 1.0  # seconds between two checks of the jobs
REQUEUED = 10**6  # how often a job may be requeued after a timeout; in effect without limit


@dataclass(frozen=True)
class Slurm(Runner):
    """Array jobs of a SLURM cluster whose machines all share the folder `results`. Raises `ParameterError`.

    The first array has all tasks; the next one those that killed jobs did not finish. What these did is in pieces.

    Attributes
    ----------
    cluster: "local" runs the same jobs on this machine, to try them.
    partition, account, qos: their names on the cluster; None for its default.
    jobs: number of jobs of an array, each on one core.
    array_parallelism: how many of them may run at the same time; None for all.
    minutes, memory: time limit and memory of a job; memory in GB.
    """

    results: str = ""
    cluster: Literal["slurm", "local"] = "slurm"
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    jobs: int = 40
    array_parallelism: int | None = None
    minutes: int = 240
    memory: float = 4.0

    killed: ClassVar[tuple[type[BaseException], ...]] = (Exception,)  # also if a job could not start
    most_retries: ClassVar[int] = 10**6  # a killed job does not end the others

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "array_parallelism", "minutes", "memory"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ParameterError(name, f"must be above 0, got {getattr(self, name)}")

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        """The executor of submitit, with a folder for logs that is removed if no job was killed. Raises `UserError`."""
        submitit = library("submitit", "slurm")
        of_cluster: dict[str, Any] = {"partition": self.partition, "account": self.account, "qos": self.qos}
        of_cluster["array_parallelism"] = self.array_parallelism or self.jobs
        of_cluster["signal_delay_s"] = min(90, 6 * self.minutes)  # before the time limit; a tenth of a short one
        with _submitting():
            self._logs.mkdir(parents=True, exist_ok=True)
            logs = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=self._logs))
            timeouts = {f"{self.cluster}_max_num_timeout": REQUEUED}
            executor = submitit.AutoExecutor(folder=logs, cluster=self.cluster, **timeouts)
            executor.update_parameters(
                name="bandits",
                timeout_min=self.minutes,
                mem_gb=self.memory,
                cpus_per_task=1,
                **{f"slurm_{name}": value for name, value in of_cluster.items() if value is not None},
            )
        submitted: list[Any] = []
        try:
            yield (executor, submitted), self.jobs
        finally:
            for job in (job for job in submitted if not job.done()):
                job.cancel(check=False)
        if all(job.exception() is None for job in submitted):
            shutil.rmtree(logs, ignore_errors=True)

    def batches(self, tasks: Iterator[Task]) -> Iterator[Batch]:
        """The tasks, dealt round-robin to the jobs, so that all take about the same time, which is not known before."""
        every = list(tasks)
        return (Batch(every[first :: self.jobs]) for first in range(min(self.jobs, len(every))))

    def submit(self, executor: Any, batches: Sequence[Batch]) -> list[Any]:
        if not batches:
            return []
        array, submitted = executor
        root = str(Path(self.results).resolve())
        with _submitting():
            jobs: list[Any] = array.submit_array([Work(Shipped(batch.tasks), root, batch.again) for batch in batches])
        submitted += jobs
        return jobs

    def completed(self, futures: Collection[Any]) -> Collection[Any]:
        while not (done := [job for job in futures if job.done()]):
            time.sleep(LOOK)
        return done

    def after_kill(self, batch: Batch, error: BaseException) -> tuple[list[Attempted], list[Batch]]:
        saved, left = _saved(Pieces(Path(self.results)), batch.one_by_one())
        if batch.again and len(left) == len(batch.tasks):  # nothing was saved: its first task killed it
            *_, reason = str(error).strip().splitlines() or [type(error).__name__]
            why = f"the job that simulated it ended, as one before: {reason}"
            return [*saved, Failure.of(left[0], left[0].numbers.start, why, died=True)], [Batch(left[1:], again=True)]
        return saved, [Batch(left, again=True)]

    @property
    def _logs(self) -> Path:
        return Path(self.results).resolve() / LOGS


@contextmanager
def _submitting() -> Iterator[None]:
    """Turn errors of submitting jobs into `UserError`."""
    try:
        yield
    except (RuntimeError, OSError, library("submitit.core.utils", "slurm").FailedSubmissionError) as error:
        raise UserError(f"runner=slurm: cannot submit: {' '.join(str(error).split())}") from error


def _saved(pieces: Pieces, tasks: Sequence[Task]) -> tuple[list[Attempted], list[Task]]:
    """The pieces of the cells of some tasks, and the tasks that are not completely in them."""
    saved = pieces.keys()
    cells = {task.cell.key: task.cell for task in tasks if task.cell.key in saved}
    blocks = [block for cell in cells.values() for block in pieces.read(cell)]
    there = {(block.footer["key"], number) for block in blocks for number in block.numbers.tolist()}
    left = [task for task in tasks if any((task.cell.key, number) not in there for number in task.numbers)]
    return [*blocks], left


@dataclass
class Work:
    """What a job of an array does: simulate its tasks in order, and save pieces in case it is killed.

    Attributes
    ----------
    tasks: of the job; those that are already in pieces are not simulated again.
    root: the folder of results.
    again: whether an earlier job with these tasks was killed. Then each task is saved immediately, so that the first
        task that is not saved is the one that kills.
    """

    tasks: Shipped
    root: str
    again: bool
    _unsaved: list[Replications] = field(default_factory=list, init=False)
    _saved: bool = field(default=False, init=False)
    _is_over: bool = field(default=False, init=False)

    def __call__(self) -> list[Attempted]:
        """Simulate the tasks; returns the outcome of each."""
        saved, left = _saved(Pieces(Path(self.root)), self.tasks.open())
        for task in left:
            outcome = attempt(task)
            if self._is_over:  # the signal ended the replication, the policy did not fail
                sys.exit(library("submitit.local.local", "slurm").LOCAL_REQUEUE_RETURN_CODE if self._saved else 1)
            saved.append(outcome)
            self._unsaved += [outcome] if isinstance(outcome, Replications) else []
            if self.again or Pieces.is_due(sum(float(block.seconds.sum()) for block in self._unsaved), 0.0):
                self._save()
        self._save()  # the command that submitted the job may have ended meanwhile
        return saved

    def checkpoint(self) -> Any:
        """What submitit requeues shortly before the time limit of the job; None if the job has simulated nothing."""
        self._save()
        self._is_over = True
        again = Work(self.tasks, self.root, self.again)
        return library("submitit.helpers", "slurm").DelayedSubmission(again) if self._saved else None

    def _save(self) -> None:
        Pieces(Path(self.root)).save(self._unsaved)
        self._saved = self._saved or bool(self._unsaved)
        self._unsaved.clear()
