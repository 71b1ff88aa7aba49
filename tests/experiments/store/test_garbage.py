"""`python -m experiments.store gc` removes files that sweeps left, and none from which a run can resume."""

import json
import os

import pytest

from experiments.config.compose import Composer
from experiments.config.plan import plan
from experiments.config.progress import Progress
from experiments.simulate import look_up, run, simulate_block
from experiments.simulate.failures import Failures
from experiments.simulate.pieces import Pieces
from experiments.simulate.status import Status
from experiments.store import Store
from experiments.upkeep.command import main
from experiments.upkeep.garbage import Leftovers

DAY_BEFORE = 90_000  # seconds


@pytest.fixture(scope="module")
def request_of_cell():
    return plan(["horizon=300", "policy=ucb1", "replications=4"], Composer()).requests[0]


@pytest.fixture
def root(request_of_cell, tmp_path):
    """A folder with four replications of a cell."""
    store = Store(tmp_path)
    run(look_up([request_of_cell], store), store, workers=1)
    return tmp_path


def put(path, old=False, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return aged(path) if old else path


def aged(path):
    now = path.stat().st_mtime
    os.utime(path, (now - DAY_BEFORE, now - DAY_BEFORE))
    return path


def piece(root, cell, start, stop, old=False):
    before = set((root / ".pieces").rglob("*.piece"))
    Pieces(root).save([simulate_block(cell, start, stop)])
    (made,) = set((root / ".pieces").rglob("*.piece")) - before
    return aged(made) if old else made


def test_pieces_of_what_is_stored_or_was_left(root, request_of_cell):
    cell = request_of_cell.cell
    other = plan(["horizon=300", "policy=dp_se", "replications=4"], Composer()).requests[0].cell
    stored, beyond, left = piece(root, cell, 2, 4), piece(root, cell, 3, 5), piece(root, other, 0, 2, old=True)
    damaged = put(root / ".pieces" / "0123456789abcdef" / "0-abc.piece", old=True)
    strange = put(root / ".pieces" / "0123456789abcdef" / "notes.txt", old=True)
    found = Leftovers(root)
    assert found.why(stored) == "its replications are stored"
    assert found.why(beyond) is None, "replication 4 is only there"
    assert found.why(left) == "of 2 replications of a run that nobody resumed for a day or longer"
    assert found.why(damaged).startswith("of 0 replications")
    assert found.why(strange) is None
    assert Leftovers(root).why(aged(beyond)).startswith("of 2 replications")


def test_while_a_sweep_is_at_work_nothing_is_taken_that_it_may_need(root, request_of_cell):
    cell = request_of_cell.cell
    beyond, log = piece(root, cell, 4, 6, old=True), put(root / ".slurm" / "1" / "0_submitted.pkl", old=True)
    with Progress("simulating", {"replications": 1}) as progress, Status(root, progress):
        assert Leftovers(root).why(beyond) is None
        assert Leftovers(root).why(log) is None
        assert Leftovers(root).why(piece(root, cell, 0, 2)) == "its replications are stored"
    assert Leftovers(root).why(beyond) is not None
    assert Leftovers(root).why(log) == "of jobs that ended a day ago or longer"


@pytest.mark.parametrize(
    ("failed_at", "old", "why"),
    [
        (3, False, "the replication that failed is stored"),
        (4, False, None),
        (4, True, "of a cell that failed a day ago or longer; the next run tries it again"),
    ],
)
def test_failures(root, request_of_cell, failed_at, old, why):
    path = put(Failures(root).path(request_of_cell.cell.key), old, json.dumps({"replication": failed_at}))
    assert Leftovers(root).why(path) == why


def test_files_of_ended_processes(root):
    for name in (".leases/0123456789abcdef.lease", ".status/here-1.json"):
        assert Leftovers(root).why(put(root / name)) is None
        assert Leftovers(root).why(put(root / name, old=True)) == "left by a process that ended a day ago or longer"
    for name in ("failures/mine.json", ".leases/notes.txt", "notes.json", "c1/failures/0123456789abcdef.json"):
        assert Leftovers(root).why(put(root / name, old=True)) is None


def test_garbage_is_listed_and_then_removed(root, request_of_cell, call):
    mine = put(root / "failures" / "mine.json", old=True)
    taken = [piece(root, request_of_cell.cell, 0, 2), put(root / ".slurm" / "1" / "log.out", old=True)]
    before = {path: path.read_bytes() for path in root.rglob("*.parquet")}
    listed = call("gc", f"results_dir={root}", main=main).out
    assert all(f"{path}: " in listed for path in taken)
    assert all(path.exists() for path in taken), "nothing is removed without remove=true"
    assert call("gc", "remove=true", f"results_dir={root}", main=main).out.endswith("removed\n")
    assert not any(path.parent.exists() for path in taken), "empty folders go too"
    assert mine.exists()
    assert {path: path.read_bytes() for path in root.rglob("*.parquet")} == before
    assert "0 files" in call("gc", f"results_dir={root}", main=main).out
