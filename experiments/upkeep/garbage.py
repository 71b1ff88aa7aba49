"""Garbage in a folder of results, which nothing will read again: replaced results, and what sweeps left."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from experiments.own_code.user_code import revisions
from experiments.simulate import failures, pieces, slurm, status
from experiments.store import LEASES
from experiments.store.index import index_of_folders
from experiments.store.packs import is_pack
from experiments.store.place import Place, places_in
from experiments.store.results_file import FILE, DamagedFileError
from experiments.upkeep.packing import take_out

ORPHANED = 24 * 3600.0  # seconds: a file that has not changed for so long has no process that needs it
ASIDE = (".damaged", ".conflict")
FAILURE = re.compile(r"[0-9a-f]{16}\.json")
LEFT = "left by a process that ended a day ago or longer"


class Garbage(NamedTuple):
    """A file, or a cell of a pack, that nothing reads, and why."""

    what: Path | Place
    why: str
    size: int


def garbage(folder: Path) -> Iterator[Garbage]:
    """What may be removed from a folder of results; never files that this project did not write."""
    of_sweeps = Leftovers(folder)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.parent.parent == folder and (is_pack(path.name) or FILE.fullmatch(path.name)):
            yield from _outdated(path)
        elif why := _why(path) or of_sweeps.why(path):
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
    if path.parent.parent.name in (pieces.FOLDER, slurm.LOGS):
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


class Leftovers:
    """What sweeps left below `root`: pieces, leases, failures, status files, job folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reasons: dict[str, Callable[[Path], str | None]] = {
            pieces.FOLDER: self._of_piece,
            failures.FOLDER: self._of_failure,
            LEASES: _of_process,
            status.FOLDER: _of_process,
            slurm.LOGS: self._of_jobs,
        }

    def why(self, path: Path) -> str | None:
        """Why nothing will read a file; None if it may still be read, or no sweep wrote it."""
        top, *below = path.relative_to(self._root).parts
        return self._reasons[top](path) if below and top in self._reasons else None

    def _of_piece(self, path: Path) -> str | None:
        if path.suffix != pieces.SUFFIX:
            return None
        numbers = pieces.numbers_of(path)
        if numbers is not None and max(numbers) < self._replications(path.parent.name):
            return "its replications are stored"
        if self._is_running or not _is_old(path):
            return None
        return (
            f"of {0 if numbers is None else len(numbers)} replications of a run that nobody resumed for a day or longer"
        )

    def _of_failure(self, path: Path) -> str | None:
        if not FAILURE.fullmatch(path.name):
            return None
        if _failed_at(path) < self._replications(path.stem):
            return "the replication that failed is stored"
        return "of a cell that failed a day ago or longer; the next run tries it again" if _is_old(path) else None

    def _of_jobs(self, path: Path) -> str | None:
        return None if self._is_running or not _is_old(path) else "of jobs that ended a day ago or longer"

    @cached_property
    def _is_running(self) -> bool:
        """Whether a sweep is running here; it may take days."""
        return any(sweep.state == status.RUNNING and not sweep.is_lost for sweep in status.sweeps(self._root))

    def _replications(self, key: str) -> int:
        """How many replications of the cell with this key are stored."""
        return self._stored.get(key, 0)

    @cached_property
    def _stored(self) -> dict[str, int]:
        """How many replications of each cell are stored here, by key."""
        index = index_of_folders([self._root])
        return {place.key: int(count) for place, count in zip(index.places, index.replications, strict=True)}


def _of_process(path: Path) -> str | None:
    return LEFT if path.suffix in (".lease", ".json") and _is_old(path) else None


def _failed_at(path: Path) -> float:
    """The number of the replication that failed; infinite if the record does not have it."""
    try:
        return float(json.loads(path.read_bytes())["replication"])
    except (OSError, ValueError, LookupError, TypeError):
        return float("inf")


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > ORPHANED
