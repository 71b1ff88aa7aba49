"""A cell of a sweep: what is requested, its stored replications, and those simulated since."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bandits.seeds import entropy
from experiments.cells import Cell
from experiments.cells.base import CODE
from experiments.config.request import Request
from experiments.simulate.block import Task
from experiments.store import Store
from experiments.store.results_file import DamagedFileError
from experiments.store.stored import Replications, Stored

SECONDS = 2.0  # that a block should take, which is what a killed worker loses
BEGUN = ".begun"  # folder of the first replications of cells that are not complete, in results files like those beside


@dataclass
class CellJob:
    """A requested cell of a sweep: its first replications are `stored` or `begun`, the next in `blocks`.

    Attributes
    ----------
    request: the cell, and how many replications of it.
    stored: what is stored of it.
    damage: what is wrong with its file, if that is damaged.
    begun: the first replications as a run that was stopped has left them, if they are more than those stored.
    blocks: what was simulated since.
    """

    request: Request
    stored: Stored | None
    damage: str | None = None
    begun: Stored | None = None
    blocks: list[Replications] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        return self.request.cell

    @property
    def stored_until(self) -> int:
        """The first replication that is not stored."""
        return self.stored.replications if self.stored else 0

    @property
    def missing(self) -> int:
        """How many replications are not stored."""
        return max(0, self.request.replications - self.stored_until)

    @property
    def _kept(self) -> Stored | None:
        return self.begun or self.stored

    @property
    def kept_until(self) -> int:
        """The first replication that is neither stored nor begun, which is the first to simulate."""
        return self._kept.replications if self._kept else 0

    @property
    def left(self) -> int:
        """How many replications are neither stored, begun nor in `blocks`."""
        return max(0, self.request.replications - self.kept_until) - sum(block.replications for block in self.blocks)

    def tasks(self) -> Iterator[Task]:
        """What is to simulate, as blocks; a lazy iterator, as their size depends on the time of earlier blocks.

        How replications are divided into blocks changes no number.
        """
        start, end = self.kept_until, self.request.replications
        while start < end:
            stop = min(end, start + self._block_length())
            yield Task(self.cell, range(start, stop))
            start = stop

    def _block_length(self) -> int:
        """How many replications take about `SECONDS`, estimated from the last block, and at most twice its number.

        Only one if nothing is known of their time, as it may take hours.
        """
        if not self.blocks:
            return 1
        count, took = len(self.blocks[-1].numbers), float(self.blocks[-1].seconds.sum())
        return max(1, min(2 * count, int(SECONDS * count / max(took, 1e-9))))

    def joined_so_far(self) -> Stored | None:
        """The replications that are stored, begun and simulated, up to the first that is missing, as one `Stored`.

        None if there are none. The footer has the origins of all.
        """
        cell, kept = self.cell, self._kept
        blocks = list(self._consecutive())
        parts = [*([kept] if kept else []), *blocks]
        if not parts:
            return None
        footer: dict[str, Any] = {
            "record": cell.record,
            "key": cell.key,
            "identity": cell.identity,
            "revisions": {"instance": cell.instance.revision, "policy": cell.policy.revision},
            "columns": {**cell.columns, **({CODE: cell.code} if cell.code else {})},
            "caveats": list(cell.caveats),
            "source": cell.code,
            "config": self.request.config,
            "seed_entropy": str(entropy(cell.identity)),
            "runs": [*(kept.footer["runs"] if kept else []), *_runs(blocks)],
        }
        rows = {name: np.concatenate([part.rows[name] for part in parts]) for name in cell.fields}
        return Stored(rows, footer, cell)

    def _consecutive(self) -> Iterator[Replications]:
        """The blocks in the order of their replications, up to the first that is missing."""
        number = self.kept_until
        for block in sorted(self.blocks, key=lambda block: int(block.numbers[0])):
            if block.numbers[0] != number:
                return
            yield block
            number += block.replications


def _runs(blocks: Iterable[Replications]) -> Iterator[dict[str, Any]]:
    """What a footer says of consecutive blocks: for each origin the numbers of replications, their time, and it."""
    for origin, several in itertools.groupby(blocks, key=lambda block: block.origin):
        together = list(several)
        seconds = np.concatenate([block.seconds for block in together])
        yield {
            "replications": [int(together[0].numbers[0]), int(together[-1].numbers[-1]) + 1],
            "seconds": float(seconds.sum()),
            "typical_seconds": float(np.median(seconds)),  # median, as the first replication may include compiling
            **origin,
        }


def look_up(requests: Iterable[Request], store: Store) -> list[CellJob]:
    """A job for each request, with what is stored or begun of it; damaged files count as not there."""
    begun = begun_in(store) if begun_in(store).root.is_dir() else None
    return [_looked_up(request, store, begun) for request in requests]


def begun_in(store: Store) -> Store:
    """Where the cells of a store that are begun have their files."""
    return Store(store.root / BEGUN)


def _looked_up(request: Request, store: Store, begun: Store | None) -> CellJob:
    try:
        job = CellJob(request, store.without_weighted(request.cell, request.replications))
    except DamagedFileError as damage:
        job = CellJob(request, None, damage=str(damage))
    if begun and job.missing:
        try:
            part = begun.without_weighted(request.cell)
        except DamagedFileError:
            return job
        if part and part.replications > job.stored_until:
            job.begun = part
    return job
