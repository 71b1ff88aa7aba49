"""Read every stored cell completely, and compare its numbers with their checksum."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from experiments.config.progress import Progress
from experiments.store import agree
from experiments.store.place import Place, places_in
from experiments.store.results_file import DamagedFileError


class Verified(NamedTuple):
    """How many cells are sound, how many of them have no checksum (format 1), and which are damaged, and why."""

    sound: int
    without_checksum: int
    damaged: dict[str, str]

    def __str__(self) -> str:
        unchecked = f", {self.without_checksum} of them of format 1, without checksums" if self.without_checksum else ""
        return f"{self.sound + len(self.damaged)} cells: {self.sound} sound{unchecked}; {len(self.damaged)} damaged"


def verify(files: Iterable[Path]) -> Verified:
    """Read the cells of all `files`, results files and packs; a pack that cannot be opened counts as one cell.

    Two files of one cell in a folder must have the same numbers where both have some.
    """
    sound, without, damaged = 0, 0, {}
    places: list[Place] = []
    first: dict[tuple[Path, str], Place] = {}  # of a folder and a key
    for file in files:
        try:
            places += places_in(file)
        except DamagedFileError as damage:
            damaged[str(file)] = str(damage)
    with Progress("verifying", {"cells": len(places)}) as progress:
        for place in places:
            try:
                contents = progress.after(place.read(), cells=1)
                before = first.setdefault((place.file.parents[1], place.key), place)
                if before is not place and not agree(before.read(), contents):
                    raise DamagedFileError(f"its numbers are not those of the same cell in {before}")
            except DamagedFileError as damage:
                damaged[str(place)] = str(damage)
                continue
            sound += 1
            without += contents.footer["format"] == 1
    return Verified(sound, without, damaged)
