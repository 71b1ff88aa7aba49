"""Runners: simulate blocks in processes or threads of this machine, or with Dask. The numbers are always the same.

A runner submits tasks to an executor and collects their futures. If the worker of a task is killed, the task is retried
one replication at a time; a replication that kills its worker again is a failure.
"""

import ctypes
import math
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from multiprocessing.pool import ThreadPool
from typing import Any, ClassVar

from numba.core.event import install_listener

from bandits import ParameterError
from experiments.cells import Cell
from experiments.errors import UserError, number_of_workers
from experiments.own_code.fan_out import Shipped, call_shipped
from experiments.own_code.user_code import in_words
from experiments.process import ONE_THREAD, SIMULATING, without_signals
from experiments.simulate.block import Attempted, Failure, Task, attempt
from experiments.simulate.job import CellJob
from experiments.simulate.sweep import sweep
from experiments.simulate.worker import Compiling, follow_parent, prepare
from experiments.store import Store

IDLE = 300.0  # seconds after which a process without work ends
SOON = 1.0  # seconds for which a sweep is simulated in this process, before others are started
SIGNAL = 0.5  # seconds until this process sees a signal that the system has given to another thread
WAIT = 20  # seconds for a Dask scheduler to answer


@dataclass(frozen=True)
class Runner(ABC):
    """A way to complete cells.

    Attributes
    ----------
    workers: processes of this machine, -1 for one per core; if cells are simulated elsewhere, only for other work, such
        as drawing. Raises `ParameterError`.
    """

    workers: int = -1

    def __post_init__(self) -> None:
        try:
            number_of_workers(self.workers)
        except ValueError as error:
            raise ParameterError("workers", f"must be {error}") from None

    @abstractmethod
    def run(self, jobs: Sequence[CellJob], store: Store) -> None:
        """Simulate what is missing of `jobs`, and store it. Raises `PolicyError` for cells that failed."""


class ByBlocks(Runner):
    """A runner whose workers simulate blocks, which this process stores.

    `killed` are the exceptions of a future whose worker was killed.
    """

    killed: ClassVar[tuple[type[BaseException], ...]] = ()

    @abstractmethod
    def executor(self) -> AbstractContextManager[tuple[Any, int]]:
        """An executor with `submit`, and how many tasks to submit at a time, so that no worker is idle.

        An error within the context ends what is being simulated.
        """

    def executor_for(self, cell: Cell, executor: Any) -> Any:
        """Which executor takes the next replications of a cell: the one of this runner, unless it knows several."""
        return executor

    def run(self, jobs: Sequence[CellJob], store: Store) -> None:
        sweep(self.outcomes, jobs, store)

    def outcomes(self, tasks: Iterator[Task], wanted: Callable[[Task], bool]) -> Generator[Attempted, None, None]:
        """The outcome of every task, in the order in which they finish; tasks that are not `wanted` are not retried.

        Closing the generator ends what is being simulated.
        """
        again, running = list[Task](), dict[Any, tuple[Task, bool]]()
        with self.executor() as (executor, room):
            while True:
                again = list(filter(wanted, again))
                new = [(task, False) for task in islice(tasks, 0 if again else max(0, room - len(running)))]
                if again and not running:  # before new tasks, which may be of the same cell
                    new = [(again.pop(0), True)]  # one at a time, as a worker that is killed may end the others
                if not new and not running:
                    return
                for task, is_retry in new:
                    work = Shipped((attempt_in_worker, (os.getpid(), task), {}))
                    where = self.executor_for(task.cell, executor)
                    running[where.submit(call_shipped, work)] = task, is_retry
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, is_retry = running.pop(future)
                    try:
                        yield future.result()
                    except self.killed as error:
                        if is_retry:
                            yield _killed(task, error)
                        else:
                            again += [Task(task.cell, range(number, number + 1)) for number in task.numbers]


def _killed(task: Task, error: BaseException) -> Failure:
    """The failure of a replication that killed its worker twice."""
    how = str(error).partition("{")[2].partition("}")[0]  # from the message of loky, as in {SIGKILL(-9)}
    ended = f"was killed twice{how and f' ({how})'}, most often as memory ran out"
    if how and "SIGKILL" not in how:
        ended = f"ended twice ({how}), as by a call that exits or by a crash"
    return Failure.of(task, task.numbers.start, f"the process that simulated it {ended}", died=True)


def processes_for(workers: int) -> int:
    """How many processes a number of workers stands for: -1 for one per core."""
    if workers != -1:
        return workers
    from joblib import cpu_count  # slow to import, as loky is

    return int(cpu_count())


class Processes(ByBlocks):
    """Processes of this machine, started by loky.

    With one worker, tasks run in this process. With several, they run in this process for the first `SOON` seconds,
    because it takes longer to start processes. The seconds begin again while the only policy is being compiled. Two
    exceptions use other processes from the start: if `here` is false, and for a class of the user, which may end its
    process.
    """

    killed = (BrokenExecutor,)
    here: ClassVar[bool] = True

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        workers = processes_for(self.workers)
        alone, processes = self.here and workers == 1, ProcessPool(workers)
        with install_listener("numba:compile", Compiling()) as compiling:
            executor = InProcess(processes, math.inf if alone else SOON, compiling) if self.here else processes
            try:
                yield executor, 1 if alone else 2 * workers
            except BaseException:
                executor.end()
                raise

    def executor_for(self, cell: Cell, executor: Any) -> Any:
        return executor.place_for(cell) if self.here else executor


class OtherProcesses(Processes):
    """The same, but never this process: one that is killed, or has no memory, leaves this one to save and report."""

    here = False


class Threads(ByBlocks):
    """Threads of this process, if no processes can be started. Only compiled loops run in parallel, not Python code."""

    @contextmanager
    def executor(self) -> Iterator[tuple[Any, int]]:
        workers = processes_for(self.workers)
        with Threaded(workers) as threads:
            yield threads, 2 * workers


@dataclass(frozen=True)
class Dask(ByBlocks):
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


class InProcess:
    """An executor that for some `seconds` runs everything at once in this process, and then in `processes`.

    It runs in a thread, for which this one waits until the seconds are over: so Ctrl-C and SIGTERM end a sweep in a
    compiled loop too, which may take hours and sees no signal. The thread is then asked to `end`: it does so at once in
    Python, and after the loop in machine code, which cannot be left.
    """

    def __init__(self, processes: "ProcessPool", seconds: float, compiling: Compiling) -> None:
        self._processes, self._seconds, self._compiling = processes, seconds, compiling
        self._ends = time.monotonic() + seconds
        self._policy: type | None = None
        self._future: Future[Any] = Future()
        self._thread: threading.Thread | None = None

    def place_for(self, cell: Cell) -> "InProcess | ProcessPool":
        """The executor for the next replications of a cell: other processes for a user's class, which may end them.

        If loops of the same policy are being compiled, returns after that, and the seconds begin again: processes would
        wait for the machine code too, and are then often not needed.
        """
        if cell.own:
            return self._processes
        while self._compiling.now and type(cell.policy) is self._policy:
            self._ends = time.monotonic() + self._seconds
            self._wait()
        self._policy = type(cell.policy)
        return self

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function now, while there is time; a future with its result."""
        if self._ends <= time.monotonic():
            return self._processes.submit(function, *arguments)
        future = self._future = Future()
        self._thread = threading.Thread(
            target=_settle, args=(future, function, arguments), name=SIMULATING, daemon=True
        )
        self._thread.start()
        self._wait()
        return future

    def _wait(self) -> None:
        """Wait for what runs here, until the seconds are over."""
        while (left := self._ends - time.monotonic()) > 0:
            if wait([self._future], min(SIGNAL, left)).done:
                return

    def end(self) -> None:
        """Raise `KeyboardInterrupt` in the thread, as soon as it runs Python, and end the processes."""
        thread = self._thread
        if thread is not None and thread.ident is not None and thread.is_alive():  # if not, a later one has its ident
            ident = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))
        self._processes.end()


def _settle(future: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(KeyboardInterrupt):  # of `end`, if all else is done
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # for the thread that waits
            future.set_exception(error)


class ProcessPool:
    """Processes of this machine; if one is killed, loky ends all of them, and new ones are started."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._submitted: deque[Any] = deque(maxlen=2 * workers)  # those before have ended

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A future of the result of the function in one of the processes."""
        with without_signals():
            try:
                future = _processes(self._workers).submit(function, *arguments)
            except BrokenExecutor:
                _processes.cache_clear()
                future = _processes(self._workers).submit(function, *arguments)
        self._submitted.append(future)
        return future

    def end(self) -> None:
        """End the processes and what they simulate."""
        if not self._submitted:
            return
        executor = _processes(self._workers)
        for process in list(executor._processes):  # loky's `kill_workers` prints a traceback after a call was cancelled
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        executor.shutdown()
        _processes.cache_clear()


@cache
def _processes(workers: int) -> Any:
    """The processes, which are kept for the next sweep. They end with this one, also those that never had a task.

    If one crashes, loky would have it print tracebacks of its threads, dozens of lines of libraries.
    """
    from joblib.externals import loky

    about = {**ONE_THREAD, "PYTHONFAULTHANDLER": "", **os.environ}
    return loky.ProcessPoolExecutor(
        workers, timeout=IDLE, initializer=follow_parent, initargs=(os.getpid(),), env=about
    )


class Threaded(ThreadPool):
    """Threads of this process; they do not keep it alive when it is stopped."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """A future of the result of the function in one of the threads."""
        future: Future[Any] = Future()
        self.apply_async(function, arguments, callback=future.set_result, error_callback=future.set_exception)
        return future


def attempt_in_worker(parent: int, task: Task) -> Attempted:
    """The outcome of a task; runs in a worker of the process `parent`."""
    if os.getppid() == parent:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    prepare(parent)
    try:
        return attempt(task)
    except KeyboardInterrupt as error:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            raise
        return Failure.of(task, task.numbers.start, in_words(error))  # no Ctrl-C comes here: the policy raised it


def run_jobs(jobs: Sequence[CellJob], store: Store, workers: int) -> None:
    """Simulate what is missing of `jobs` with `workers` processes of this machine. Raises `PolicyError`."""
    Processes(workers).run(jobs, store)


def library(name: str, runner: str) -> Any:
    """A module of an optional extra, which has the name of the runner that needs it. Raises `UserError`."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        extra = f"pip install --editable '.[{runner}]'"
        raise UserError(f"runner={runner}: needs {error.name}; install the extra: {extra}") from error
