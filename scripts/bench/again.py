"""What simulating everything again takes, by paper, from the seconds that are stored with the results."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.config.compose import Composer
from experiments.config.plan import plan_all
from experiments.papers import papers
from experiments.store import name_of
from experiments.store.index import index_of_folders


@dataclass(frozen=True)
class Share:
    """The cells of a folder of experiments that none before it has: how many, their runs, and seconds on one core."""

    paper: str
    cells: int = 0
    runs: int = 0
    seconds: float = 0.0


def shares(results: Path) -> Iterator[Share]:
    """What each folder of experiments takes, those of papers first, over stored cells.

    That is typical seconds of a run times the number of runs.
    """
    composer = Composer()
    index = index_of_folders([results])
    took = dict(zip(index.names, zip(index.replications, index.seconds, strict=True), strict=True))
    known = papers()
    folders: dict[str, list[str]] = {paper: [] for paper in known}
    for name in composer.choices("experiment"):
        folders.setdefault(name.partition("/")[0], []).append(name)
    for folder, names in folders.items():
        share = Share(known[folder].cited if folder in known else folder)
        jobs = [[f"+experiment={name}"] for name in names]
        for asked in plan_all(jobs, composer):
            for request in asked.requests:
                runs, seconds = took.pop(name_of(request.cell), (0, math.nan))
                if runs and not math.isnan(seconds):
                    more = share.seconds + float(runs * seconds)
                    share = replace(share, cells=share.cells + 1, runs=share.runs + int(runs), seconds=more)
        yield share
