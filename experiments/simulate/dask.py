"""Simulation by the workers of a Dask scheduler, through joblib's own backend."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import joblib

from bandits import ParameterError
from experiments.errors import UserError
from experiments.simulate.block import Task
from experiments.simulate.remote import Parcel, library
from experiments.simulate.runners import Outcomes, Runner, WorkerLostError

WAIT = 20  # seconds for a scheduler to answer


@dataclass(frozen=True)
class Dask(Runner):
    """The workers of a Dask `scheduler`, an address as tcp://127.0.0.1:8786. Raises `ParameterError`."""

    scheduler: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scheduler:
            raise ParameterError("scheduler", "must be the address of a Dask scheduler, as in tcp://127.0.0.1:8786")

    def outcomes(self, tasks: Iterable[tuple[int, Task]]) -> Outcomes:
        distributed = library("distributed", "dask")
        with self._client(distributed) as client, joblib.parallel_config(_backend()(client=client)):
            found = joblib.Parallel(-1, return_as="generator_unordered")(
                joblib.delayed(Parcel.attempt)(Parcel.of([numbered])) for numbered in tasks
            )
            try:
                for outcomes in found:
                    yield from outcomes
            except distributed.KilledWorker as error:
                raise WorkerLostError("the scheduler gave it to several workers") from error
            finally:
                found.close()

    def _client(self, distributed: Any) -> Any:
        try:
            return distributed.Client(self.scheduler, timeout=WAIT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UserError(f"runner.scheduler={self.scheduler}: no Dask scheduler answers there") from error


def _backend() -> Any:
    """Joblib's backend, made to tell of a task whose workers died, and to leave a single core its work (joblib 1.6)."""
    from joblib._dask import DaskDistributedBackend
    from joblib._utils import _ExceptionWithTraceback  # what a task that raises sends

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            """How many tasks at once; for one, joblib would run them in this process."""
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def submit(self, func: Any, callback: Callable[[Any], None]) -> Any:
            def tell(ended: Any) -> None:
                if ended.exception() is not None:
                    callback(_ExceptionWithTraceback(ended.exception()))

            submitted = super().submit(func, callback)
            submitted.add_done_callback(tell)
            return submitted

    return Backend
