"""Run `python -m experiments.run` in processes that can be traced, see `tests.traced`."""

import os
import sys
import tempfile

from experiments import progress
from experiments.config.command_line import exit_on_user_error
from experiments.library import running
from experiments.simulate import job, sweep
from tests.traced import serve

WORDS = ("instance=c1", "instance.arms=2", "policy=ucb1", "horizon=200", "runner.workers=1", "published_dir=null")


def command(words):
    """Run it in this process; return its exit code."""
    sys.argv = ["experiments.run", *WORDS, *words]
    try:
        exit_on_user_error(running.main)
    except SystemExit as end:
        return end.code or 0
    return 0


def main():
    """Run one command first, so that later ones need no imports."""
    progress.EVERY = 1e6
    job.SECONDS, sweep.SAVE = 1e9, -1.0  # blocks of 1, 2, 4 replications, saved after each of them
    answer = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        command(["replications=2", f"results_dir={folder}"])
    serve(command, answer)


if __name__ == "__main__":
    main()
