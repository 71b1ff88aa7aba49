"""Runners: simulate blocks in processes or threads of this machine, or with Dask. The numbers are always the same.

A runner submits batches of tasks to an executor and collects their futures. If the worker of a batch is killed, the
batch is retried one replication at a time; a replication that kills its worker again is a failure.
"""

import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import islice
from multiprocessing.pool import ThreadPool
from typing import Any, ClassVar

import joblib
from joblib.externals import loky

from bandits import ParameterError
from experiments.errors import UserError
from experiments.own_code.fan_out import Shipped, call_shipped
from experiments.own_code.user_code import in_words
from experiments.process import ONE_THREAD
from experiments.simulate.block import Attempted, Failure, Task, attempt
from experiments.simulate.worker import follow, prepare

MOST_WORKERS = 1024
IDLE = 300.0  # seconds after which a process without work ends
WAIT = 20  # seconds for a Dask scheduler to answer
Attempts = Generator[Attempted, None, None]


@dataclass(frozen=True)
class Batch:
    """Tasks that one worker simulates, in their order; in a retry (`again`) each has a single replication."""

    tasks: list[Task]
    again: bool = False

    def one_by_one(self) -> list[Task]:
        """A task for each replication of the batch."""
        return [Task(task.cell, range(number, number + 1)) for task in self.tasks for number in task.numbers]


@dataclass(frozen=True)
class Runner(ABC):
    """A way to simulate tasks.

    Attributes
    ----------
    workers: processes of this machine, -1 for one per core; if tasks are simulated elsewhere, only for other work, such
        as drawing. Raises `ParameterError`.
    killed: the exceptions of a future whose worker was killed.
    most_retries: how many batches are retried at the same time; one if a killed worker ends the others too.
    """

    workers: int = -1

    killed: ClassVar[tuple[type[BaseException], ...]] = ()
    most_retries: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.workers < 1 and self.workers != -1:
            raise ParameterError("workers", f"must be at least 1, or -1 for one per core, got {self.workers}")
        if self.workers > MOST_WORKERS:
            raise ParameterError("workers", f"must be at most {MOST_WORKERS}, got {self.workers}")

    @abstractmethod
    def executor(self) -> AbstractContextManager[tuple[Any, int]]:
        """An executor for `submit`, and how many batches to submit at a time, so that no worker is idle.

        An error within the context ends what is being simulated.
        """

    def batches(self, tasks: Iterator[Task]) -> Iterator[Batch]:
        """The tasks as batches; here each task is a batch, and they are made lazily, see `Job.tasks`."""
        return (Batch([task]) for task in tasks)

    def submit(self, executor: Any, batches: Sequence[Batch]) -> list[Any]:
        """A future for each batch, whose result is the list of outcomes of its tasks."""
        work = [Shipped((attempts, (os.getpid(), batch.tasks), {})) for batch in batches]
        return [executor.submit(call_shipped, shipped) for shipped in work]

    def completed(self, futures: Collection[Any]) -> Collection[Any]:
        """The futures that are done; waits for at least one."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def after_kill(self, batch: Batch, error: BaseException) -> tuple[list[Attempted], list[Batch]]:
        """For a batch whose worker was killed: the outcomes that are known, and the batches to retry."""
        if not batch.again:
            return [], [Batch([task], again=True) for task in batch.one_by_one()]
        how = str(error).partition("{")[2].partition("}")[0]  # from the message of loky, as in {SIGKILL(-9)}
        ended = f"killed twice{how and f' ({how})'}, most often as memory ran out"
        why = f"the process that simulated it was {ended}"
        return [Failure.of(batch.tasks[0], batch.tasks[0].numbers.start, why, died=True)], []

    def outcomes(self, tasks: Iterator[Task], wanted: Callable[[Task], bool]) -> Attempts:
        """The outcome of every task, in the order in which they finish; tasks that are not `wanted` are not retried.

        Closing the generator ends what is being simulated.
        """
        batches, again, running = self.batches(tasks), list[Batch](), dict[Any, Batch]()
        with self.executor() as (executor, room):
            while True:
                new = list(islice(batches, max(0, room - len(running))))
                if not new and not running:
                    left = [replace(batch, tasks=[*filter(wanted, batch.tasks)]) for batch in again]
                    again = [batch for batch in left if batch.tasks]
                    new, again = again[: self.most_retries], again[self.most_retries :]
                    if not new:
                        return
                running.update(zip(self.submit(executor, new), new, strict=True))
                for future in self.completed(running):
                    batch = running.pop(future)
                    try:
                        yield from future.result()
                    except self.killed as error:
                        outcomes, more = self.after_kill(batch, error)
                        again += more
                        yield from outcomes


class Processes(Runner):
    """Processes of this machine, started by loky; with one worker, this process alone."""

    killed = (BrokenProcessPool,)

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        workers = joblib.cpu_count() if self.workers == -1 else self.workers
        if workers == 1:
            yield Here(), 1
            return
        processes = OfProcesses(workers)
        try:
            yield processes, 2 * workers
        except BaseException:
            processes.end()
            raise


class Threads(Runner):
    """Threads of this process, if no processes can be started. Only compiled loops run in parallel, not Python code."""

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        workers = joblib.cpu_count() if self.workers == -1 else self.workers
        with OfThreads(workers) as threads:
            yield threads, 2 * workers


@dataclass(frozen=True)
class Dask(Runner):
    """The workers of a Dask `scheduler`, an address as tcp://127.0.0.1:8786. Raises `ParameterError`."""

    scheduler: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scheduler:
            raise ParameterError("scheduler", "must be the address of a Dask scheduler, as in tcp://127.0.0.1:8786")

    @property
    def killed(self) -> tuple[type[BaseException], ...]:  # type: ignore[override]  # imported where it is needed
        """What Dask raises for a task that has killed several workers."""
        return (library("distributed", "dask").KilledWorker,)

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        distributed = library("distributed", "dask")
        try:
            client = distributed.Client(self.scheduler, timeout=WAIT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UserError(f"runner.scheduler={self.scheduler}: no Dask scheduler answers at this address") from error
        with client:
            yield client.get_executor(pure=False), 2 * max(1, sum(client.nthreads().values()))


class Here:
    """An executor that runs everything at once in this process."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call the function now; a future with its result."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


class OfProcesses:
    """Processes of this machine; if one is killed, loky ends all of them, and new ones are started."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._submitted: deque[Any] = deque(maxlen=2 * workers)  # those before have ended

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future of the result of the function in one of the processes."""
        try:
            future = _processes(self._workers).submit(function, *arguments)
        except BrokenProcessPool:
            _processes.cache_clear()
            future = _processes(self._workers).submit(function, *arguments)
        self._submitted.append(future)
        return future

    def end(self) -> None:
        """End the processes and what they simulate."""
        for _ in range(1000):  # a second at most: loky prints a traceback if it ends before all calls are in its queue
            if all(future.running() or future.done() for future in self._submitted):
                break
            time.sleep(0.001)
        _processes(self._workers).shutdown(kill_workers=True)
        _processes.cache_clear()


@cache
def _processes(workers: int) -> Any:
    """The processes, which are kept for the next sweep. They end with this one, also those that never had a task."""
    return loky.ProcessPoolExecutor(
        workers, timeout=IDLE, initializer=follow, initargs=(os.getpid(),), env={**ONE_THREAD, **os.environ}
    )


class OfThreads(ThreadPool):
    """Threads of this process; they do not keep it alive when it is stopped."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A future of the result of the function in one of the threads."""
        future: Future[Any] = Future()
        self.apply_async(function, arguments, callback=future.set_result, error_callback=future.set_exception)
        return future


def attempts(parent: int, tasks: Sequence[Task]) -> list[Attempted]:
    """The outcome of every task; runs in a worker of the process `parent`."""
    if os.getppid() == parent:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    prepare(parent)
    return [_attempt(task) for task in tasks]


def _attempt(task: Task) -> Attempted:
    try:
        return attempt(task)
    except KeyboardInterrupt as error:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            raise
        return Failure.of(task, task.numbers.start, in_words(error))  # no Ctrl-C comes here: the policy raised it


def library(name: str, runner: str) -> Any:
    """A module of an optional extra, which has the name of the runner that needs it. Raises `UserError`."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        extra = f"pip install --editable '.[{runner}]'"
        raise UserError(f"runner={runner}: needs {error.name}; install the extra: {extra}") from error
