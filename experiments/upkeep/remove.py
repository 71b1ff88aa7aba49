"""Choose results to remove by their columns, such as those of code that was edited since."""

from collections.abc import Iterator
from pathlib import Path

from experiments.simulate.failures import Failures
from experiments.simulate.pieces import FOLDER as PIECES
from experiments.simulate.pieces import SUFFIX
from experiments.store.index import Index
from experiments.upkeep.garbage import Garbage


def removable(root: Path, cells: Index) -> Iterator[Garbage]:
    """The chosen cells below `root`, in results files or packs, with their pieces and records of failures."""
    for place in cells.places:
        yield Garbage(place if place.is_packed else place.file, "chosen", place.size())
        begun = sorted((root / PIECES / place.key).glob(f"*{SUFFIX}"))
        failed = Failures(root).path(place.key)
        for path in [*begun, *([failed] if failed.exists() else [])]:
            yield Garbage(path, "begun", path.stat().st_size)
