"""Shared by all tests. Statistical tests use fixed seeds and reject at the level FAILURE for each comparison.

There are fewer than 1000 comparisons, so that with other seeds a correct program would fail somewhere
with probability < 1e-6.
"""

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest
from omegaconf import OmegaConf
from xdist.scheduler import LoadScopeScheduling

from experiments import progress, running, worker
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import CONF, Composer
from experiments.config.plan import Request, plan
from experiments.store import Store
from experiments.stored import Stored

FAILURE = 1e-9
hypothesis.settings.register_profile("tests", deadline=None)  # loops may be compiled in it, and no test measures time
hypothesis.settings.load_profile("tests")
progress.EVERY = worker.PATIENCE = 1e6  # tests of what is said on stderr do not depend on how long it takes
# One worker of `pytest -n auto` runs a file whole, so that what its tests share is made, and loops are compiled, once.
# (`--dist loadgroup` would do that by marks, and does not with pytest 9.2: pytest-xdist issue 1386.)
SPLIT = {  # long files, whose tests go one by one to whichever worker is free
    "test_audit_controls.py",
    "test_audit_sampled.py",
    "test_conformance.py",
    "test_experiments.py",
    "test_joining.py",
    "test_killed_runs.py",
}
TOGETHER = {"test_keys.py": "plans", "test_stored_results.py": "plans"}  # with the same long fixture


class Scheduling(LoadScopeScheduling):
    """One file, or one test of a file in `SPLIT`, after another to whichever worker is free."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0]).name
        return nodeid if file in SPLIT else TOGETHER.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first, so that no worker is left with one at the end; otherwise in the order of files."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """What was collected lives as long as the tests do: the collector of garbage need not go through it each time."""
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
    """What every experiment asks for."""
    composer = Composer()
    return {name: plan([f"+experiment={name}"], composer).requests for name in composer.choices("experiment")}


@pytest.fixture
def overwrite() -> Callable[[Store, Stored], None]:
    """Put other numbers in the place of stored ones, which a store would refuse."""

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


@pytest.fixture(scope="module")
def parsed_once():
    """The claims of this repository, which every verdict reads along with its own, are parsed once."""
    parsed = cache(OmegaConf.load)

    def load(file):
        return parsed(file) if file.is_relative_to(CONF) else OmegaConf.load(file)

    with pytest.MonkeyPatch.context() as patch:
        reader = SimpleNamespace(load=load, to_container=OmegaConf.to_container)
        patch.setattr("experiments.claims.files.OmegaConf", reader)
        yield
