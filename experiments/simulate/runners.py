"""Where blocks are simulated: processes or threads of this machine. The numbers are the same everywhere."""

import os
import signal
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import joblib

from bandits import ParameterError
from experiments.fan_out import delayed
from experiments.own_code import in_words
from experiments.simulate.block import Failure, Outcome, Task, attempt
from experiments.worker import prepare

MOST_WORKERS = 1024
Outcomes = Generator[tuple[int, Outcome], None, None]  # each with the number of its task


class WorkerLostError(Exception):
    """A process that simulated was ended from outside, most often as memory ran out."""


@dataclass(frozen=True)
class Runner(ABC):
    """A way to simulate tasks.

    `workers` are processes of this machine, -1 for one per core; where tasks go elsewhere, for what is left here, as
    drawing. Raises `ParameterError`.
    """

    workers: int = -1

    def __post_init__(self) -> None:
        if self.workers < 1 and self.workers != -1:
            raise ParameterError("workers", f"must be at least 1, or -1 for one per core, got {self.workers}")
        if self.workers > MOST_WORKERS:
            raise ParameterError("workers", f"must be at most {MOST_WORKERS}, got {self.workers}")

    @abstractmethod
    def outcomes(self, tasks: Iterable[tuple[int, Task]]) -> Outcomes:
        """The outcome of every task, by its number, as they come about; tasks are asked for as processes are free.

        Closing the iterator ends what is being simulated. Raises `WorkerLostError`; a task that has no outcome then
        can be given again.
        """


class Local(Runner):
    """This machine."""

    backend: ClassVar[str]

    def outcomes(self, tasks: Iterable[tuple[int, Task]]) -> Outcomes:
        return parallel(tasks, joblib.Parallel(self.workers, return_as="generator_unordered", backend=self.backend))


class Processes(Local):
    """Processes of this machine, which joblib starts by loky; for one worker, this process."""

    backend = "loky"


class Threads(Local):
    """Threads of this process: for machines that start no processes. Python runs one at a time, compiled loops all."""

    backend = "threading"


def parallel(tasks: Iterable[tuple[int, Task]], over: joblib.Parallel) -> Outcomes:
    """See `Runner.outcomes`."""
    found = over(delayed(_numbered)(os.getpid(), number, task) for number, task in tasks)
    try:
        yield from found
    except BrokenProcessPool as error:
        raise WorkerLostError(_reason(str(error))) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what is being simulated is lost
            found.close()


def _reason(message: str) -> str:
    """How the process ended, if joblib says so, as in SIGKILL(-9)."""
    return message.partition("{")[2].partition("}")[0]


def _numbered(parent: int, number: int, task: Task) -> tuple[int, Outcome]:
    if os.getpid() != parent:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    prepare(parent)
    try:
        return number, attempt(task)
    except KeyboardInterrupt as error:
        if os.getpid() == parent:
            raise
        return number, Failure.of(task, task.numbers.start, in_words(error))  # which the policy raised


class Given(Iterator[tuple[int, Task]]):
    """Tasks on their way to a runner: each gets a number, and is known until its outcome is there."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self._lock = threading.Lock()  # joblib asks from several threads
        self._next = 0
        self.open: dict[int, Task] = {}

    def __next__(self) -> tuple[int, Task]:
        with self._lock:
            task = next(self._tasks)
            self._next += 1
            self.open[self._next] = task
            return self._next, task
