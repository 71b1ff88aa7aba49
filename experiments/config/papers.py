"""The papers that are reproduced: conf/papers/NAME.yaml, and papers/NAME.yaml in a folder of --config-dir.

    authors: Sajed and Sheffet
    year: 2019
    title: "An Optimal Private Stochastic-MAB Algorithm Based on an Optimal Private Stopping Rule"
    venue: ICML                      # may be left out
    figures: 12                      # printed in the paper; the experiments NAME/fig01 to NAME/fig12 are theirs
    colours: {dp_se: "#0072B2"}      # of its private policies in all figures; others get one that is free
    notes: Only the abstract was read.   # Markdown at the top of its page: what was read, what our results say

NAME also names the folder of its experiments, and the files of its claims, errata and bounds. Papers stand in the order
of their year, then of their name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from experiments.config.build import mapping_in, read
from experiments.config.compose import CONF
from experiments.errors import UserError


@dataclass(frozen=True)
class Paper:
    """A paper; `figures` is how many figures it has."""

    name: str
    authors: str
    year: int
    title: str
    venue: str = ""
    figures: int = 0
    colours: dict[str, str] = field(default_factory=dict)
    notes: str = ""

    @property
    def cited(self) -> str:
        """Authors and year, as in Sajed and Sheffet (2019)."""
        return f"{self.authors} ({self.year})"

    @property
    def printed(self) -> list[str]:
        """The experiments of its figures."""
        return [f"{self.name}/fig{number:02d}" for number in range(1, self.figures + 1)]


def papers(config_dirs: Iterable[Path] = ()) -> dict[str, Paper]:
    """Every paper by name, in order. Raises `UserError` that names file and key."""
    return dict(_papers(tuple(config_dirs)))


def colours(config_dirs: Iterable[Path] = ()) -> dict[str, str]:
    """The colour of each policy that the file of a paper sets."""
    return {policy: colour for paper in papers(config_dirs).values() for policy, colour in paper.colours.items()}


@cache
def _papers(config_dirs: tuple[Path, ...]) -> dict[str, Paper]:
    papers = [_read(file) for folder in (CONF, *config_dirs) for file in (folder / "papers").glob("*.yaml")]
    return {paper.name: paper for paper in sorted(papers, key=lambda paper: (paper.year, paper.name))}


def _read(file: Path) -> Paper:
    keys = mapping_in(file, "authors, year, title, ...")
    if "name" in keys:
        raise UserError(f"{file}: name: unknown; the file is called {file.stem}")
    return read(Paper, {"name": file.stem, **keys}, lambda key, problem: UserError(f"{file}: {key}: {problem}"))
