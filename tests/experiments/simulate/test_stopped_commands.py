"""Ctrl-C and SIGTERM end a command in every phase: with its exit code, a line or none, and no process left behind.

Ctrl-C goes to all processes of the command, as on a terminal, SIGTERM to the command alone. How soon it ends is not
measured; a phase in which it would not end takes longer than a test waits. Second plays have tests in
`test_killed_runs.py`.
"""

import os
import re
import signal
import subprocess
import sys
import time
from threading import Thread

import pytest

import experiments
from experiments.config.compose import REPOSITORY
from experiments.process import SIMULATING
from experiments.store.results_file import read_file

pytestmark = pytest.mark.slow
PATIENCE = 60.0  # seconds for a command to end, also on a machine with much else to do
# Python imports this when it starts: every process of the command marks its phase, at the first event of the
# interpreter (`sys.audit`) of a name and about a text, and stays in it.
PHASE = """
import os, sys, time, atexit
from pathlib import Path
marker, event, text = Path(os.environ["STOP_MARKER"]), os.environ["STOP_EVENT"], os.environ["STOP_TEXT"]
def stay(seconds=float(os.environ["STOP_SECONDS"])):
    marker.touch()
    time.sleep(seconds)
def heard(name, arguments):
    if name == event and arguments and text in str(arguments[0]) and not marker.exists():
        stay()
if event == "atexit":
    if os.getsid(0) == os.getpid():  # in the command alone
        atexit.register(stay, 3)
elif event != "none":
    sys.addaudithook(heard)
"""
CELL = ["experiments.run", "instance=c1", "policy=dp_ucb_tossou", "replications=2", "published_dir=null"]
SHORT = [*CELL, "horizon=1000"]
LONG = [*CELL, "-m", "horizon=1000,1e13"]  # the second takes days, in one compiled loop
FIGURES = "+experiment=sajed2019/fig01,sajed2019/fig02"
ONE, TWO = "runner.workers=1", "runner.workers=2"


def among(group):
    """The processes of a group that run."""
    words = ["ps", "-A", "-o", "pid=,pgid=,stat="]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    of_all = (line.split() for line in lines)
    return [int(pid) for pid, of, stat in of_all if int(of) == group and not stat.startswith("Z")]


def started(tmp_path, words, event="none", text="", **environment):
    (tmp_path / "sitecustomize.py").write_text(PHASE)
    about = {"STOP_MARKER": str(tmp_path / "marker"), "STOP_EVENT": event, "STOP_TEXT": text, "STOP_SECONDS": "1000"}
    return subprocess.Popen(
        [sys.executable, "-m", *words, f"results_dir={tmp_path / 'results'}"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(tmp_path), **about, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
    )


def wait_for(there, process):
    began = time.monotonic()
    while not there():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < began + 3 * PATIENCE
        time.sleep(0.02)


def stopped(process, sent, code=130):
    """Send the signal; what the command prints until it ends, of which no process may stay."""
    try:
        if sent is signal.SIGINT:
            os.killpg(process.pid, sent)
        else:
            process.send_signal(sent)
        _, err = process.communicate(timeout=PATIENCE)
        began = time.monotonic()
        while left := among(process.pid):  # a worker looks once a second whether its parent is there
            assert time.monotonic() < began + PATIENCE, left
            time.sleep(0.1)
    finally:
        if among(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == code, err
    lines = [line for line in err.splitlines() if not re.match(PROGRESS, line)]
    assert len(lines) <= 1, err
    return lines


PROGRESS = "compiling|planning|simulating|waiting|\\d+ policies"
INT, TERM = signal.SIGINT, signal.SIGTERM
PHASES = {
    "reads a config": (INT, [*SHORT, ONE], "open", "conf/config.yaml"),
    "plans": (TERM, [*SHORT, ONE], "open", "/hybrid_ucb."),
    "looks for results": (INT, [*SHORT, ONE], "os.mkdir", "results/.locks"),
    "saves": (TERM, [*SHORT, ONE], "os.rename", "results/c1/"),
    "draws": (TERM, ["scripts.figures", "-m", FIGURES, ONE], "open", "figures/sajed2019/fig0"),
    "draws in two workers": (INT, ["scripts.figures", "-m", FIGURES, TWO], "open", "figures/sajed2019/fig0"),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_command_that_is_stopped_while_it(phase, tmp_path):
    sent, words, event, text = PHASES[phase]
    more = [f"figures_dir={tmp_path}/figures"] if "scripts.figures" in words else []
    process = started(tmp_path, [*words, *more], event, text)
    wait_for((tmp_path / "marker").exists, process)
    (line,) = stopped(process, sent)
    assert line.startswith("interrupted; what was simulated is stored; to continue: ")
    assert not list(tmp_path.rglob("*.tmp*"))


ADVISE = ["scripts.advise", "means=[0.5,0.6]", "users=1000", "epsilon=1", "trust=local", "runs=125"]


@pytest.mark.parametrize("later", [0.0, 1.7])  # seconds
@pytest.mark.parametrize(
    ("words", "sent"), [([*SHORT, ONE], TERM), ([*SHORT, TWO], INT), (ADVISE, TERM), (ADVISE, INT)]
)
def test_a_command_that_is_stopped_while_it_compiles(words, sent, later, tmp_path):
    process = started(tmp_path, words, NUMBA_CACHE_DIR=str(tmp_path / "loops"))
    wait_for(lambda: list(tmp_path.glob("loops/*/*/*.lock")), process)
    time.sleep(later)
    (line,) = stopped(process, sent)
    assert line.startswith("interrupted; ")


def test_what_an_interruption_left_half_made_ends_in_silence():
    """As an object of llvmlite in whose constructor Ctrl-C came: it fails when Python removes it."""
    script = (
        "from experiments import process\n"
        "from experiments.config.command_line import exit_on_user_error\n"
        "process.COMMAND = True\n"
        "class HalfMade:\n"
        "    def __del__(self): self.never_set\n"
        "def command():\n"
        "    half = HalfMade()\n"
        "    raise KeyboardInterrupt\n"
        "exit_on_user_error(command)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 130
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize(("workers", "sent"), [(ONE, INT), (ONE, TERM), (TWO, TERM)])
def test_a_command_that_is_stopped_in_a_compiled_loop(workers, sent, tmp_path):
    """A cell that was complete is stored."""
    process, results = started(tmp_path, [*LONG, workers]), tmp_path / "results"
    wait_for(lambda: list(results.glob("c1/*.parquet")), process)  # so the loop is compiled
    time.sleep(1.0)
    (line,) = stopped(process, sent)
    assert line.startswith("interrupted; ")
    assert [read_file(path).replications for path in results.glob("c1/*.parquet")] == [2]


def test_a_command_that_is_stopped_saves_what_it_simulated(tmp_path):
    """Also where pandas, which pyarrow imports for some of what it does, takes longer than there is time to end."""
    started(tmp_path, [*SHORT, ONE]).communicate()  # so the loop is compiled
    many = [*(word.replace("replications=2", "replications=1e6") for word in CELL), "horizon=1001", ONE]
    process = started(tmp_path, many, "import", "pandas", STOP_SECONDS="4")
    wait_for(lambda: list(tmp_path.glob("results/.locks/*")), process)
    time.sleep(2.0)
    stopped(process, INT)
    (path,) = tmp_path.glob("results/.begun/*/*.parquet")
    assert read_file(path).replications > 0


@pytest.mark.parametrize(("workers", "sent"), [(ONE, INT), (TWO, TERM)])
def test_a_command_that_is_stopped_at_its_end_ends_as_it_would(workers, sent, tmp_path):
    process = started(tmp_path, [*SHORT, workers], "atexit")
    wait_for((tmp_path / "marker").exists, process)
    assert stopped(process, sent, 0) == []


class Ends:
    """Its end raises what Python then ignores, as the callback of a compiler does."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "thread", "printed"),
    [(KeyboardInterrupt, SIMULATING, False), (KeyboardInterrupt, "x", True), (ValueError, SIMULATING, True)],
)
def test_a_thread_that_is_asked_to_end_in_a_callback_prints_nothing(error, thread, printed, monkeypatch, capsys):
    """One command in fifty that was stopped while it compiled printed a traceback of llvmlite."""
    monkeypatch.setattr(sys, "unraisablehook", experiments._say_ignored)
    ending = Thread(target=Ends, args=(error(),), name=thread)
    ending.start()
    ending.join()
    assert ("Traceback" in capsys.readouterr().err) == printed


def test_ctrl_c_that_is_lost_in_a_callback_comes_again(monkeypatch, capsys):
    monkeypatch.setattr(sys, "unraisablehook", experiments._say_ignored)
    before = signal.signal(INT, signal.default_int_handler)
    try:
        Ends(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            time.sleep(PATIENCE)
    finally:
        signal.signal(INT, before)
    assert capsys.readouterr().err == ""


MACHINE_CODE = (
    "mutex, lock = ctypes.create_string_buffer(64), ctypes.CDLL(None).pthread_mutex_lock; lock(mutex); ready(); "
    "lock(mutex)"
)
BUSY = {
    "in machine code": MACHINE_CODE,
    "in machine code, with processes": f"processes = ProcessPool(2); processes.submit(int).result(); {MACHINE_CODE}",
    "in a text that is run": "ready(); exec('time.sleep(1000)')",
    "while a thread simulates": "ready(); threading.Thread(target=time.sleep, args=[1000], name=SIMULATING).start(); "
    "time.sleep(1000)",
}
COMMAND = """
import ctypes, importlib.machinery, os, threading, time
from pathlib import Path
__spec__ = importlib.machinery.ModuleSpec("experiments.busy", None)  # so it is a command of ours
from experiments.config.command_line import exit_on_user_error
from experiments.process import SIMULATING
from experiments.simulate.runners import ProcessPool
ready = Path(os.environ["STOP_MARKER"]).touch
def busy():
    {busy}
exit_on_user_error(busy)
"""


@pytest.mark.parametrize("sent", [INT, TERM])
@pytest.mark.parametrize("where", BUSY)
def test_a_command_that_is_stopped(where, sent, tmp_path):
    """Python raises nothing in the first, ends itself with SIGINT after the second, and waits for a thread."""
    (tmp_path / "busy.py").write_text(COMMAND.format(busy=BUSY[where]))
    process = started(tmp_path, ["busy"])
    wait_for((tmp_path / "marker").exists, process)
    time.sleep(0.2)
    (line,) = stopped(process, sent)
    assert line.startswith("interrupted; ")
