"""A job: a requested cell, its stored replications, and those simulated since."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits.seeds import entropy
from experiments.cells import Cell
from experiments.cells.regret import RegretCell
from experiments.config.plan import Request
from experiments.simulate.block import Task
from experiments.simulate.pieces import Pieces
from experiments.store import CODE, Store
from experiments.store.results_file import DamagedFileError
from experiments.store.stored import Replications, Stored

SECONDS = 2.0  # that a block should take, which is what a killed process loses
FIRST = 5  # most replications in a cell's first blocks, as their time is only guessed from similar cells


@dataclass
class Job:
    """A requested cell, its `stored` replications, and the `blocks` that were simulated since.

    `damage` says what is wrong with its file, if that is damaged.
    """

    request: Request
    stored: Stored | None
    damage: str | None = None
    blocks: list[Replications] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        return self.request.cell

    @property
    def first(self) -> int:
        """The first replication that is not stored."""
        return self.stored.replications if self.stored else 0

    @property
    def missing(self) -> int:
        """How many replications are not stored."""
        return max(0, self.request.replications - self.first)

    @cached_property
    def _held(self) -> NDArray[np.bool_]:
        """Which of the missing replications are in `blocks`, a mask, shape (missing,)."""
        return np.zeros(self.missing, bool)

    def add(self, block: Replications) -> int:
        """Add replications that were simulated; returns how many of them are new."""
        places = block.numbers - self.first
        places = places[(places >= 0) & (places < self.missing)]
        fresh = int(np.count_nonzero(~self._held[places]))
        if fresh:
            self._held[places] = True
            self.blocks.append(block)
            self.left -= fresh
        return fresh

    @cached_property
    def left(self) -> int:
        """How many replications are neither stored nor in `blocks`."""
        return self.missing

    def tasks(self, seconds_of_similar_cells: float = math.inf) -> Iterator[Task]:
        """What is left to simulate, as blocks; a lazy iterator, as their size depends on the time of earlier blocks.

        How replications are divided into blocks changes no number.

        Parameters
        ----------
        seconds_of_similar_cells: that a replication of similar cells took; infinite if unknown.
        """
        left = self.first + np.flatnonzero(~self._held)
        for together in np.split(left, np.flatnonzero(np.diff(left) > 1) + 1):
            while len(together):
                numbers = together[: self._block_length(seconds_of_similar_cells)]
                start = int(numbers[0])
                yield Task(self.cell, range(start, start + len(numbers)))
                together = together[len(numbers) :]

    def _block_length(self, seconds_of_similar_cells: float) -> int:
        """How many replications take about `SECONDS`, estimated from the last block, and at most twice its number.

        Only one if nothing is known of their time, as it may take hours.
        """
        if not self.blocks:
            return max(1, min(FIRST, int(SECONDS / seconds_of_similar_cells)))
        count, took = len(self.blocks[-1].numbers), float(self.blocks[-1].seconds.sum())
        return max(1, min(2 * count, int(SECONDS * count / max(took, 1e-9))))

    def stored_now(self) -> Stored:
        """Stored and new replications together, with a footer that has their provenance.

        Only for a job of which nothing is `left`.
        """
        cell, fresh = self.cell, Replications.joined(self.blocks)
        fresh = fresh.at(np.flatnonzero((fresh.numbers >= self.first) & (fresh.numbers < self.request.replications)))
        footer: dict[str, Any] = {
            **({} if cell.record == RegretCell.record else {"record": cell.record}),
            "key": cell.key,
            "identity": cell.identity,
            "revisions": {"instance": cell.instance.revision, "policy": cell.policy.revision},
            "columns": {**cell.columns, **({CODE: cell.code} if cell.code else {})},
            "caveats": list(cell.caveats),
            "source": cell.code,
            "config": self.request.config,
            "seed_entropy": str(entropy(cell.identity)),
            "runs": [*(self.stored.footer["runs"] if self.stored else []), *self._runs(fresh)],
        }
        parts = [*([self.stored.rows] if self.stored else []), fresh.rows]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in cell.fields}
        return Stored(rows, footer, cell)

    def _runs(self, fresh: Replications) -> Iterator[dict[str, Any]]:
        """Consecutive replications in `fresh` with the same origin: their numbers, their time, and the origin."""
        origins: dict[int, dict[str, Any]] = {}
        for block in reversed(self.blocks):  # if two blocks have a replication, the first counts
            origins.update(dict.fromkeys(block.numbers.tolist(), block.origin))
        for origin, numbers in itertools.groupby(fresh.numbers.tolist(), key=lambda number: origins[number]):
            together = list(numbers)
            start, stop = together[0], together[-1] + 1
            seconds = fresh.seconds[start - self.first : stop - self.first]
            yield {
                "replications": [start, stop],
                "seconds": float(seconds.sum()),
                "typical_seconds": float(np.median(seconds)),  # median, as the first replication may include compiling
                **origin,
            }


def look_up(requests: Iterable[Request], store: Store) -> list[Job]:
    """A job for each request, with what is stored of it, also in pieces; damaged files count as not stored."""
    pieces = Pieces(store.root)
    in_pieces = pieces.keys()
    jobs = [_looked_up(request, store) for request in requests]
    for job in jobs:
        for block in pieces.read(job.cell) if job.missing and job.cell.key in in_pieces else ():
            job.add(block)
    return jobs


def _looked_up(request: Request, store: Store) -> Job:
    try:
        return Job(request, store.read(request.cell, request.replications))
    except DamagedFileError as damage:
        return Job(request, None, damage=str(damage))
