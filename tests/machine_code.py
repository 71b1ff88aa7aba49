"""Machine code of the loops of this repository, lent to copies of its sources."""

from pathlib import Path

from bandits.compiled import PLACE


def lend(package: Path) -> None:
    """Let a copy of `bandits` use what is compiled here, and compile into the same place."""
    if PLACE is not None:
        (package / "__pycache__").mkdir(exist_ok=True)
        (package / "__pycache__" / PLACE.name).symlink_to(PLACE, target_is_directory=True)
