"""Fixtures of all tests. Statistical tests use fixed seeds and reject at the level FAILURE for each comparison.

There are fewer than 1000 comparisons, so that with new seeds a correct program would fail any of them with probability
< 1e-6.
"""

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from experiments import ONE_THREAD, progress
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.config.request import Request
from experiments.library import running
from experiments.simulate import worker
from experiments.store import Store
from experiments.store.stored import Stored

FAILURE = 1e-9
os.environ |= {**ONE_THREAD, **os.environ}  # as in a command
hypothesis.settings.register_profile("tests", deadline=None)  # tests may compile loops, and none measures time
hypothesis.settings.load_profile("tests")
progress.EVERY = worker.PATIENCE = 1e6  # messages on stderr must not depend on time
# All tests of a file run on the same worker of `pytest -n auto`, so that fixtures and compiled loops are made once.
# (`--dist loadgroup` with marks would do the same, but fails with pytest 9.2: pytest-xdist issue 1386.)
SPLIT = {  # long files, whose tests are given one by one to any free worker
    "test_audit_controls.py",
    "test_audit_sampled.py",
    "test_conformance.py",
    "test_experiments.py",
    "test_joining.py",
    "test_killed_runs.py",
    "test_ways.py",
}
TOGETHER = {"test_keys.py": "plans", "test_stored_results.py": "plans"}  # files that share a slow fixture


class Scheduling(LoadScopeScheduling):
    """Give files, or single tests of files in `SPLIT`, to workers as these become free."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0]).name
        return nodeid if file in SPLIT else TOGETHER.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    return Scheduling(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, as some tests wait most of the time for a process that they stop."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that none is left for the end; otherwise in the order of files."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, since they exist until the end."""
    gc.freeze()


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def failure() -> float:
    """Probability with which one statistical comparison may fail by chance."""
    return FAILURE


@pytest.fixture(scope="session")
def plans() -> dict[str, list[Request]]:
    """The requests of every experiment, by its name."""
    composer = Composer()
    return {name: plan([[f"+experiment={name}"]], composer)[0].requests for name in composer.choices("experiment")}


@pytest.fixture
def overwrite() -> Callable[[Store, Stored], None]:
    """Overwrite a stored cell with other numbers, which a store itself refuses."""

    def overwrite(store: Store, stored: Stored) -> None:
        store.path(stored.cell).unlink()
        store.write(stored)

    return overwrite


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command as the shell does: `call("instance=c1", ...)`, or `call(..., main=figures.main)`."""

    def call(*arguments: str | Path, main: Callable[[], None] = running.main) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        code = 0
        try:
            exit_on_user_error(main)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
