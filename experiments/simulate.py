"""Simulation of the cells of a plan, fanned out over processes."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from tqdm import tqdm

from bandits import regret
from bandits.random import entropy, stream
from bandits.types import FloatArray, IntArray
from experiments.plan import Cell, Request
from experiments.provenance import provenance
from experiments.store import FORMAT, DamagedFileError, Result, Store, set_aside

BLOCK = 5  # replications per task; fixed, so that what a task computes does not depend on the number of workers


@dataclass
class Job:
    """A cell with replications still to be simulated."""

    request: Request
    stored: Result | None
    blocks: dict[int, "Block"] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The first replication that is missing."""
        return self.stored.replications if self.stored else 0

    @property
    def missing(self) -> int:
        return max(0, self.request.replications - self.first)

    def starts(self) -> range:
        return range(self.first, self.request.replications, BLOCK)

    @property
    def complete(self) -> bool:
        return len(self.blocks) == len(self.starts())

    def result(self) -> Result:
        """Stored and fresh replications together. Call when `complete`."""
        cell = self.request.cell
        fresh = [self.blocks[start] for start in self.starts()]
        run = {
            "replications": [self.first, self.request.replications],
            "seconds": sum(block.seconds for block in fresh),
            **provenance(),
        }
        footer: dict[str, Any] = {
            "format": FORMAT,
            "key": cell.key,
            "identity": cell.identity,
            "revisions": {"instance": cell.instance.revision, "policy": cell.policy.revision},
            "columns": cell.columns,
            "caveats": list(cell.caveats),
            "config": self.request.config,
            "seed_entropy": str(entropy(cell.identity)),
            "runs": [*(self.stored.footer["runs"] if self.stored else []), run],
        }
        parts: list[Result | Block] = [*([self.stored] if self.stored else []), *fresh]
        return Result(
            t=cell.checkpoints,
            regret=np.concatenate([part.regret for part in parts]),
            pulls=np.concatenate([part.pulls for part in parts]),
            footer=footer,
        )


@dataclass(frozen=True)
class Block:
    """Consecutive replications of a cell: regret at checkpoints, final pulls, and the time they took."""

    regret: FloatArray
    pulls: IntArray
    seconds: float


def simulate_block(cell: Cell, start: int, stop: int) -> Block:
    """Replications `start` to `stop` - 1 of `cell`; depends on nothing else."""
    checkpoints = cell.checkpoints
    began = time.perf_counter()
    pulls = np.stack(
        [
            cell.policy.simulate(cell.instance, cell.horizon, checkpoints, stream(cell.identity, replication))
            for replication in range(start, stop)
        ]
    )
    seconds = time.perf_counter() - began
    return Block(regret(pulls, cell.instance.gaps), pulls[:, -1], seconds)


def look_up(requests: Sequence[Request], store: Store) -> list[Job]:
    """What of each request is stored already. A damaged file is set aside and reported."""
    jobs = []
    for request in requests:
        try:
            stored = store.read(request.cell)
        except DamagedFileError as damage:
            aside = set_aside(store.path(request.cell))
            print(f"warning: {store.path(request.cell)}: {damage}; moved to {aside.name}, recomputing", file=sys.stderr)
            stored = None
        jobs.append(Job(request, stored))
    return jobs


def run(jobs: Sequence[Job], store: Store, workers: int) -> None:
    """Simulate what is missing; each cell is stored as soon as it is complete, so an interruption loses little."""
    missing = [job for job in jobs if job.missing]
    bar = tqdm(total=sum(job.missing for job in missing), unit=" replications", disable=None, smoothing=0.1)
    with bar:
        done = 0
        bar.set_postfix_str(f"{done}/{len(missing)} cells")
        for job, start, block in _blocks(missing, workers):
            job.blocks[start] = block
            bar.update(len(block.regret))
            if job.complete:
                store.write(job.request.cell, job.result())
                job.blocks.clear()
                done += 1
                bar.set_postfix_str(f"{done}/{len(missing)} cells")


def _blocks(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, int, Block]]:
    """Every block that is missing, as it is done."""
    tasks = [(index, start) for index, job in enumerate(jobs) for start in job.starts()]
    results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(
        joblib.delayed(_labelled_block)(
            index, jobs[index].request.cell, start, min(start + BLOCK, jobs[index].request.replications)
        )
        for index, start in tasks
    )
    for index, start, block in results:
        yield jobs[index], start, block


def _labelled_block(index: int, cell: Cell, start: int, stop: int) -> tuple[int, int, Block]:
    return index, start, simulate_block(cell, start, stop)
