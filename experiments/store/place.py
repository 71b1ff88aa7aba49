"""Where a cell is stored: in a results file of its own, or in a pack. Both are read in the same way."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from experiments.errors import UserError
from experiments.store.packs import is_pack, opened
from experiments.store.results_file import FILE, DamagedFileError, read_file, read_footer
from experiments.store.stored import Replications


class Place(NamedTuple):
    """One stored cell.

    Attributes
    ----------
    file: its results file, or the pack that has it.
    name: of the cell, the same in every folder of results: INSTANCE/POLICY-KEY.
    """

    file: Path
    name: str

    def __str__(self) -> str:
        return f"{self.file}: {self.cell}" if self.is_packed else str(self.file)

    @property
    def cell(self) -> str:
        """POLICY-KEY."""
        return self.name.rpartition("/")[2]

    @property
    def key(self) -> str:
        """The key of the cell."""
        return self.name.rpartition("-")[2]

    @property
    def is_packed(self) -> bool:
        return is_pack(self.file.name)

    def exists(self) -> bool:
        """Whether the cell is stored here; also true for a pack that cannot be read, which may contain it."""
        if not (self.is_packed and self.file.exists()):
            return self.file.exists()
        try:
            return self.cell in opened(self.file).footers
        except DamagedFileError:
            return True

    def read(self) -> Replications:
        """The rows and footer of the cell. Raises `DamagedFileError`."""
        return opened(self.file).read(self.cell) if self.is_packed else read_file(self.file)

    def footer(self) -> dict[str, Any]:
        """The footer of the cell. Raises `DamagedFileError`."""
        return opened(self.file).footer(self.cell) if self.is_packed else read_footer(self.file)

    def replications(self) -> int:
        """How many replications are stored; 0 if the file is damaged."""
        try:
            return int(self.footer()["runs"][-1]["replications"][1])
        except DamagedFileError:
            return 0

    def size(self) -> int:
        """Size of the cell in bytes: of its results file, or of its row group in a pack."""
        return opened(self.file).size(self.cell) if self.is_packed else self.file.stat().st_size

    def digest(self) -> bytes:
        """SHA-256 of the bytes of the cell: of its results file, or of its footer and row group in a pack.

        Raises `DamagedFileError`.
        """
        about = self.file.stat()
        return _digest(self, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=2**14)
def _digest(place: Place, *_version: int) -> bytes:
    """See `Place.digest`; kept as long as size and time of the file stay, as many figures share cells."""
    if not place.is_packed:
        return hashlib.sha256(place.file.read_bytes()).digest()
    return hashlib.sha256(json.dumps(place.footer()).encode() + opened(place.file).raw(place.cell)).digest()


def is_ours(name: str) -> bool:
    """Whether a file of this name, in the folder of an instance, is a results file or a pack."""
    return FILE.fullmatch(name) is not None or is_pack(name)


def files_in(folder: Path) -> list[Path]:
    """The results files of a folder in the order of their names, then its packs; no files of other programs."""
    found = [path for path in folder.glob("*/*.parquet") if is_ours(path.name)]
    return sorted(found, key=lambda path: (is_pack(path.name), path))


def places_in(file: Path) -> list[Place]:
    """The cells in a results file or pack. Raises `DamagedFileError`."""
    if not is_pack(file.name):
        return [Place(file, f"{file.parent.name}/{file.stem}")]
    return [Place(file, f"{file.parent.name}/{cell}") for cell in opened(file).footers]


def trusted(place: Place) -> Replications:
    """The rows and footer of a cell. Raises `UserError` if it is damaged."""
    try:
        return place.read()
    except DamagedFileError as damage:
        raise damaged(place, str(damage)) from None


def read_each(places: Iterable[Place]) -> Iterator[Replications]:
    """The rows and footer of each cell in turn, as `trusted`; faster for neighbours that are in the same pack."""
    for file, neighbours in groupby(places, lambda place: place.file):
        asked = list(neighbours)
        found = _read_file(file, asked)
        for place in asked:
            try:
                contents = next(found)
            except DamagedFileError as damage:
                raise damaged(place, str(damage)) from None
            yield contents


def _read_file(file: Path, places: Iterable[Place]) -> Iterator[Replications]:
    if is_pack(file.name):
        yield from opened(file).read_each([place.cell for place in places])
    else:
        yield from (place.read() for place in places)


def damaged(where: object, reason: str) -> UserError:
    """The error for a file, or a cell of a pack, that is needed and damaged."""
    return UserError(f"{where}: damaged: {reason}; a run of its cells computes them again")
