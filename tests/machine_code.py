"""Machine code of the loops of this repository, lent to copies of its sources."""

from pathlib import Path

from numba.core.caching import _CacheLocator

import bandits
from bandits.compiled import PLACE, folder_of

PACKAGE = Path(bandits.__file__).parent


def lend(package: Path) -> None:
    """Let a copy of `bandits` use what is compiled here, and compile into the same place.

    For copies whose files with loops are the same, to the time of their last change; other files may differ. Numba has
    a folder of machine code for each folder of sources, named after the path.
    """
    if PLACE is None:
        return
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
