"""What a sweep knows of the time and memory of its cells, and what is left of it when it is interrupted."""

import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import numba
import pytest
from numba.core.event import install_listener

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.library import summary
from experiments.process import ENDS
from experiments.simulate import runners, simulate_block
from experiments.simulate.runners import InProcess, OtherProcesses, Processes, ProcessPool
from experiments.simulate.worker import Compiling


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of a process")
def test_memory_is_reported_in_megabytes():
    """The peak memory of this process, which the system reports in kB."""
    (most,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), flags=re.MULTILINE)
    assert summary._megabytes([]) == pytest.approx(int(most) / 1024, rel=0.05)


def test_seconds_are_those_of_the_processor_not_of_the_clock(monkeypatch):
    """On a busy machine a replication waits; what it then took by the clock would mislead every later estimate."""
    cell, replicate = RegretCell(C1(3), UCB1(), 100), RegretCell.replicate
    simulate_block(cell, 0, 1)  # compiles

    def delayed(self, replication):
        time.sleep(0.5)
        return replicate(self, replication)

    monkeypatch.setattr(RegretCell, "replicate", delayed)
    (seconds,) = simulate_block(cell, 0, 1).seconds
    assert 0 < seconds < 0.5


class Elsewhere:
    """Processes that only note what is submitted."""

    def __init__(self):
        self.submitted = []

    def submit(self, function, *arguments):
        self.submitted.append(function)
        return Future()

    def end(self):
        self.submitted.clear()


def test_a_sweep_begins_in_this_process_and_goes_on_in_others_when_its_seconds_are_over():
    go_on, elsewhere = threading.Event(), Elsewhere()
    executor = InProcess(elsewhere, 0.3, Compiling())
    assert executor.submit(os.getpid).result(timeout=0) == os.getpid()
    long = executor.submit(go_on.wait, 60)  # does not hold up what comes after it
    executor.submit(os.getppid)
    assert elsewhere.submitted == [os.getppid]
    assert not long.done()
    go_on.set()
    assert long.result(timeout=60)


class Playing:
    """A play that goes on until it is told to end, and that compiles until it is told that it has compiled."""

    def __init__(self, compiling):
        self.began, self.compiled, self.over, self._compiling = *(threading.Event() for _ in range(3)), compiling

    def __call__(self):
        self._compiling.on_start(None)
        self.began.set()
        self.compiled.wait(60)
        self._compiling.on_end(None)
        self.over.wait(60)

    def end(self):
        self.compiled.set()
        self.over.set()


def test_what_needs_the_same_machine_code_waits_for_it_and_what_does_not_goes_elsewhere():
    """Processes that are started while the only policy of a sweep is compiled would wait, and then have nothing to do.

    The seconds begin again after compiling: what was being compiled for is over before they end, so that the next
    replications of its policy run here too.
    """
    ucb, other = RegretCell(C1(3), UCB1(), 100), RegretCell(C1(3), DPSE(epsilon=1.0), 100)
    elsewhere, compiling = Elsewhere(), Compiling()
    executor, playing = InProcess(elsewhere, 0.2, compiling), Playing(compiling)
    assert executor.place_for(ucb) is executor
    executor.submit(playing)
    assert playing.began.wait(60)
    assert executor.place_for(other) is executor
    assert compiling.now  # it did not wait
    executor.submit(os.getppid)
    assert elsewhere.submitted == [os.getppid]
    playing.end()

    compiling = Compiling()
    executor, playing = InProcess(elsewhere, 1.0, compiling), Playing(compiling)
    executor.place_for(ucb)
    executor.submit(playing)
    threading.Timer(1.5, playing.compiled.set).start()
    threading.Timer(1.6, playing.over.set).start()
    assert executor.place_for(ucb) is executor
    assert playing.over.is_set()
    assert executor.submit(os.getpid).result(timeout=0) == os.getpid()
    assert elsewhere.submitted == [os.getppid]


def test_a_loop_that_is_being_compiled_is_noticed_also_within_another_one():
    heard = []

    class Hears(Compiling):
        def on_start(self, event):
            super().on_start(event)
            heard.append(self.now)

        def on_end(self, event):
            heard.append(self.now)
            super().on_end(event)

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x)

    with install_listener("numba:compile", Hears()) as compiling:
        assert not compiling.now
        outer(1)
        assert not compiling.now
    assert heard == [True] * 4


def test_with_one_worker_all_is_simulated_in_this_process():
    for workers in (1, 2):
        with Processes(workers).executor() as (executor, _):
            assert isinstance(executor, InProcess)
            assert (executor._ends == float("inf")) == (workers == 1)
    with OtherProcesses(1).executor() as (executor, _):
        assert not isinstance(executor, InProcess)


def test_an_interrupted_run_leaves_no_thread(monkeypatch):
    """As Ctrl-C does where `run` is called: what was being simulated in Python ends, with nothing printed."""
    began = threading.Event()

    def endless():
        began.set()
        while True:
            time.sleep(0.001)

    def interrupted(*_):
        assert began.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(runners, "wait", interrupted)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), Processes(1).executor() as (here, _):
        here.submit(endless)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()


def test_an_interruption_is_raised_in_no_later_thread():
    """The system gives the identifier of a thread that ended to the next one, as to those of loky."""
    executor = InProcess(Elsewhere(), 60, Compiling())
    ident = executor.submit(threading.get_ident).result(timeout=0)
    executor._thread.join()
    interrupted, over = [], []

    def later():
        try:
            while not over:
                time.sleep(0.001)
        except KeyboardInterrupt:
            interrupted.append(True)

    threads = []
    while ident not in {thread.ident for thread in threads}:  # the system may not yet have it back
        assert len(threads) < 100
        threads.append(threading.Thread(target=later))
        threads[-1].start()
    executor.end()
    time.sleep(0.2)
    over.append(True)
    for thread in threads:
        thread.join()
    assert not interrupted


def test_processes_see_no_signal_that_is_for_their_command():
    """Nor while they start, which takes seconds and in which they would print tracebacks."""
    processes = ProcessPool(1)
    try:
        assert processes.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result(timeout=60) >= set(ENDS)
    finally:
        processes.end()
