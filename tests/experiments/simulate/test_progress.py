"""A long command shows its progress, on a terminal or not, and no process outlives the command that started it."""

import io
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.policies.elimination import DPSE
from experiments import progress
from experiments.audit.game import AuditGame
from experiments.audit.plays import plays
from experiments.config.command_line import CommandLine
from experiments.config.compose import Composer
from experiments.progress import Progress, readable_duration
from experiments.simulate import worker
from experiments.upkeep.command import main as store_main
from scripts.exhibits import collect
from scripts.exhibits.exhibit import Exhibit
from scripts.site import __main__ as site


def test_progress_shows_counts_and_rate():
    now = [100.0]
    made = Progress("simulating", {"cells": 4, "replications": 120}, clock=lambda: now[0])
    assert str(made) == "simulating: 0 of 4 cells, 0 of 120 replications, after 0 s"
    now[0] = 160.0
    assert made.after("it", replications=29) == "it"
    made.after(None, replications=1)
    made.after(None, cells=1)
    expected = "1 of 4 cells, 30 of 120 replications, after 60 s, 0.5 replications a second"
    assert str(made) == f"simulating: {expected}"


def test_a_rate_in_the_thousands_is_written_in_full():
    now = [0.0]
    made = Progress("simulating", {"replications": 10_000}, clock=lambda: now[0])
    now[0] = 2.0
    made.after(None, replications=8_100)
    assert "8100 of 10000 replications, after 2 s, 4,050 replications a second" in str(made)


def captured_stderr(monkeypatch):
    """Capture all that other threads print; `capfd` may lose what is printed while it is read.

    Call it within a test, since pytest restores its own stream before that.
    """
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    return stream.getvalue


def test_without_a_terminal_progress_is_printed_regularly(monkeypatch):
    printed = captured_stderr(monkeypatch)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with Progress("planning", {"jobs": 3}) as made:
        while printed().count("\n") < 3:
            time.sleep(0.01)
        made.after(None, jobs=1)
        while "1 of 3" not in printed():
            time.sleep(0.01)
    assert printed().startswith("planning: 0 of 3 jobs, after 0 s\n")
    assert "\r" not in printed()


def test_pages_show_their_progress(monkeypatch, tmp_path):
    """The kinds of pages and the papers are counted as they are completed, in any order."""
    printed = captured_stderr(monkeypatch)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    names = ["sajed2019/fig01", "tao2022/fig01"]

    def wait_for(words):
        for _ in range(1_000):
            if words in printed():
                return
            time.sleep(0.01)
        raise AssertionError(printed())

    def in_parallel(tasks, workers, **how):
        assert len(tasks) == len(names)
        for number, name in reversed(list(enumerate(names))):
            wait_for(f"making pages: {1 - number} of 2 parts")
            assert f"{2 - number} of 2 parts" not in printed()
            yield collect.PaperPart([Exhibit(name, "")], [], [])
        wait_for("making pages: 2 of 2 parts")

    monkeypatch.setattr(site, "in_parallel", in_parallel)
    monkeypatch.setattr(
        "scripts.site.pages.papers.pages", lambda command, collected: shown.extend(collected.exhibits) or []
    )
    shown = []
    config = OmegaConf.create({"figures_dir": str(tmp_path), "runner": {"workers": 1}})
    command = CommandLine([[f"+experiment={name}"] for name in names], config, Composer())
    assert site.collect(["papers"], command, tmp_path / "build") == []
    assert [exhibit.name for exhibit in shown] == names


def test_every_command_counts_up_to_its_totals(call, tmp_path, monkeypatch):
    """Jobs that are planned, cells and replications that are simulated, cells that are verified."""
    ended = []

    def end(self, *error):
        ended.append((list(self._done.values()), list(self._totals.values())))
        leave(self, *error)

    leave = Progress.__exit__
    monkeypatch.setattr(Progress, "__exit__", end)
    words = ["-m", "policy=ucb1,dp_se", "horizon=50", "replications=5", "runner.workers=1", f"results_dir={tmp_path}"]
    assert call(*words).code == 0
    assert ended == [([2], [2]), ([2, 10], [2, 10])]
    assert call(*words).code == 0
    assert ended[2:] == [([2], [2])], "nothing is simulated again"
    next(tmp_path.rglob("*.parquet")).write_bytes(b"")
    assert call("verify", f"results_dir={tmp_path}", main=store_main).code == 1
    assert ended[3:] == [([2], [2])], "a damaged cell is verified too"


def test_plays_of_an_audit_count_up_to_their_total(monkeypatch):
    ended = []
    monkeypatch.setattr(Progress, "__exit__", lambda self, *error: ended.append((self._done, self._totals)))
    plays(AuditGame(DPSE(1.0), 2, 3, Domain.UNIT, Convention.STREAM), 20, 1)
    assert ended == [({"runs": 40}, {"runs": 40})]


def test_a_quick_command_is_quiet(capfd):
    with Progress("planning", {"jobs": 3}) as made:
        made.after(None, jobs=3)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (300, "5 min"), (9000, "2.5 h")])
def test_durations_in_words(seconds, words):
    assert readable_duration(seconds) == words


def test_long_compiling_is_reported_once_with_the_name_of_the_outer_loop(monkeypatch):
    printed = captured_stderr(monkeypatch)
    monkeypatch.setattr(worker, "PATIENCE", 0.01)
    announcer = worker.Announcer()
    of = {
        name: SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=name)}) for name in (readable_duration, str)
    }
    announcer.on_start(of[readable_duration])
    announcer.on_start(of[str])  # a loop that the outer one calls
    announcer.on_end(of[str])
    while not printed().endswith("\n"):
        time.sleep(0.01)
    announcer.on_end(of[readable_duration])
    assert printed().startswith("compiling experiments.progress.readable_duration for this machine")
    monkeypatch.setattr(worker, "PATIENCE", 1e6)
    announcer.on_start(of[str])
    announcer.on_end(of[str])
    assert not announcer._timer.is_alive() or announcer._timer.finished.is_set()


SLOW = r"""
import os
import time
from dataclasses import dataclass

from bandits import StepwisePolicy
from bandits.guarantees import NOT_PRIVATE


@dataclass(frozen=True)
class Slow(StepwisePolicy):
    name, label, citation, guarantee = "slow", "Slow", "none", NOT_PRIVATE

    def start(self, arms, horizon):
        os.write(1, b"begun\n")  # at once, as two processes write

    def select(self, state, t, rng):
        time.sleep(60)
        return 0

    def update(self, state, arm, reward, rng):
        pass
"""


@pytest.fixture
def running(tmp_path):
    """A command whose two workers have begun to simulate, and their process ids."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "slow.yaml").write_text("_target_: slow_policy.Slow\n")
    (tmp_path / "slow_policy.py").write_text(SLOW)
    words = ["--config-dir", tmp_path, "policy=slow", "horizon=100", "replications=10", "runner.workers=2"]
    asked = [sys.executable, "-m", "experiments.run", *words, f"results_dir={tmp_path}/results"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        workers = []
        try:
            assert [command.stdout.readline() for _ in range(2)] == ["begun\n", "begun\n"]
            workers = workers_of(command.pid)
            assert len(workers) == 2
            yield command, workers
        finally:
            for pid in filter(alive, (command.pid, *workers)):
                os.kill(pid, signal.SIGKILL)


def workers_of(command):
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    children = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [int(pid) for pid, parent, args in children if int(parent) == command and "popen_loky" in args]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_workers_end_with_the_command_that_started_them(running):
    command, workers = running
    command.kill()
    command.wait()
    for _ in range(500):  # they check once a second; a step of the policy takes a minute
        if not any(map(alive, workers)):
            break
        time.sleep(0.1)
    assert not any(map(alive, workers))
