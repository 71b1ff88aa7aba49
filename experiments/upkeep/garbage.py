"""What can be removed from a folder of results: what nothing will read again, and cells that are chosen by columns."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from experiments.own_code.built_in import revisions
from experiments.simulate import failures, job, slurm, status
from experiments.simulate.failures import Failures
from experiments.simulate.job import BEGUN
from experiments.store import locks, places_of_cell
from experiments.store.packs import is_pack
from experiments.store.place import Copy, Place, places_in
from experiments.store.results_file import FILE, DamagedFileError
from experiments.upkeep.packing import take_out

ORPHANED = 24 * 3600.0  # seconds: a file that has not changed for so long has no process that needs it
ASIDE = (".damaged", ".conflict")
OF_SWEEPS = {
    job.BEGUN: FILE,
    failures.FOLDER: re.compile(r"[0-9a-f]{16}\.json"),
    locks.FOLDER: re.compile(r".*\.(lock|lease)"),
    status.FOLDER: re.compile(r".*\.txt"),
    slurm.LOGS: re.compile(r".*"),
}  # what sweeps leave beside results, if they are killed
LEFT = "left by a process that ended a day ago or longer"


class Garbage(NamedTuple):
    """A file, or a cell of a pack, that nothing reads, and why."""

    what: Path | Place
    why: str
    size: int


def garbage(folder: Path) -> Iterator[Garbage]:
    """What may be removed from a folder of results; never files that this project did not write."""
    is_running = status.is_running(folder)  # a sweep may take days
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.parent.parent == folder and (is_pack(path.name) or FILE.fullmatch(path.name)):
            yield from _outdated(path)
        elif why := _why(path) or (LEFT if not is_running and left_by_sweeps(folder, path) else None):
            yield Garbage(path, why, path.stat().st_size)


def remove(folder: Path, leftovers: Iterable[Garbage]) -> None:
    """Remove what was found in a folder of results."""
    packed = []
    for item in leftovers:
        if isinstance(item.what, Path):
            _remove_file(item.what)
        else:
            packed.append(item.what)
    if packed:
        take_out(folder, packed)


def _remove_file(path: Path) -> None:
    """Remove a file, and its folder if that is empty now and was made by a sweep."""
    path.unlink(missing_ok=True)
    if path.parent.parent.name in (job.BEGUN, slurm.LOGS):
        with suppress(OSError):  # the folder is not empty
            path.parent.rmdir()


def _why(path: Path) -> str | None:
    """Why nothing will read a file: it was set aside, or not completely written; None for others."""
    name, _, rest = path.name.partition(".parquet")
    if FILE.fullmatch(f"{name}.parquet") and rest.rstrip("0123456789") in ASIDE:
        return f"set aside: {'damaged' if rest.startswith('.damaged') else 'in conflict with the file that was kept'}"
    return LEFT if path.suffix == ".tmp" and _is_old(path) else None


def _outdated(file: Path) -> Iterator[Garbage]:
    """The cells in a results file or pack whose policy or instance in this repository has a later revision now."""
    with suppress(DamagedFileError):  # the next run of its cells deals with it
        for place in places_in(file):
            footer = place.footer()
            for part, now in revisions(footer["identity"]).items():
                then = footer["revisions"][part]
                if then < now:
                    why = f"of revision {then} of its {part}, which has revision {now} now"
                    yield Garbage(place if place.is_packed else file, why, place.size())
                    break


def left_by_sweeps(folder: Path, path: Path) -> bool:
    """Whether a sweep wrote a file of a folder of results, for itself, that was not changed for a day."""
    top, *below = path.relative_to(folder).parts
    return bool(below) and top in OF_SWEEPS and bool(OF_SWEEPS[top].fullmatch(path.name)) and _is_old(path)


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > ORPHANED


def removable(root: Path, cells: Iterable[Copy]) -> Iterator[Garbage]:
    """The chosen cells below `root`, with what was begun of them and records of failures.

    A cell may have a results file and be in a pack: it is removed from both. A pack that cannot be read is left.
    """
    for chosen, footer in cells:
        for place in places_of_cell(root, chosen.name, footer["record"]):
            with suppress(DamagedFileError):
                yield Garbage(place if place.is_packed else place.file, "chosen", place.size())
        for path in (root / BEGUN / f"{chosen.name}.parquet", Failures(root).path(chosen.key)):
            if path.exists():
                yield Garbage(path, "begun", path.stat().st_size)
