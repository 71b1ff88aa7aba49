"""What simulating everything again takes with the code of today, by paper and by policy."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.cells import Cell
from experiments.config.compose import Composer
from experiments.config.papers import papers
from experiments.config.plan import plan
from experiments.store import name_of
from experiments.store.place import look

SHORT = 1.0  # seconds of all runs: a stored cell that took less is not timed again
TIMED = 0.3  # seconds for which replications of a cell are timed, but for one that takes longer


@dataclass(frozen=True)
class CellCost:
    """A stored cell: the paper that has it first, its policy, its number of runs, and seconds of all runs on one core.

    `stored` is the time when it was stored, typical seconds of a run times runs; `now` is the same by today's code.
    """

    paper: str
    policy: str
    runs: int
    stored: float
    now: float


@dataclass(frozen=True)
class Share:
    """The cells of one paper or policy: how many, their runs, and seconds on one core as `CellCost` has them."""

    name: str
    cells: int
    runs: int
    stored: float
    now: float


def cell_costs(results: Path) -> Iterator[CellCost]:
    """The cost of every stored cell, papers first; each cell counts once."""
    composer = Composer()
    took = {copy.place.name: copy for copy in look([results]).copies}
    cited = papers()
    folders: dict[str, list[str]] = {paper: [] for paper in cited}
    for name in composer.choices("experiment"):
        folders.setdefault(name.partition("/")[0], []).append(name)
    for folder, names in folders.items():
        paper = cited[folder].cited if folder in cited else folder
        for planned in plan([[f"+experiment={name}"] for name in names], composer):
            for request in planned.requests:
                if (measured := took.pop(name_of(request.cell), None)) is not None:
                    runs, typical = measured.replications, float(measured.footer["runs"][-1]["typical_seconds"])
                    now = typical if runs * typical < SHORT else _seconds(request.cell, runs)
                    yield CellCost(paper, request.cell.policy.name, runs, runs * typical, runs * now)


def shares(paid: Iterable[CellCost], name: Callable[[CellCost], str]) -> list[Share]:
    """The costs summed by `name`, in the order in which names come."""
    groups: dict[str, list[CellCost]] = {}
    for cost in paid:
        groups.setdefault(name(cost), []).append(cost)
    return [
        Share(
            group,
            len(those),
            sum(cost.runs for cost in those),
            sum(cost.stored for cost in those),
            sum(cost.now for cost in those),
        )
        for group, those in groups.items()
    ]


def _seconds(cell: Cell, runs: int) -> float:
    """Mean seconds of replications one after the other, as in a sweep, where they share tables that some of them make.

    One before is not timed, as it may compile a loop; what it adds to tables is missing here.
    """
    cell.replicate(0)
    began, timed = time.perf_counter(), 0
    while timed == 0 or (timed < runs and time.perf_counter() - began < TIMED):
        cell.replicate(timed)
        timed += 1
    return (time.perf_counter() - began) / timed
