"""Machine code of the loops of this repository, lent to copies of its sources."""

import os
from pathlib import Path

from numba.core.caching import _CacheLocator

import bandits
from bandits.compiled import PLACE, folder_of

PACKAGE = Path(bandits.__file__).parent


def lend(package: Path) -> None:
    """Let a copy of `bandits` use what is compiled here, and compile into the same place.

    For copies whose files with loops are the same; other files may differ. Numba has a folder of machine code for each
    folder of sources, named after the path, and looks at the time of their last change.
    """
    if PLACE is None:
        return
    for source in PACKAGE.rglob("*.py"):
        copy, about = package / source.relative_to(PACKAGE), source.stat()
        if copy.read_bytes() == source.read_bytes():
            os.utime(copy, ns=(about.st_atime_ns, about.st_mtime_ns))
    place = package / "__pycache__" / folder_of(package)
    place.mkdir(parents=True, exist_ok=True)
    for source in {path.parent for path in PACKAGE.rglob("*.py")}:
        ours, theirs = (
            folder / _CacheLocator.get_suitable_cache_subpath(str(of / "any.py"))
            for folder, of in ((PLACE, source), (place, package / source.relative_to(PACKAGE)))
        )
        ours.mkdir(parents=True, exist_ok=True)
        if not theirs.exists():
            theirs.symlink_to(ours)
