"""The share of a sweep that is done, by time: replications of one cell may take a thousand times longer than others."""

import math
import threading
from collections import Counter
from collections.abc import Iterable
from statistics import mean

from experiments.cells import Cell
from experiments.simulate.job import Job
from experiments.store import Store
from experiments.store.costs import Costs, SimilarCells


class Work:
    """How many replications of similar cells are done and left, and the time that one takes.

    It is estimated from cells that are stored and from this sweep (`Costs`), else by the mean over all other cells.
    The threads that write the status and the progress ask for the share while the sweep notes what is done.
    """

    def __init__(self, jobs: Iterable[Job], store: Store) -> None:
        self._lock = threading.Lock()
        self._costs = Costs(store.index)
        self._cells: dict[SimilarCells, Cell] = {}
        self._left: Counter[SimilarCells] = Counter()
        self._done: Counter[SimilarCells] = Counter()
        for job in jobs:
            self._cells[SimilarCells.of(job.cell)] = job.cell
            self._left[SimilarCells.of(job.cell)] += job.left

    def after(self, cell: Cell, replications: int, seconds: float = 0.0) -> None:
        """Note that replications of a cell are done, and took `seconds`; 0 if another process simulated them."""
        like = SimilarCells.of(cell)
        with self._lock:
            self._left[like] -= replications
            self._done[like] += replications
            if seconds:
                self._costs.measure(cell, replications, seconds)

    def took(self, cell: Cell) -> float:
        """Mean seconds of a replication of similar cells in this sweep, infinite if there is none yet."""
        return self._costs.measured(SimilarCells.of(cell)) or math.inf

    def share(self) -> float:
        """The share of the time that is over, in [0, 1]."""
        with self._lock:
            return self._share()

    def _share(self) -> float:
        known = {like: seconds for like, cell in self._cells.items() if (seconds := self._costs.of(cell)) is not None}
        other = mean(known.values()) if known else 1.0
        done = sum(count * known.get(like, other) for like, count in self._done.items())
        left = sum(count * known.get(like, other) for like, count in self._left.items())
        return done / (done + left) if done + left else 1.0
