"""Real processes that are interrupted or killed: nothing is lost, and the bits are those of an uninterrupted run."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from experiments.simulate.runners import OfProcesses
from experiments.store.results_file import read_file
from tests.forked import python

POLICY = r"""
import ctypes
import os
import signal
import time
from dataclasses import dataclass

from bandits import StepwisePolicy
from bandits.guarantees import NOT_PRIVATE


@dataclass(frozen=True)
class Paced(StepwisePolicy):
    name, label, citation, guarantee = "paced", "Paced", "none", NOT_PRIVATE
    pause: float = 0.01
    dies: bool = False

    def start(self, arms, horizon):
        return arms

    def select(self, state, t, rng):
        time.sleep(self.pause)
        if self.dies and t == 4 and rng.random() < 0.05:
            ctypes.CDLL(None).kill(os.getpid(), signal.SIGKILL)  # as the system does where memory ends
        return int(rng.integers(state))

    def update(self, state, arm, reward, rng):
        pass
"""
COUNT = 30
# The command, with a piece saved after every block.
COMMAND = "from experiments.simulate import pieces; pieces.SECONDS = 0.0; from experiments.run import *; "
COMMAND += "exit_on_user_error(main)"


# Workers without a task, as a kill may find them; the sleep is longer than the test.
IDLE_WORKERS = """
import time
from experiments.simulate.runners import OfProcesses
processes = OfProcesses(2)
processes.submit(time.sleep, 0).result()
print("ready", flush=True)
time.sleep(1000)
"""


def same(one, other):
    return all((values == other.rows[name]).all() for name, values in one.rows.items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a policy of 0.1 s for a replication, and its results without interruption."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "policy").mkdir()
    (folder / "policy" / "paced.yaml").write_text("_target_: paced.Paced\npause: 0.01\ndies: false\n")
    (folder / "paced.py").write_text(POLICY)
    whole = python(["-m", "experiments.run", *words_of(folder, "whole", 1)], folder)
    assert whole.returncode == 0, whole.stderr
    return folder


def words_of(folder, results, workers=2):
    """Arguments for `experiments.run`."""
    asked = ["--config-dir", str(folder), "policy=paced", "horizon=10", f"replications={COUNT}"]
    return [*asked, f"runner.workers={workers}", f"results_dir={folder / results}"]


def started(folder, results, *words, workers=2):
    """A command that simulates."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words_of(folder, results, workers), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
    )


def rows(folder, results):
    """The numbers of the only stored cell."""
    (path,) = (folder / results).glob("*/*.parquet")
    contents = read_file(path)
    assert contents.replications == COUNT
    return contents


def until(folder, results, count, process):
    """Wait until this number of pieces is stored."""
    while len(list((folder / results).rglob("*.piece"))) < count and process.poll() is None:
        time.sleep(0.01)


def goes_on(folder, results):
    """Run the command again, with one worker instead of two; return its output."""
    again = python(["-m", "experiments.run", *words_of(folder, results, 1)], folder)
    assert again.returncode == 0, again.stderr
    assert same(rows(folder, results), rows(folder, "whole"))
    assert not list((folder / results).rglob("*.piece"))
    return again.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "count"), [(signal.SIGINT, 1), (signal.SIGTERM, 3), (signal.SIGKILL, 2)])
def test_a_stopped_run_goes_on_and_ends_with_the_same_bits(folder, sent, count):
    results = f"{sent.name}{count}"
    process = started(folder, results)
    until(folder, results, count, process)
    process.send_signal(sent)
    _, err = process.communicate(timeout=100)
    if sent != signal.SIGKILL:
        assert process.returncode == 130
        assert "interrupted; what was simulated is stored; to continue: " in err
        assert "Traceback" not in err
    assert "1 cell begun before" in goes_on(folder, results)


def test_processes_end_quietly_right_after_calls_were_submitted(monkeypatch):
    """A thread of loky prints a traceback if it is stopped before it has queued all calls."""
    failed = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    processes = OfProcesses(2)
    futures = [processes.submit(time.sleep, 600) for _ in range(4)]
    processes.end()
    assert failed == []
    assert all(future.exception() for future in futures)


def test_processes_without_a_task_end_with_the_killed_command():
    """They keep the output of the command open, so that a reader would wait for them."""
    process = subprocess.Popen(
        [sys.executable, "-c", IDLE_WORKERS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate(timeout=60)


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_nothing_is_lost(folder):
    process = started(folder, "worker")
    until(folder, "worker", 1, process)
    children = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    found = [line.split(maxsplit=2) for line in children.splitlines()]
    workers = [int(pid) for pid, parent, args in found if int(parent) == process.pid and "popen_loky" in args]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert same(rows(folder, "worker"), rows(folder, "whole"))


@pytest.mark.slow
def test_a_replication_that_kills_its_worker_is_reported_and_the_other_cells_are_complete(folder):
    process = started(folder, "dies", "-m", "policy.dies=true,false")
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1
    assert "was killed twice (SIGKILL(-9))" in err
    assert same(rows(folder, "dies"), rows(folder, "whole"))
    (record,) = (folder / "dies" / "failures").iterdir()
    key, replication = record.stem, json.loads(record.read_text())["replication"]
    alone = ["--config-dir", str(folder), f"results_dir={folder / 'dies'}", f"key={key}", f"replication={replication}"]
    assert python(["-m", "experiments.replay", *alone], folder).returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_full_disk_stops_a_run_in_one_line_and_it_goes_on_when_there_is_room(folder):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); " + COMMAND
    process = python(["-c", limit, *words_of(folder, "full", 1)], folder)
    err = process.stderr
    assert process.returncode == 2
    assert f"results_dir={folder / 'full'}: cannot be written: File too large" in err
    assert err.count("\n") == 1
    assert not list((folder / "full").rglob("*.tmp"))
    goes_on(folder, "full")


@pytest.mark.slow
def test_two_processes_at_one_folder_share_the_work(folder):
    budgets = "policy.pause=0.01,0.011,0.012,0.013"
    both = [started(folder, "shared", "-m", budgets, workers=1) for _ in range(2)]
    outputs = [process.communicate(timeout=400) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len(list((folder / "shared").glob("*/*.parquet"))) == 4
    assert not list((folder / "shared").rglob("*.conflict*"))
    assert not list((folder / "shared").rglob("*.lease"))


@pytest.mark.slow
def test_an_array_job_gives_the_same_bits(folder):
    process = started(folder, "array", "runner=slurm", "runner.cluster=local", "runner.jobs=2")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert same(rows(folder, "array"), rows(folder, "whole"))
    assert not list((folder / "array" / ".slurm").iterdir()), "logs of jobs that went well are kept"


@pytest.mark.slow
def test_dask_gives_the_same_bits_when_a_worker_is_killed(folder):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        process = started(folder, "dask", "runner=dask", f"runner.scheduler={cluster.scheduler_address}")
        until(folder, "dask", 1, process)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert same(rows(folder, "dask"), rows(folder, "whole"))
