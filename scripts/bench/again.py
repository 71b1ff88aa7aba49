"""What simulating everything again takes with the code of today, by paper and by policy."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.cells import Cell
from experiments.config.compose import Composer
from experiments.config.papers import papers
from experiments.config.plan import plan_all
from experiments.store import name_of
from experiments.store.index import index_of_folders
from scripts.bench.timing import seconds

SHORT = 1.0  # seconds of all runs: a stored cell that took less is not timed again
TIMED = 3  # replications at most


@dataclass(frozen=True)
class Cost:
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
    """The cells of one paper or policy: how many, their runs, and seconds on one core as `Cost` has them."""

    name: str
    cells: int
    runs: int
    stored: float
    now: float


def costs(results: Path) -> Iterator[Cost]:
    """The cost of every stored cell, papers first; each cell counts once."""
    composer = Composer()
    index = index_of_folders([results])
    took = dict(zip(index.names, zip(index.replications, index.seconds, strict=True), strict=True))
    known = papers()
    folders: dict[str, list[str]] = {paper: [] for paper in known}
    for name in composer.choices("experiment"):
        folders.setdefault(name.partition("/")[0], []).append(name)
    for folder, names in folders.items():
        paper = known[folder].cited if folder in known else folder
        for asked in plan_all([[f"+experiment={name}"] for name in names], composer):
            for request in asked.requests:
                if (found := took.pop(name_of(request.cell), None)) is not None:
                    runs, typical = int(found[0]), float(found[1])
                    now = typical if runs * typical < SHORT else _seconds(request.cell)
                    yield Cost(paper, request.cell.policy.name, runs, runs * typical, runs * now)


def shares(found: Iterable[Cost], name: Callable[[Cost], str]) -> list[Share]:
    """The costs summed by `name`, in the order in which names come."""
    groups: dict[str, list[Cost]] = {}
    for cost in found:
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


def _seconds(cell: Cell) -> float:
    """Median seconds of a few replications; one before is not timed: it may compile a loop or make tables."""
    cell.replicate(0)
    return seconds(cell.replicate, TIMED)
