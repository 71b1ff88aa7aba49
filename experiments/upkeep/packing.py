"""Renew packs: move the results files beside a pack into it, or take cells out of it.

A new pack is written completely, read back, and replaces the old one in one step; only then are the results files that
it contains removed. If this is stopped at any moment, nothing is lost, and the command can be repeated.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from experiments.errors import UserError
from experiments.store import Store
from experiments.store.locks import Locks, alone
from experiments.store.packs import file_of, pack_of, packed
from experiments.store.place import Place, damaged, files_in, places_in
from experiments.store.results_file import DamagedFileError, footer_of, kind_of_footer
from experiments.store.stored import Replications, agree
from experiments.store.whole_files import put


class Renewed(NamedTuple):
    """A renewed pack: how many cells it has now, how many came from results files, and how many were taken out."""

    file: Path
    cells: int
    taken_in: int
    taken_out: int

    def __str__(self) -> str:
        return f"{self.file}: {self.cells} cells, {self.taken_in} taken in, {self.taken_out} taken out"


def pack(folder: Path, without: Collection[str] = ()) -> Iterator[Renewed]:
    """Put every results file of a folder into the pack of its kind; remove the cells whose keys are in `without`.

    If a cell is in a results file and in the pack, the one with more replications is kept. Packs that do not change are
    not written. Raises `UserError` for a damaged file, for a cell whose file and pack have different numbers, for a key
    that no cell has, and if another process is doing the same.
    """
    with _renewing(folder):
        packs = _by_pack(folder)
        unknown = set(without) - {place.key for place in chain(*packs.values())}
        if unknown:
            raise UserError(f"without={min(unknown)}: {folder} has no cell with this key")
        for file, places in packs.items():
            if any(place.key in without or not place.is_packed for place in places):
                yield _renewed(file, places, without)


def take_out(folder: Path, places: Iterable[Place]) -> None:
    """Remove cells from packs. Raises `UserError` as `pack` does."""
    keys = {place.key for place in places}
    with _renewing(folder):
        for file, of_pack in _by_pack(folder).items():
            in_pack = [place for place in of_pack if place.is_packed]
            if any(place.key in keys for place in in_pack):
                _renewed(file, in_pack, keys)


@contextmanager
def _renewing(folder: Path) -> Iterator[None]:
    """Have the lock on the packs of a folder. Raises `UserError` if another process has it."""
    locks = Locks(folder)
    with Store(folder).writing():
        if not locks.take("pack"):
            raise UserError(f"{folder}: another process is writing its packs")
        try:
            yield
        finally:
            locks.release("pack")


def _by_pack(folder: Path) -> dict[Path, list[Place]]:
    """The cells of a folder by the pack that they are in, or belong to; those that are in it come first."""
    packs: dict[Path, list[Place]] = defaultdict(list)
    for file in reversed(files_in(folder)):
        try:
            for place in places_in(file):
                record = kind_of_footer(place.footer()).record
                packs[file.with_name(file_of(record))].append(place)
        except DamagedFileError as damage:
            raise damaged(file, str(damage)) from None
    return dict(sorted(packs.items()))


def _renewed(file: Path, places: Sequence[Place], without: Collection[str]) -> Renewed:
    """Write the pack at `file` again from the cells in `places`, and remove those results files among them."""
    versions = {place: _version(place.file) for place in places if not place.is_packed}
    cells, taken_in = _together(file, places, without)
    taken_out = sum(place.is_packed and place.key in without for place in places)
    if not cells:
        file.unlink(missing_ok=True)
    elif taken_in or taken_out:
        _write(file, cells)
    for place, version in versions.items():
        with alone(file.parents[1], f"{place.key}-write"):
            if _version(place.file) == version:  # no other process has stored more by now
                place.file.unlink()
    return Renewed(file, len(cells), taken_in, taken_out)


def _together(file: Path, places: Sequence[Place], without: Collection[str]) -> tuple[dict[str, Replications], int]:
    """The cells of the new pack, by POLICY-KEY, and how many of them come from results files.

    Of `places`, those in the old pack come first.
    """
    cells: dict[str, Replications] = {}
    own = {place.name for place in places if not place.is_packed}
    from_files = set()
    for place in places:
        if place.key in without:
            continue
        try:
            contents = place.read()
        except DamagedFileError as damage:
            if place.is_packed and place.name in own:
                continue  # its results file replaces it
            raise damaged(place, str(damage)) from None
        earlier = cells.get(place.stem)
        if earlier is not None and not agree(earlier, contents):
            raise UserError(f"{place}: has other numbers than {file}; remove the wrong one of the two")
        if earlier is None or earlier.replications < contents.replications:
            cells[place.stem] = contents
            from_files.update([] if place.is_packed else [place])
    return cells, len(from_files)


def _write(file: Path, cells: Mapping[str, Replications]) -> None:
    """Write a pack, after reading it back in memory and comparing it with the cells. Raises `UserError`."""
    content = packed(cells.values())
    made = pack_of(file, content)
    for name, contents in cells.items():
        written = made.read(name)
        whole = written.replications == contents.replications and written.footer == json.loads(footer_of(contents))
        if not (whole and agree(written, contents)):
            raise UserError(f"{file}: {name} cannot be packed: it would be read differently; nothing was removed")
    put(file, content)
    if file.read_bytes() != content:
        raise UserError(f"{file}: does not hold what was written; nothing was removed")


def _version(file: Path) -> tuple[int, int, int]:
    """Inode, size and modification time of a file, which change when it is replaced."""
    about = file.stat()
    return about.st_ino, about.st_size, about.st_mtime_ns
