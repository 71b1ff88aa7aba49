"""The share of a sweep that is done, by time: replications of one cell may take a thousand times longer than others."""

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from statistics import mean
from typing import NamedTuple, Self

from experiments.cells import Cell
from experiments.errors import UserError
from experiments.simulate.job import Job
from experiments.store import Store
from experiments.store.costs import Costs


class SimilarCells(NamedTuple):
    """Cells with the same policy, number of arms and horizon, whose replications take about the same time."""

    policy: str
    arms: int
    horizon: int

    @classmethod
    def of(cls, cell: Cell) -> Self:
        return cls(cell.policy.name, cell.arms, cell.horizon)


class Work:
    """How many replications of similar cells are done and left, and the time that one takes.

    It is estimated from similar stored cells, else from this sweep, else by the mean over all other cells.
    """

    def __init__(self, jobs: Iterable[Job], store: Store) -> None:
        self._store = store
        self._cells: dict[SimilarCells, Cell] = {}
        self._left: Counter[SimilarCells] = Counter()
        self._done: Counter[SimilarCells] = Counter()
        self._took: dict[SimilarCells, tuple[float, int]] = {}  # seconds of how many replications
        for job in jobs:
            self._cells[SimilarCells.of(job.cell)] = job.cell
            self._left[SimilarCells.of(job.cell)] += job.left

    def after(self, cell: Cell, replications: int, seconds: float = 0.0) -> None:
        """Note that replications of a cell are done, and took `seconds`; 0 if another process simulated them."""
        like = SimilarCells.of(cell)
        self._left[like] -= replications
        self._done[like] += replications
        if seconds:
            before, count = self._took.get(like, (0.0, 0))
            self._took[like] = before + seconds, count + replications

    def took(self, cell: Cell) -> float:
        """Mean seconds of a replication of similar cells in this sweep, infinite if there is none yet."""
        return self._measured(SimilarCells.of(cell)) or math.inf

    def share(self) -> float:
        """The share of the time that is over, in [0, 1]."""
        known = {like: seconds for like in self._cells if (seconds := self._seconds(like)) is not None}
        other = mean(known.values()) if known else 1.0
        done = sum(count * known.get(like, other) for like, count in self._done.items())
        left = sum(count * known.get(like, other) for like, count in self._left.items())
        return done / (done + left) if done + left else 1.0

    def _seconds(self, like: SimilarCells) -> float | None:
        return self._stored.get(like) or self._measured(like)

    def _measured(self, like: SimilarCells) -> float | None:
        """Mean seconds of a replication in this sweep, None if there is none yet."""
        seconds, count = self._took.get(like, (0.0, 0))
        return seconds / count if count else None

    @cached_property
    def _stored(self) -> dict[SimilarCells, float]:
        """Seconds of a replication, estimated from stored cells; lazy, as quick commands do not need it."""
        with suppress(OSError, UserError):  # then only times of this sweep are known
            costs = Costs(self._store.index())
            return {like: seconds for like, cell in self._cells.items() if (seconds := costs.of(cell))}
        return {}
