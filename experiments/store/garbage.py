"""Files in a folder of results that nothing will read again."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.own_code import revisions
from experiments.results_file import FILE, DamagedFileError, read_footer

ORPHANED = 24 * 3600.0  # seconds: a temporary file or a lease that nobody touched for so long has no owner
ASIDE = (".damaged", ".conflict")


class Garbage(NamedTuple):
    """A file that nothing reads, and why."""

    path: Path
    why: str
    size: int


def garbage(folder: Path) -> Iterator[Garbage]:
    """What may be removed from a folder of results. Files of others are never among it."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        why = _why(path)
        if why:
            yield Garbage(path, why, path.stat().st_size)


def _why(path: Path) -> str | None:
    """Why nothing will read a file, or None."""
    name, _, rest = path.name.partition(".parquet")
    if FILE.fullmatch(path.name):
        return _outdated(path)
    if FILE.fullmatch(f"{name}.parquet") and rest.rstrip("0123456789") in ASIDE:
        return f"set aside: {'damaged' if rest.startswith('.damaged') else 'in conflict with the file that was kept'}"
    if path.suffix in (".tmp", ".lease") and time.time() - path.stat().st_mtime > ORPHANED:
        return "left by a process that ended a day ago or longer"
    return None


def _outdated(path: Path) -> str | None:
    """Which revision of this repository's classes came after that of a results file; None for classes of others."""
    try:
        footer = read_footer(path)
    except DamagedFileError:
        return None  # whoever runs its cell sets it aside
    for part, now in revisions(footer["identity"]).items():
        then = footer["revisions"][part]
        if then < now:
            return f"of revision {then} of its {part}, which has revision {now} now"
    return None
