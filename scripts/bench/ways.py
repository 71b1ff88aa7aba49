"""Time the ways of docs/ways.md, each in a new clone of what is committed, and write the times into that page.

python -m scripts.bench.ways
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, help_alone
from experiments.config.compose import REPOSITORY
from scripts.bench.timing import this_machine

PAGE = REPOSITORY / "docs" / "ways.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n\nTime: [^\n]*\n", re.MULTILINE | re.DOTALL)  # commands, and what they took
MEASURED = re.compile(r"^Measured.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of all processors."""

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:.0f} s, {self.cpu:.0f} s of the processor."


def blocks(page: str) -> list[str]:
    """The commands of each way of a page, as they are typed."""
    return BLOCK.findall(page)


def with_times(page: str, measured_on: str, times: list[Took]) -> str:
    """The page with the machine, and these times below the commands of its ways."""
    left = iter(times)

    def with_time(block: re.Match[str]) -> str:
        return f"```sh\n{block[1]}```\n\nTime: {next(left)}\n"

    return MEASURED.sub(f"Measured on {measured_on}, beside whatever else it did.\n", BLOCK.sub(with_time, page))


def timed_blocks(commands: list[str]) -> Iterator[Took]:
    """The time of each block of commands, each typed in a new clone. Raises `CalledProcessError` if one fails."""
    for block in commands:
        with tempfile.TemporaryDirectory() as name:
            clone = Path(name) / "clone"
            subprocess.run(["git", "clone", "--quiet", "--shared", str(REPOSITORY), str(clone)], check=True)
            (clone / ".venv").symlink_to(sys.prefix)
            before, began = _cpu(), time.perf_counter()
            subprocess.run(["bash", "-ec", block], cwd=clone, stdout=sys.stderr, check=True)
            yield Took(time.perf_counter() - began, _cpu() - before)


def _cpu() -> float:
    """CPU seconds of all children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Entry point of `python -m scripts.bench.ways`."""
    if help_alone(__doc__):
        return
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_times(page, this_machine(), list(timed_blocks(blocks(page)))), encoding="utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    exit_on_user_error(main)
