"""A block: replications of a cell that a worker simulates together."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bandits.exact.regret import QuadratureError
from experiments.cells import Cell, Rows
from experiments.errors import NotRepeatableError
from experiments.own_code.user_code import in_words
from experiments.simulate.playing import playing
from experiments.simulate.provenance import provenance
from experiments.store.stored import Replications

Timed = tuple[dict[str, Any], float]  # the row of a replication, and the processor seconds that it took
REFUSED = (QuadratureError, NotRepeatableError, MemoryError)  # errors whose message, if not empty, is clear alone


@dataclass(frozen=True)
class Task:
    """Replications to simulate, consecutive `numbers` of `cell`."""

    cell: Cell
    numbers: range


@dataclass(frozen=True)
class Failure:
    """A block that failed.

    Attributes
    ----------
    key, policy, identity: of its cell.
    numbers: the replications of the block.
    replication: the first of them that failed.
    why: the reason in one line.
    traceback: that of Python; empty if the process was killed.
    died: whether its process was killed.
    """

    key: str
    policy: str
    identity: str
    numbers: range
    replication: int
    why: str
    traceback: str = ""
    died: bool = False

    @classmethod
    def of(cls, task: Task, replication: int, why: str, trace: str = "", died: bool = False) -> Self:
        """The failure of a task."""
        cell = task.cell
        return cls(cell.key, cell.policy.name, cell.identity, task.numbers, replication, why, trace, died)

    @property
    def where(self) -> str:
        """The cell, and which of its replications."""
        return f"{self.identity}, replication {self.replication}"


Attempted = Replications | Failure


def simulate_block(cell: Cell, start: int, stop: int) -> Replications:
    """Replications `start` to `stop` - 1 of `cell`, a pure function. Raises `ValueError` for impossible numbers."""
    return _checked(cell, [_timed(cell, number) for number in range(start, stop)], range(start, stop))


def attempt(task: Task) -> Attempted:
    """The replications of a task, or its failure: an error of a policy ends only its own block."""
    cell, done = task.cell, list[Timed]()
    try:
        with playing(cell):
            for number in task.numbers:
                done.append(_timed(cell, number))
        return _checked(cell, done, task.numbers)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = (isinstance(error, REFUSED) and str(error)) or in_words(error)
        trace = "".join(traceback.format_exception(error))
        return Failure.of(task, task.numbers[min(len(done), len(task.numbers) - 1)], why, trace)


def _timed(cell: Cell, replication: int) -> Timed:
    began = time.thread_time()  # of the processor: on a busy machine the clock runs on while other programs compute
    row = cell.replicate(replication)
    return row, time.thread_time() - began


def _checked(cell: Cell, done: list[Timed], numbers: Sequence[int]) -> Replications:
    """The replications of a block, checked together.

    Raises `ValueError` for the first one with impossible numbers, and cuts `done` off before it.
    """
    try:
        rows = _rows(cell, done)
    except ValueError:
        for place, one in enumerate(done):
            try:
                _rows(cell, [one])
            except ValueError:
                del done[place:]
                raise
        raise
    seconds = np.array([seconds for _, seconds in done])
    return Replications(rows, footer_of_block(cell), log={"replication": np.array(numbers), "seconds": seconds})


def footer_of_block(cell: Cell) -> dict[str, Any]:
    """The footer of replications that are not stored yet: their cell, and the provenance as `origin`."""
    return {
        "record": cell.record,
        "key": cell.key,
        "columns": cell.columns,
        "origin": provenance(),
    }


def _rows(cell: Cell, done: Sequence[Timed]) -> Rows:
    """The rows of replications. Raises `ValueError` for impossible numbers."""
    rows = {name: np.array([row[name] for row, _ in done]) for name in cell.fields}
    cell.check(rows, {"columns": cell.columns})
    return rows
