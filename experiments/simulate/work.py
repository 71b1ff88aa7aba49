"""How much of a sweep is done, in time and not in replications: those of one cell may take a thousand times longer."""

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
    """Cells whose replications take nearly the same time."""

    policy: str
    arms: int
    horizon: int

    @classmethod
    def of(cls, cell: Cell) -> Self:
        return cls(cell.policy.name, cell.arms, cell.horizon)


class Work:
    """Replications of like cells that are done and left, and what one of them takes.

    That is what like cells in the store took, else those that were simulated since, else the mean of all others.
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
        """Replications of a cell are done, and took so many `seconds`; 0 where another process simulated them."""
        like = SimilarCells.of(cell)
        self._left[like] -= replications
        self._done[like] += replications
        if seconds:
            before, count = self._took.get(like, (0.0, 0))
            self._took[like] = before + seconds, count + replications

    def took(self, cell: Cell) -> float:
        """Seconds that a replication of like cells took since the sweep began, infinite where none did."""
        return self._measured(SimilarCells.of(cell)) or math.inf

    def share(self) -> float:
        """The share that is done, between 0 and 1."""
        known = {like: seconds for like in self._cells if (seconds := self._seconds(like)) is not None}
        other = mean(known.values()) if known else 1.0
        done = sum(count * known.get(like, other) for like, count in self._done.items())
        left = sum(count * known.get(like, other) for like, count in self._left.items())
        return done / (done + left) if done + left else 1.0

    def _seconds(self, like: SimilarCells) -> float | None:
        return self._stored.get(like) or self._measured(like)

    def _measured(self, like: SimilarCells) -> float | None:
        """Seconds of a replication since the sweep began, None where there was none."""
        seconds, count = self._took.get(like, (0.0, 0))
        return seconds / count if count else None

    @cached_property
    def _stored(self) -> dict[SimilarCells, float]:
        """What a replication takes by what is stored; read when it is first asked for, which no quick command does."""
        with suppress(OSError, UserError):  # then by what is simulated
            costs = Costs(self._store.index())
            return {like: seconds for like, cell in self._cells.items() if (seconds := costs.of(cell))}
        return {}
