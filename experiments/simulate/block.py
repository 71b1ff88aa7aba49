"""A block: replications of a cell that one process simulates in one go."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bandits.arrays import FloatArray
from bandits.exact.regret import QuadratureError
from experiments.cells import Cell, Rows
from experiments.own_code import NotRepeatableError, in_words, playing
from experiments.provenance import provenance

Timed = tuple[dict[str, Any], float]  # the row of a replication, and the seconds that it took
REFUSED = (QuadratureError, NotRepeatableError, MemoryError)  # errors whose message, if there is one, says all


@dataclass(frozen=True)
class Task:
    """Replications to simulate, consecutive `numbers` of `cell`."""

    cell: Cell
    numbers: range


@dataclass(frozen=True)
class Block:
    """Replications that were simulated.

    Attributes
    ----------
    numbers: which replications, shape (replications,).
    rows: a column for each of the cell's fields, the first axis of each is the replication.
    seconds: the time that each took.
    origin: what computed them, see `experiments.provenance`.
    """

    numbers: NDArray[np.int64]
    rows: Rows
    seconds: FloatArray
    origin: dict[str, Any]

    def at(self, places: NDArray[np.int64]) -> Self:
        """Those of its replications that are at `places`, in that order."""
        rows = {name: values[places] for name, values in self.rows.items()}
        return type(self)(self.numbers[places], rows, self.seconds[places], self.origin)

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """All blocks as one, each replication once, in the order of their numbers; the origin is that of the first."""
        numbers = np.concatenate([block.numbers for block in blocks])
        rows = {name: np.concatenate([block.rows[name] for block in blocks]) for name in blocks[0].rows}
        seconds = np.concatenate([block.seconds for block in blocks])
        _, places = np.unique(numbers, return_index=True)
        return cls(numbers, rows, seconds, blocks[0].origin).at(places)


@dataclass(frozen=True)
class Failure:
    """A block that came to nothing.

    Attributes
    ----------
    key, policy, identity: of its cell.
    numbers: the replications of the block.
    replication: the first of them that failed.
    why: the reason in one line.
    traceback: how Python tells it; empty where a process died.
    died: whether a process died of it.
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
    def of(cls, task: Task, replication: int, why: str, told: str = "", died: bool = False) -> Self:
        """The failure of a task."""
        cell = task.cell
        return cls(cell.key, cell.policy.name, cell.identity, task.numbers, replication, why, told, died)

    @property
    def where(self) -> str:
        """The cell, and which of its replications."""
        return f"{self.identity}, replication {self.replication}"


Outcome = Block | Failure


def simulate_block(cell: Cell, start: int, stop: int) -> Block:
    """Replications `start` to `stop` - 1 of `cell`; depends on nothing else. Raises `ValueError` for wrong numbers."""
    return _checked(cell, [_timed(cell, number) for number in range(start, stop)], range(start, stop))


def attempt(task: Task) -> Outcome:
    """The replications of a task, or why there are none: nothing that a policy does ends more than its block."""
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
        told = "".join(traceback.format_exception(error))
        return Failure.of(task, task.numbers[min(len(done), len(task.numbers) - 1)], why, told)


def _timed(cell: Cell, replication: int) -> Timed:
    began = time.perf_counter()
    row = cell.replicate(replication)
    return row, time.perf_counter() - began


def _checked(cell: Cell, done: list[Timed], numbers: Sequence[int]) -> Block:
    """All replications together, which is checked in one go.

    Raises `ValueError` for the first whose numbers cannot be; `done` then ends before it.
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
    return Block(np.array(numbers), rows, np.array([seconds for _, seconds in done]), provenance())


def _rows(cell: Cell, done: Sequence[Timed]) -> Rows:
    """The rows of replications. Raises `ValueError` for numbers that cannot be."""
    rows = {name: np.array([row[name] for row, _ in done]) for name in cell.fields}
    cell.check(rows, {"columns": cell.columns})
    return rows
