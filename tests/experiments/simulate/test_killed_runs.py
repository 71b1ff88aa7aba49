"""Real processes that are interrupted or killed: nothing is lost, and the bits are those of an uninterrupted run."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from experiments.simulate.runners import ProcessPool
from experiments.store.results_file import DamagedFileError, read_file
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
    waits: bool = False

    def start(self, arms, horizon):
        return arms

    def select(self, state, t, rng):
        time.sleep(self.pause)
        if self.waits and "HOME_OF_TEST" not in os.environ:
            time.sleep(1000)  # in the second play, which has no environment
        if self.dies and t == 4 and rng.random() < 0.05:
            ctypes.CDLL(None).kill(os.getpid(), signal.SIGKILL)  # as the system does where memory ends
        return int(rng.integers(state))

    def update(self, state, arm, reward, rng):
        pass
"""
COUNT = 30
# The command, with what was simulated saved after every block.
COMMAND = "from experiments.simulate import sweep; sweep.SAVE = sweep.SHARE = 0.0; from experiments.run import *; "
COMMAND += "exit_on_user_error(main)"


# Workers without a task, as a kill may find them; the sleep is longer than the test.
IDLE_WORKERS = """
import time
from experiments.simulate.runners import ProcessPool
processes = ProcessPool(2)
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
    (folder / "policy" / "paced.yaml").write_text("_target_: paced.Paced\npause: 0.01\ndies: false\nwaits: false\n")
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
    keys = {word.partition("=")[0] for word in words}
    usual = [word for word in words_of(folder, results, workers) if word.partition("=")[0] not in keys]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *usual, *words],
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
    """Wait until so many replications are saved of a cell that is not complete."""
    while max(saved(folder, results), default=0) < count and process.poll() is None:
        time.sleep(0.01)


def saved(folder, results):
    """How many replications are saved of each cell that is not complete."""
    for path in (folder / results / ".begun").glob("*/*.parquet"):
        with suppress(DamagedFileError):  # the cell was completed just now
            yield read_file(path).replications


def processes():
    """Process, parent and command of everything that runs."""
    words = ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        pid, parent, args = line.split(maxsplit=2)
        yield int(pid), int(parent), args


def goes_on(folder, results):
    """Run the command again, with one worker instead of two; return its output."""
    again = python(["-m", "experiments.run", *words_of(folder, results, 1)], folder)
    assert again.returncode == 0, again.stderr
    assert same(rows(folder, results), rows(folder, "whole"))
    assert not list((folder / results / ".begun").glob("*/*"))
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


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_in_a_second_play_leaves_no_process(folder, sent, monkeypatch):
    monkeypatch.setenv("HOME_OF_TEST", "1")
    results = f"second{sent.name}"
    process = started(folder, results, "policy.waits=true", "policy.pause=0", "replications=2")
    both = set[int]()
    while len(both) < 2 and process.poll() is None:  # the second play, and the process that forked for it
        children = {pid for pid, parent, args in processes() if parent == process.pid and "second_play" in args}
        both = children | {pid for pid, parent, _ in processes() if parent in children}
        time.sleep(0.05)
    process.send_signal(sent)
    _, err = process.communicate(timeout=20)
    assert process.returncode == (-sent if sent == signal.SIGKILL else 130), err
    assert "Traceback" not in err
    while both & {pid for pid, _, _ in processes()}:  # after SIGKILL they see that nobody reads them
        time.sleep(0.05)


def test_processes_end_quietly_right_after_calls_were_submitted(monkeypatch):
    """A thread of loky prints a traceback if it is stopped before it has queued all calls."""
    failed = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    processes = ProcessPool(2)
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
    workers = [pid for pid, parent, args in processes() if parent == process.pid and "popen_loky" in args]
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
    assert not list((folder / "shared" / ".locks").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGUSR2], ids=["killed", "at the end of its time"])
def test_an_array_job_that_ends_early_is_continued_with_the_same_bits(folder, sent):
    """SIGUSR2 is what SLURM sends before the time limit; submitit then queues the job again."""
    results = f"array{sent.name}"
    process = started(folder, results, "runner=slurm", "runner.cluster=local", "runner.jobs=2")
    while not list((folder / results).glob(".locks/*.lock")) and process.poll() is None:  # until the job has its cell
        time.sleep(0.01)
    ours = {
        pid: parent for pid, parent, args in processes() if "submitit.core._submit" in args and f"/{results}/" in args
    }
    (job,) = [pid for pid, parent in ours.items() if parent not in ours]  # a child that it forks has its words at first
    os.kill(job, sent)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert same(rows(folder, results), rows(folder, "whole"))
    logs = list((folder / results / ".slurm").iterdir())
    assert bool(logs) == (sent == signal.SIGKILL), "logs are kept if a job was killed, and only then"


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
