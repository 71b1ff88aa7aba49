"""A run is killed at, or refused, every system call that touches its results folder.

strace lists the calls of an undisturbed run; then runs are killed at one of these calls, or the call is refused. By
default a fixed sample of calls is tried; CASES=10000 in the environment tries all.
"""

import os
import random
import re
import shutil

import numpy as np
import pytest

from experiments.config.compose import REPOSITORY, Composer
from experiments.config.plan import plan
from experiments.simulate import look_up
from experiments.store import Store
from experiments.store.place import look
from tests.experiments.simulate.traced_runs import WORDS
from tests.traced import CALLS, CHANGING, Call, Traced

CASES = int(os.environ.get("CASES", "300")) // 20
WANTED = 7  # replications
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]


class Runs(Traced):
    """Runs of a command that simulates into a folder of results."""

    def run(self, root, replications, *strace):
        return super().run([f"replications={replications}", f"results_dir={root}"], *strace)


@pytest.fixture(scope="module")
def runs():
    runs = Runs("tests.experiments.simulate.traced_runs", REPOSITORY)
    yield runs
    runs.end()


@pytest.fixture(scope="module")
def wanted():
    """The request."""
    (request,) = plan([[*WORDS, f"replications={WANTED}"]], Composer())[0].requests
    return request


@pytest.fixture(scope="module")
def expected(runs, wanted, tmp_path_factory):
    """The rows of an undisturbed run."""
    root = tmp_path_factory.mktemp("whole")
    assert runs.run(root, WANTED)["code"] == 0
    return Store(root).read(wanted.cell).rows


def folder_with(runs, tmp_path, stored):
    """A folder of results with this number of stored replications."""
    root = tmp_path / "before"
    root.mkdir()
    if stored:
        assert runs.run(root, stored)["code"] == 0
    return root


def calls_of_a_run(runs, before, tmp_path):
    """The calls of an undisturbed run that touch the folder of results, in order."""
    root, trace = shutil.copytree(before, tmp_path / "counted"), tmp_path / "trace"
    assert runs.run(root, WANTED, "-y", "-o", trace, "-e", f"trace={CALLS}")["code"] == 0
    counts, found = dict[str, int](), list[Call]()
    for line in trace.read_text().splitlines():
        name = line.partition("(")[0]
        if not name.isidentifier():  # a signal, or the end
            continue
        counts[name] = counts.get(name, 0) + 1
        if str(root) in line:
            writes = re.search(r"O_CREAT|O_WRONLY|O_RDWR", line) if name.startswith("open") else ".tmp>" in line
            found.append(Call(name, counts[name], name in CHANGING or bool(writes)))
    shutil.rmtree(root)
    return found


def held(root, wanted, expected):
    """The number of replications that are stored, or saved of the cell that was begun, after a check of their bits."""
    (job,) = look_up([wanted], Store(root))
    for part in filter(None, (job.stored, job.begun)):
        for name, values in part.rows.items():
            np.testing.assert_array_equal(values, expected[name][part.numbers])
    return WANTED - job.left


def goes_on(runs, root, wanted, expected):
    """The next run completes the cell. A file of a cell that was stored just before is left to `store gc`."""
    assert runs.run(root, WANTED) == {"signal": 0, "code": 0, "err": ""}
    rows = Store(root).read(wanted.cell).rows
    assert all(np.array_equal(values, expected[name]) for name, values in rows.items())
    assert look([root]).damaged == {}


def sample(points):
    """A fixed sample of the calls, in order."""
    chosen = random.Random(1).sample(range(len(points)), min(CASES, len(points)))
    return [points[number] for number in sorted(chosen)]


@pytest.mark.parametrize("stored", [0, 2], ids=["nothing stored", "fewer stored"])
def test_a_run_killed_at_any_call_loses_nothing(runs, wanted, expected, tmp_path, stored):
    before = folder_with(runs, tmp_path, stored)
    calls = calls_of_a_run(runs, before, tmp_path)
    kept = stored
    for call in sample(calls):
        root = shutil.copytree(before, tmp_path / "killed")
        at = f"inject={call.name}:signal=KILL:when={call.number}"
        assert runs.run(root, WANTED, "-e", f"trace={CALLS}", "-o", os.devnull, "-e", at)["signal"] == 9, call
        now = held(root, wanted, expected)
        assert now >= kept, call  # later kills keep at least as much
        kept = now
        goes_on(runs, root, wanted, expected)
        shutil.rmtree(root)
    print(f"{len(sample(calls))} of {len(calls)} calls were points to be killed at; 0 replications lost")
    assert kept == WANTED
    assert len(calls) > 40


def again(call):
    """Refuse the call once, or from then on; never calls that the run also needs to read or to print."""
    return ("",) if call.name in ("write", "open", "openat", "close") else ("", "+")


@pytest.mark.parametrize("stored", [0, 2], ids=["nothing stored", "fewer stored"])
def test_a_run_that_is_refused_any_call_ends_in_one_line_and_loses_nothing(runs, wanted, expected, tmp_path, stored):
    before = folder_with(runs, tmp_path, stored)
    calls = [call for call in calls_of_a_run(runs, before, tmp_path) if call.changes]
    cases = sample([(call, error, more) for call in calls for error in ("ENOSPC", "EIO") for more in again(call)])
    codes = list[int]()
    for call, error, more in cases:
        root = shutil.copytree(before, tmp_path / "refused")
        at = f"inject={call.name}:error={error}:when={call.number}{more}"
        ended = runs.run(root, WANTED, "-e", f"trace={CALLS}", "-o", os.devnull, "-e", at)
        assert ended["signal"] == 0, (call, error, ended)
        if ended["code"]:
            assert ended["code"] == 2, (call, error, ended)
            assert re.fullmatch(r"error: [^\n]*\n", ended["err"]), (call, error, ended)
        else:
            assert held(root, wanted, expected) == WANTED, (call, error)
        assert held(root, wanted, expected) >= stored, (call, error)
        goes_on(runs, root, wanted, expected)
        shutil.rmtree(root)
        codes.append(ended["code"])
    print(f"{len(cases)} refused calls: {codes.count(2)} ended the run in one line; 0 replications lost")
    assert 2 in codes
