"""Read every results file whole, and compare its numbers with their checksum."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from experiments.progress import Progress
from experiments.results_file import DamagedFileError, read_file


class Verified(NamedTuple):
    """How many files are sound, how many of these have no checksum (format 1), and what is wrong with the others."""

    sound: int
    without_checksum: int
    damaged: dict[str, str]

    def __str__(self) -> str:
        unchecked = f", {self.without_checksum} of them of format 1, without checksums" if self.without_checksum else ""
        return f"{self.sound + len(self.damaged)} files: {self.sound} sound{unchecked}; {len(self.damaged)} damaged"


def verify(files: Iterable[str]) -> Verified:
    """Read all `files`."""
    paths = sorted(files)
    sound, without, damaged = 0, 0, {}
    with Progress("verifying", {"files": len(paths)}) as progress:
        for file in paths:
            try:
                contents = progress.after(read_file(Path(file)), files=1)
            except DamagedFileError as damage:
                damaged[file] = str(damage)
                continue
            sound += 1
            without += contents.footer["format"] == 1
    return Verified(sound, without, damaged)
