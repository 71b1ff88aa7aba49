"""The progress of a sweep in another terminal, or on another machine that writes to the same folder.

python -m experiments.status
python -m experiments.status results_dir=mine/results
"""

from collections.abc import Iterator
from pathlib import Path

from experiments.config.command_line import exit_on_user_error, read_command_line
from experiments.config.folders import RUNS, folder
from experiments.errors import UserError
from experiments.simulate.failures import Failures
from experiments.simulate.job import BEGUN
from experiments.simulate.status import sweeps
from experiments.store.place import files_in


def _lines(root: Path) -> Iterator[str]:
    """The status of all sweeps that write to a folder of results, with its partly simulated and failed cells."""
    statuses = sweeps(root)
    yield from statuses
    if not statuses:
        yield f"no sweep has a status file in {root}"
    begun, failed = len(files_in(root / BEGUN)), sorted(Failures(root).keys())
    if begun:
        yield f"{begun} cells are partly simulated; the command that began them continues them"
    if failed:
        yield f"{len(failed)} cells failed when last tried, see {Failures(root).path(failed[0]).parent}"


def main() -> None:
    """Entry point of `python -m experiments.status`."""
    command = read_command_line()
    if command.jobs:
        root = folder(command.config, "results_dir")
        if not root.is_dir() and root != RUNS:
            raise UserError(f"results_dir={root}: no such folder")
        print("\n".join(_lines(root)))


if __name__ == "__main__":
    exit_on_user_error(main)
