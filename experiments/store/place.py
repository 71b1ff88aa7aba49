"""Where a cell is stored, in a results file of its own or in a pack, and which of its copies in some folders counts."""

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from experiments.errors import UserError, nearest
from experiments.store.packs import file_of, is_pack, opened, order_of
from experiments.store.results_file import FILE, DamagedFileError, count_in, read_file, read_footer
from experiments.store.stored import Replications, agree, matches, meets


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
        return f"{self.file}: {self.stem}" if self.is_packed else str(self.file)

    @property
    def stem(self) -> str:
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
            return self.stem in opened(self.file).footers
        except DamagedFileError:
            return True

    def read(self) -> Replications:
        """The rows and footer of the cell. Raises `DamagedFileError`."""
        return opened(self.file).read(self.stem) if self.is_packed else read_file(self.file)

    def footer(self) -> dict[str, Any]:
        """The footer of the cell. Raises `DamagedFileError`."""
        return opened(self.file).footer(self.stem) if self.is_packed else read_footer(self.file)

    def size(self) -> int:
        """Size of the cell in bytes: of its results file, or its share of a row group in a pack."""
        return opened(self.file).size(self.stem) if self.is_packed else self.file.stat().st_size

    def digest(self) -> bytes:
        """SHA-256 of the file, or of the cell's footer in a pack, which has a checksum of its rows.

        So damage to any byte of a file is noticed, and in packs by `verify`. Raises `DamagedFileError`.
        """
        about = self.file.stat()
        return _digest(self, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=2**14)
def _digest(place: Place, *_version: int) -> bytes:
    """See `Place.digest`; kept as long as the file stays, as many figures share cells."""
    content = json.dumps(place.footer()).encode() if place.is_packed else place.file.read_bytes()
    return hashlib.sha256(content).digest()


def is_ours(name: str) -> bool:
    """Whether a file of this name, in the folder of an instance, is a results file or a pack."""
    return FILE.fullmatch(name) is not None or is_pack(name)


def files_in(folder: Path, instance: str = "*") -> list[Path]:
    """The results files of a folder in the order of their names, then its packs; no files of other programs."""
    files = [path for path in folder.glob(f"{instance}/*.parquet") if is_ours(path.name)]
    return sorted(files, key=lambda path: (is_pack(path.name), path))


def places_in(file: Path) -> list[Place]:
    """The cells in a results file or pack. Raises `DamagedFileError`."""
    if not is_pack(file.name):
        return [Place(file, f"{file.parent.name}/{file.stem}")]
    return [Place(file, f"{file.parent.name}/{cell}") for cell in opened(file).footers]


@contextmanager
def undamaged(place: Place) -> Iterator[None]:
    """Turn `DamagedFileError` into `UserError`."""
    try:
        yield
    except DamagedFileError as damage:
        raise damaged(place, str(damage)) from None


def trusted_rows(place: Place) -> Replications:
    """The rows and footer of a cell. Raises `UserError` if it is damaged."""
    with undamaged(place):
        return place.read()


def trusted_footer(place: Place) -> dict[str, Any]:
    """The footer of a cell. Raises `UserError` if it is damaged."""
    with undamaged(place):
        return place.footer()


def in_order(places: Iterable[Place]) -> list[Place]:
    """The places in the order of their files, and in a pack in its order, in which each row group is read once.

    Raises `UserError` if one is damaged.
    """

    def order(place: Place) -> tuple[Path, tuple[int, int]]:
        if not place.is_packed:
            return place.file, (0, 0)
        with undamaged(place):
            return place.file, opened(place.file).begins.get(place.stem, (0, 0))

    return sorted(places, key=order)


def trusted_in_turn(places: Iterable[Place]) -> Iterator[tuple[Place, Replications]]:
    """Each place with its `trusted_rows`; of neighbours in one pack the pack is looked for once."""
    for file, in_file in itertools.groupby(places, lambda place: place.file):
        pack = None
        for place in in_file:
            with undamaged(place):
                pack = opened(file) if pack is None and place.is_packed else pack
                contents = place.read() if pack is None else pack.read(place.stem)
            yield place, contents


def damaged(where: object, reason: str) -> UserError:
    """The error for a file, or a cell of a pack, that is needed and damaged."""
    return UserError(f"{where}: damaged: {reason}; a run of its cells computes them again")


class Copy(NamedTuple):
    """A stored copy of a cell: where it is, and its footer; an empty one if the copy is damaged."""

    place: Place
    footer: dict[str, Any]

    @classmethod
    def at(cls, place: Place) -> Self:
        """The copy at a place, sound or damaged."""
        try:
            return cls(place, place.footer())
        except DamagedFileError:
            return cls(place, {})

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the cell as in `experiments.load`."""
        columns: dict[str, Any] = self.footer["columns"]
        return columns

    @property
    def replications(self) -> int:
        """How many replications it has, 0 if it is damaged."""
        return count_in(self.footer) if self.footer else 0


class Copies(NamedTuple):
    """The copies that count, in the order of `order_of`, and the files that could not be read, and why."""

    copies: list[Copy]
    damaged: dict[Path, str]

    def sound(self) -> list[Copy]:
        """The copies, if no file is damaged. Raises `UserError`, which names a damaged file."""
        for file, reason in sorted(self.damaged.items()):
            raise damaged(file, reason)
        return self.copies


def best(copies: Iterable[Copy], wanted: Mapping[str, float]) -> dict[str, Copy]:
    """The copy of each cell that counts, by name: that with most replications, of equal ones the first.

    Of a cell in `wanted`, more replications than are wanted do not count.
    """
    chosen: dict[str, Copy] = {}
    for copy in copies:
        name, most = copy.place.name, wanted.get(copy.place.name, math.inf)
        if name not in chosen or min(copy.replications, most) > min(chosen[name].replications, most):
            chosen[name] = copy
    return chosen


def require_agreement(copies: Iterable[Copy]) -> None:
    """Raise `UserError` for two copies of a cell in one folder, say a results file and a pack, whose numbers differ.

    One may lie in the folder of another instance, where somebody put it. Which of them counts would depend on how many
    replications are asked for. Their rows are compared if the checksums of these differ, as they do too where one copy
    has more replications.
    """
    first: dict[tuple[Path, str], Copy] = {}
    for copy in copies:
        if not copy.footer:
            continue
        other = first.setdefault((copy.place.file.parent.parent, copy.place.stem), copy)
        if other is copy or other.footer.get("rows") == copy.footer.get("rows"):
            continue
        try:
            same = agree(other.place.read(), copy.place.read())
        except DamagedFileError:  # which is said where it is read
            continue
        if not same:
            raise UserError(f"{other.place}: has other numbers than {copy.place}; remove the one that is wrong")


def look(folders: Sequence[Path], wanted: Mapping[str, tuple[str, int]] | None = None) -> Copies:
    """The copies that count in some folders, of all cells, or of those in `wanted`; of equal copies the first.

    In one folder a results file comes before a pack. A damaged file counts if it may have a cell that no other has.
    Raises `UserError` as `require_agreement`.

    Parameters
    ----------
    wanted: by name of a cell its record, and how many replications are asked for.
    """
    copies: list[Copy] = []
    unread: dict[Path, str] = {}
    for folder in folders:
        for file in files_in(folder) if wanted is None else _files_of(folder, wanted):
            try:
                copies += copies_in(file, wanted)
            except DamagedFileError as damage:
                if file.exists():  # else it was set aside meanwhile by a process that computes it again
                    unread[file] = str(damage)
    require_agreement(copies)
    chosen = best(copies, {name: replications for name, (_, replications) in (wanted or {}).items()})
    lacked = None if wanted is None else {name: record for name, (record, _) in wanted.items() if name not in chosen}
    missed = {file: reason for file, reason in unread.items() if _may_have(file, lacked, chosen)}
    return Copies(sorted(chosen.values(), key=lambda copy: order_of(copy.footer)), missed)


def copies_in(file: Path, wanted: Iterable[str] | None) -> Iterator[Copy]:
    """The copies in a results file or pack, or those of the `wanted` names if given. Raises `DamagedFileError`."""
    group = file.parent.name
    if not is_pack(file.name):
        yield Copy(Place(file, f"{group}/{file.stem}"), read_footer(file))
        return
    for cell, footer in opened(file).footers.items():
        if wanted is None or f"{group}/{cell}" in wanted:
            yield Copy(Place(file, f"{group}/{cell}"), footer)


def _files_of(folder: Path, wanted: Mapping[str, tuple[str, int]]) -> list[Path]:
    """The files of a folder that may have one of the cells: their own, then packs."""
    alone = [folder / f"{name}.parquet" for name in wanted]
    packs = {folder / name.partition("/")[0] / file_of(record): None for name, (record, _) in wanted.items()}
    return [file for file in (*alone, *packs) if file.exists()]


def _may_have(file: Path, lacked: Mapping[str, str] | None, chosen: Mapping[str, Copy]) -> bool:
    """Whether a damaged file may have a cell that is lacked, or, if that is None, any that is not chosen."""
    if not is_pack(file.name):
        name = f"{file.parent.name}/{file.stem}"
        return name not in chosen if lacked is None else name in lacked
    folder = file.parent.name
    return lacked is None or any(
        name.partition("/")[0] == folder and file_of(record) == file.name for name, record in lacked.items()
    )


def filtered(copies: Sequence[Copy], filters: Mapping[str, Any], columns: Iterable[str]) -> list[Copy]:
    """The copies that pass all `filters`: column=value or column=[values].

    Raises `UserError` for a column that is not in `columns`, and for a value that no copy has in its column.
    """
    for name, value in filters.items():
        if name not in columns:
            raise UserError(f"{name}={value}: unknown filter; {nearest(name, columns)}")
        require_stored(name, value, {repr(stored): stored for stored in _values_of(copies, name)}.values())
    return [copy for copy in copies if meets(copy.columns, filters)]


def _values_of(copies: Iterable[Copy], name: str) -> Iterator[Any]:
    """The values of the copies in a column, None for one without it."""
    return (copy.columns.get(name) for copy in copies)


def columns_of(copies: Iterable[Copy]) -> list[str]:
    """The columns that at least one copy has."""
    return list(dict.fromkeys(name for copy in copies for name in copy.columns))


def require_stored(name: str, value: Any, stored: Iterable[Any]) -> None:
    """Raise `UserError` for a value, or one of several, that is not stored; the message names the nearest that are."""
    there = list(stored)
    several = isinstance(value, Iterable) and not isinstance(value, str)
    options = list(value) if several and not any(isinstance(one, list) for one in there) else [value]
    for option in options:
        if there and not any(matches(one, option) for one in there):
            raise UserError(f"{name}={option}: no stored cell has it; {_nearest_values(option, there)}")


def _nearest_values(option: Any, stored: Iterable[Any]) -> str:
    """The stored numbers just below and above `option` if it is a number, else the nearest words."""
    numbers = sorted({value for value in stored if isinstance(value, int | float)})
    if not isinstance(option, int | float) or not numbers or option != option:  # NaN has no neighbours
        return nearest(str(option), {str(value) for value in stored if value is not None})
    beside = [*[value for value in numbers if value < option][-1:], *[value for value in numbers if value > option][:1]]
    return f"the nearest: {', '.join(f'{value:.12g}' for value in beside)}"
