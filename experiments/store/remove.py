"""Remove results of one's own, those with some columns, as of code that is edited since."""

from collections.abc import Iterator
from pathlib import Path

from experiments.simulate.failures import Failures
from experiments.simulate.pieces import FOLDER as PIECES
from experiments.simulate.pieces import SUFFIX
from experiments.store.index import Index


def files_of(root: Path, cells: Index) -> Iterator[Path]:
    """The results files of some cells below `root`, and what was begun of them or failed."""
    for file in map(Path, cells.files):
        key = file.stem.rpartition("-")[2]
        yield file
        yield from sorted((root / PIECES / key).glob(f"*{SUFFIX}"))
        failed = Failures(root).path(key)
        if failed.exists():
            yield failed
