"""`python -m experiments.store gc` removes files that sweeps left, and none from which a run can resume."""

import os

import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.simulate import look_up, run_jobs
from experiments.simulate.status import Status
from experiments.store import Store
from experiments.upkeep.command import main
from experiments.upkeep.garbage import garbage

DAY_BEFORE = 90_000  # seconds


@pytest.fixture(scope="module")
def request_of_cell():
    return plan([["horizon=300", "policy=ucb1", "replications=4"]], Composer())[0].requests[0]


@pytest.fixture
def root(request_of_cell, tmp_path):
    """A folder with four replications of a cell."""
    store = Store(tmp_path)
    run_jobs(look_up([request_of_cell], store), store, workers=1)
    return tmp_path


def put(path, old=False, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return aged(path) if old else path


def aged(path):
    now = path.stat().st_mtime
    os.utime(path, (now - DAY_BEFORE, now - DAY_BEFORE))
    return path


OF_SWEEPS = [
    *(".begun/c1/ucb1-0123456789abcdef.parquet", "failures/0123456789abcdef.json", ".slurm/1/0_submitted.pkl"),
    *(".locks/0123456789abcdef.lock", ".locks/0123456789abcdef.lease", ".status/here-1.txt"),
]


@pytest.mark.parametrize("name", OF_SWEEPS)
def test_files_of_sweeps_are_left_after_a_day(root, name):
    assert list(garbage(root)) == []
    put(root / name)
    assert list(garbage(root)) == []
    with Status([], Store(root)):
        put(root / name, old=True)
        assert list(garbage(root)) == [], "a sweep is running, which may need it"
    assert [item.why for item in garbage(root)] == ["left by a process that ended a day ago or longer"]


def test_files_of_others_are_not_ours_to_remove(root):
    for name in ("failures/mine.json", ".locks/notes.txt", ".begun/c1/notes.txt", "c1/failures/0123456789abcdef.json"):
        put(root / name, old=True)
    assert list(garbage(root)) == []


def test_garbage_is_listed_and_then_removed(root, call):
    mine = put(root / "failures" / "mine.json", old=True)
    taken = [put(root / name, old=True) for name in OF_SWEEPS[:3:2]]
    before = {path: path.read_bytes() for path in root.glob("*/*.parquet")}
    listed = call("gc", f"results_dir={root}", main=main).out
    assert all(f"{path}: " in listed for path in taken)
    assert all(path.exists() for path in taken), "nothing is removed without remove=true"
    assert call("gc", "remove=true", f"results_dir={root}", main=main).out.endswith("removed\n")
    assert not any(path.parent.exists() for path in taken), "empty folders go too"
    assert mine.exists()
    assert {path: path.read_bytes() for path in root.glob("*/*.parquet")} == before
    assert "0 files" in call("gc", f"results_dir={root}", main=main).out
