"""Remove results of one's own, those with some columns, as of code that is edited since."""

from collections.abc import Iterator
from pathlib import Path

from experiments.simulate.failures import Failures
from experiments.simulate.pieces import FOLDER as PIECES
from experiments.simulate.pieces import SUFFIX
from experiments.store.garbage import Garbage
from experiments.store.index import Index


def removable(root: Path, cells: Index) -> Iterator[Garbage]:
    """Some cells that are stored below `root`, in files or in packs, and what was begun of them or failed."""
    for place in cells.places:
        yield Garbage(place if place.is_packed else place.file, "chosen", place.size())
        begun = sorted((root / PIECES / place.key).glob(f"*{SUFFIX}"))
        failed = Failures(root).path(place.key)
        for path in [*begun, *([failed] if failed.exists() else [])]:
            yield Garbage(path, "begun", path.stat().st_size)
