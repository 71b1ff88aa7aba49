"""A runner that simulates in array jobs of a SLURM cluster, through submitit."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bandits import ParameterError
from experiments.errors import UserError
from experiments.own_code.fan_out import Shipped
from experiments.simulate.block import Failure, Task
from experiments.simulate.failures import PolicyError
from experiments.simulate.job import CellJob, look_up
from experiments.simulate.runners import OtherProcesses, Runner, library
from experiments.simulate.status import Status
from experiments.simulate.sweep import without_damage
from experiments.store import Store

LOGS = ".slurm"
LOOK = 1.0  # seconds between two checks of the jobs


@dataclass(frozen=True)
class Slurm(Runner):
    """Array jobs of a SLURM cluster whose machines all share the folder of results. Raises `ParameterError`.

    A job does with the cells that it is given what the command does on one machine: it locks, saves and stores them,
    and records failures. The next array has those that killed jobs did not complete.

    Attributes
    ----------
    cluster: "local" runs the same jobs on this machine, to try them.
    partition, account, qos: their names on the cluster; None for its default.
    jobs: number of jobs of an array, each on one core.
    array_parallelism: how many of them may run at the same time; None for all.
    minutes, memory: time limit and memory of a job; memory in GB.
    """

    cluster: Literal["slurm", "local"] = "slurm"
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    jobs: int = 40
    array_parallelism: int | None = None
    minutes: int = 240
    memory: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("jobs", "array_parallelism", "minutes", "memory"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ParameterError(name, f"must be above 0, got {getattr(self, name)}")

    def run(self, jobs: Sequence[CellJob], store: Store) -> None:
        store = Store(store.root.resolve(), store.published and store.published.resolve())
        missing = without_damage(jobs, store)
        with Status(missing, store) as status, self._submitting_to(store.root / LOGS) as submit:
            again = False
            while missing:
                # Given out in turn, so that all jobs of an array take about the same time, which is not known before.
                parts = [missing[first :: self.jobs] for first in range(min(self.jobs, len(missing)))]
                work = [Work(Shipped([job.request for job in part]), store) for part in parts]
                running = dict(zip(submit(work), parts, strict=True))
                missing = []
                while running:
                    for job in [job for job in running if job.done()]:
                        missing += _left(job, running.pop(job), store, status, again)
                    time.sleep(LOOK if running else 0)
                again = True

    @contextmanager
    def _submitting_to(self, folder: Path) -> Iterator[Any]:
        """A function that submits an array; logs are in `folder`, until the end if no job was killed.

        Jobs that still run at the end are cancelled. Raises `UserError`.
        """
        with _readable():
            folder.mkdir(parents=True, exist_ok=True)
            logs = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=folder))
            executor = self._executor(logs)
        submitted: list[Any] = []

        def submit(work: Sequence[Work]) -> list[Any]:
            with _readable():
                jobs: list[Any] = executor.submit_array(work)
            submitted.extend(jobs)
            return jobs

        try:
            yield submit
        finally:
            for job in (job for job in submitted if not job.done()):
                job.cancel(check=False)
        if all(job.exception() is None for job in submitted):
            shutil.rmtree(logs, ignore_errors=True)

    def _executor(self, logs: Path) -> Any:
        """The executor of submitit, with the options of this runner."""
        of_cluster: dict[str, Any] = {"partition": self.partition, "account": self.account, "qos": self.qos}
        of_cluster["array_parallelism"] = self.array_parallelism or self.jobs
        of_cluster["signal_delay_s"] = min(90, 6 * self.minutes)  # before the time limit; a tenth of a short one
        executor = library("submitit", "slurm").AutoExecutor(folder=logs, cluster=self.cluster)
        executor.update_parameters(
            name="bandits",
            timeout_min=self.minutes,
            mem_gb=self.memory,
            cpus_per_task=1,
            **{f"slurm_{name}": value for name, value in of_cluster.items() if value is not None},
        )
        return executor


@contextmanager
def _readable() -> Iterator[None]:
    """Turn errors of submitting jobs into `UserError`."""
    try:
        yield
    except (RuntimeError, OSError, library("submitit.core.utils", "slurm").FailedSubmissionError) as error:
        raise UserError(f"runner=slurm: cannot submit: {' '.join(str(error).split())}") from error


def _left(ended: Any, part: Sequence[CellJob], store: Store, status: Status, again: bool) -> list[CellJob]:
    """Report what a job of an array did with its part of the cells; returns those of them to try again.

    If its second try gained nothing either, the first of them has failed.
    """
    error = ended.exception()
    if error is None:
        failures: list[Failure] = ended.result()
        for failure in failures:
            status.failed(failure, is_recorded=True)
        complete = {job.cell.key for job in part}.difference(failure.key for failure in failures)
        status.after(sum(job.left for job in part if job.cell.key in complete), len(complete))
        return []
    now = look_up([job.request for job in part], store)
    left = [job for job in now if job.missing]
    gained = sum(job.left for job in part) - sum(job.left for job in now)
    status.after(gained, len(part) - len(left))
    if left and again and not gained:
        first = left.pop(0)
        reason = str(error).strip().splitlines() or [type(error).__name__]
        why = f"the job that simulated it ended, as one before: {reason[-1]}"
        numbers = range(first.kept_until, first.request.replications)
        status.failed(Failure.of(Task(first.cell, numbers), first.kept_until, why, died=True))
    return left


@dataclass
class Work:
    """What a job of an array does: complete the cells of its `requests`, in a process of its own beside this one."""

    requests: Shipped
    store: Store

    def __call__(self) -> list[Failure]:
        """The failures of cells; of the others all replications are stored."""
        try:
            OtherProcesses(1).run(look_up(self.requests.open(), self.store), self.store)
        except PolicyError as error:
            return error.failures
        return []

    def checkpoint(self) -> Any:
        """What submitit queues again shortly before the time limit; what was simulated is saved as the job ends."""
        return library("submitit.helpers", "slurm").DelayedSubmission(self)
