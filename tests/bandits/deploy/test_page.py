"""What docs/deploy.md shows works as typed, and its service survives `kill -9`."""

import http.client
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
from typing import Any

import pytest

from bandits.conformance import batches_as_declared
from bandits.deploy import Session
from bandits.deploy.replay import review
from experiments.config.compose import REPOSITORY
from tests.bandits.deploy.killed_service import PAGE, block
from tests.bandits.policies.test_batched import POLICIES

pytest.importorskip("opendp")
TEXT = PAGE.read_text()
CONSOLE = "".join(re.findall(r"^```console\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL))
ASKED = re.findall(r"^\$ curl -s -d '(.*?)' localhost:8000(\S+)\n(.*)\n", CONSOLE, flags=re.MULTILINE)


def started(folder):
    """The service of the page in a process of its own, and its port."""
    words = [sys.executable, "service.py", "0"]
    place = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    service = subprocess.Popen(
        words, cwd=folder, env=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return service, int(service.stdout.readline().removeprefix("listening on "))


def killed(service):
    service.send_signal(signal.SIGKILL)
    assert service.wait(timeout=60) == -signal.SIGKILL
    service.stdout.close()


def answer(port, path, words):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, words)
    said = connection.getresponse().read().decode()
    connection.close()
    return said


@pytest.mark.slow
def test_the_service_answers_as_shown_and_goes_on_after_kill_9(tmp_path):
    (tmp_path / "service.py").write_text(block("service.py"))
    service, port = started(tmp_path)
    assert len(ASKED) == 4
    for words, path, shown in ASKED:
        assert answer(port, path, words) == shown
    assert answer(port, "/update", "{}") == "\"'ticket'\""
    assert answer(port, "/update", '{"ticket": 1, "reward": "x"}').startswith('"reward: must be a number')
    killed(service)
    service, port = started(tmp_path)
    assert answer(port, "/update", ASKED[1][0]) == '"repeated"'
    assert answer(port, "/select", "{}") == '{"ticket": 2, "arm": 1}'
    killed(service)
    told = subprocess.run(
        [sys.executable, *shlex.split(CONSOLE.rpartition("python ")[2])],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "tickets: 2, rewards: 1, releases: 1\nspent: 1 of one user" in told.stdout


@pytest.mark.slow
def test_the_service_is_killed_at_random_moments():
    """A few times of those that the page tells how to repeat."""
    command = re.search(r"-m (\S+killed_service) ", TEXT)[1]
    told = subprocess.run(
        [sys.executable, "-m", command, "8"], cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300
    ).stdout
    numbers = re.search(r"^(\d+) tickets, (\d+) rewards and (\d+) releases: none lost, none twice$", told, re.MULTILINE)
    assert min(map(int, numbers.groups())) > 0


def printed_by(name, folder):
    """What an example of the page prints, run in a folder of its own."""
    (folder / name).write_text(block(name))
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    run = subprocess.run(
        [sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.slow
def test_the_survey_learns_without_a_trusted_server(tmp_path):
    told = printed_by("survey.py", tmp_path)
    reports = list(map(int, re.findall(r"\d+", told.partition("]")[0])))
    assert sum(reports) == 600
    assert max(reports) == reports[1]
    assert told.endswith("all messages are 2-differentially private for one user with one reward\n")
    assert review(tmp_path / "bits.journal").rewards == 600


@pytest.mark.slow
def test_incomes_without_a_domain(tmp_path):
    told = printed_by("incomes.py", tmp_path)
    assert told.startswith("{'tickets': 500, 'horizon': 100000, 'viable': [0")
    assert told.endswith("all messages are 3-differentially private for one user with one reward\n")
    assert review(tmp_path / "incomes.journal").rewards == 500


def test_the_policy_of_ones_own_is_taken(tmp_path):
    given: dict[str, Any] = {"__name__": "own"}
    exec(block("own.py"), given)
    policy = given["ExploreThenCommit"](epsilon=100.0, rounds=5)
    batches_as_declared(policy)
    with Session(policy, 3, 50, (0.0, 1.0), tmp_path / "journal") as session:
        for _ in range(50):
            (ticket,) = session.select()
            session.update(ticket.number, float(ticket.arm == 1))
        assert session.state()["best"] == 1
    assert [ticket.arm for ticket in review(tmp_path / "journal", policy).transcript] == [0, 1, 2] * 5 + [1] * 35


def test_the_table_lists_every_policy_that_is_taken():
    listed = re.findall(r"`(\w+)\.(\w+)`", TEXT.partition("| policy |")[2].partition("\n\n")[0])
    classes = {getattr(importlib.import_module(f"bandits.policies.{module}"), name) for module, name in listed}
    taken = {type(policy) for policy in POLICIES}
    assert taken < classes
    assert {cls.name for cls in classes - taken} == {
        *("ldp_ucb_b", "ldp_ucb_l", "klucb_cf", "ts_cf", "ldp_halving", "robust_bit_se", "ldprse")
    }


def test_the_service_is_short():
    assert len([line for line in block("service.py").splitlines() if line.strip()]) <= 32
