"""A cell with replications still to be simulated, and what of them is there."""

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
from experiments.results_file import DamagedFileError
from experiments.simulate.block import Task
from experiments.simulate.pieces import Pieces
from experiments.store import CODE, Store
from experiments.stored import Replications, Stored

SECONDS = 2.0  # that a block should take: so much is lost where its process is killed
FIRST = 5  # replications of a cell's first blocks at most, as like cells may take another time


@dataclass
class Job:
    """What is asked of a cell, what is `stored` of it, and the `blocks` that were simulated since."""

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
        """Replications that are not stored."""
        return max(0, self.request.replications - self.first)

    @cached_property
    def _held(self) -> NDArray[np.bool_]:
        """Which of the missing replications are in `blocks`."""
        return np.zeros(self.missing, bool)

    def add(self, block: Replications) -> int:
        """Take replications that were simulated; how many of them are new."""
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
        """Replications that are neither stored nor in `blocks`."""
        return self.missing

    def tasks(self, seconds_of_similar_cells: float = math.inf) -> Iterator[Task]:
        """What is left to simulate, in blocks; ask for the next one as late as can be, when more is known of the time.

        A replication of similar cells took `seconds_of_similar_cells`. How replications are divided changes no number.
        """
        left = self.first + np.flatnonzero(~self._held)
        for together in np.split(left, np.flatnonzero(np.diff(left) > 1) + 1):
            while len(together):
                numbers = together[: self._block_length(seconds_of_similar_cells)]
                start = int(numbers[0])
                yield Task(self.cell, range(start, start + len(numbers)))
                together = together[len(numbers) :]

    def _block_length(self, seconds_of_similar_cells: float) -> int:
        """Replications that may take `SECONDS`, by what those of the last block took, and at most twice as many.

        One where nothing is known: it may take hours.
        """
        if not self.blocks:
            return max(1, min(FIRST, int(SECONDS / seconds_of_similar_cells)))
        count, took = len(self.blocks[-1].numbers), float(self.blocks[-1].seconds.sum())
        return max(1, min(2 * count, int(SECONDS * count / max(took, 1e-9))))

    def stored_now(self) -> Stored:
        """Stored and fresh replications together, with a footer that says how they came about.

        Call when nothing is `left`.
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
        """For the replications in `fresh` that one origin computed in a row: which, their time, and the origin."""
        origins: dict[int, dict[str, Any]] = {}
        for block in reversed(self.blocks):  # of a replication that two blocks have, the first is taken
            origins.update(dict.fromkeys(block.numbers.tolist(), block.origin))
        for origin, numbers in itertools.groupby(fresh.numbers.tolist(), key=lambda number: origins[number]):
            together = list(numbers)
            start, stop = together[0], together[-1] + 1
            seconds = fresh.seconds[start - self.first : stop - self.first]
            yield {
                "replications": [start, stop],
                "seconds": float(seconds.sum()),
                "typical_seconds": float(np.median(seconds)),  # of a replication; the first may have to compile
                **origin,
            }


def look_up(requests: Iterable[Request], store: Store) -> list[Job]:
    """What of each request is stored already, also in pieces; nothing of a damaged file."""
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
