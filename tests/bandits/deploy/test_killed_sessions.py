"""A system call that touches the journal kills the session or is refused: nothing is lost or spent twice.

By default a fixed sample of calls is tried; CASES=10000 in the environment tries all.
"""

import json
import os
import random
import re
import shutil

import pytest

from bandits.deploy.journal import Journal
from bandits.deploy.replay import review
from bandits.deploy.tickets import SessionProgress, Ticket, replay_rows
from bandits.mechanisms.deployable import GRID
from experiments.config.compose import REPOSITORY
from tests.bandits.deploy.traced_sessions import opened
from tests.traced import CALLS, CHANGING, Call, Traced

pytest.importorskip("opendp")
CASES = int(os.environ.get("CASES", "300")) // 15
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]


@pytest.fixture(scope="module")
def runs():
    runs = Traced("tests.bandits.deploy.traced_sessions", REPOSITORY)
    yield runs
    runs.end()


def calls_of_a_run(runs, folder):
    """The calls that touch the journal of a run that nothing stops, in their order."""
    folder.mkdir()
    trace = folder / "trace"
    words = [str(folder / "journal"), str(folder / "said"), 1]
    assert runs.run(words, "-y", "-o", trace, "-e", f"trace={CALLS}")["code"] == 0
    counts, found = dict[str, int](), list[Call]()
    for line in trace.read_text().splitlines():
        name = line.partition("(")[0]
        if not name.isidentifier():
            continue
        counts[name] = counts.get(name, 0) + 1
        if str(folder / "journal") in line:
            found.append(Call(name, counts[name], name in CHANGING))
    return found


def acknowledged(folder):
    lines = (folder / "said").read_text().splitlines() if (folder / "said").exists() else []
    return [json.loads(line) for line in lines]


def nothing_is_lost(folder):
    """What was acknowledged is in the journal; how many releases it has, each once."""
    path = folder / "journal"
    said = acknowledged(folder)
    with opened(path) as session:
        policy = session.policy
    with Journal(path) as journal:
        rows, rewards = list(journal.rows()), journal.rewards()
    transcript = review(path).transcript
    progress, sums = SessionProgress(policy.batched_run(2, 1000), 2, 1000, 1000), {}
    for _ in replay_rows(progress, rows[1:], path):
        sums[progress.released] = progress.run.summary()["sums"]
    sums[progress.released] = progress.run.summary()["sums"]
    for kind, number, value in said:
        if kind == "ticket":
            assert transcript[number - 1] == Ticket(number, value)
        elif kind == "reward":
            assert rewards[number] == value * GRID
        else:
            assert sums[number] == value  # the same releases, not others in their place
    return progress.released


def sample(points):
    """A fixed sample of the calls, in their order."""
    chosen = random.Random(1).sample(range(len(points)), min(CASES, len(points)))
    return [points[number] for number in sorted(chosen)]


def test_a_session_killed_at_any_call_spends_nothing_twice_and_loses_nothing(runs, tmp_path):
    calls = calls_of_a_run(runs, tmp_path / "counted")
    assert len(calls) > 100
    released, killed = set(), 0
    for number, call in enumerate(sample(calls)):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [str(folder / "journal"), str(folder / "said"), 1]
        at = f"inject={call.name}:signal=KILL:when={call.number}"
        if runs.run(words, "-e", f"trace={CALLS}", "-o", os.devnull, "-e", at)["signal"] != 9:
            continue  # with other noise fewer batches were closed, and there is no such call
        killed += 1
        before = nothing_is_lost(folder)
        released.add(before)
        words[2] = 2
        assert runs.run(words) == {"signal": 0, "code": 0, "err": ""}, call
        assert nothing_is_lost(folder) > before, call
    assert killed > 0.8 * len(sample(calls))
    print(f"{killed} of {len(calls)} calls were points to be killed at; nothing lost, nothing spent twice")
    assert len(released) > 3  # early and late


def test_a_session_that_is_refused_any_call_says_so_and_loses_nothing(runs, tmp_path):
    """A full disk or a broken one: an error of one line that names the journal, and the next session goes on."""
    calls = [call for call in calls_of_a_run(runs, tmp_path / "counted") if call.changes]
    cases = sample([(call, error) for call in calls for error in ("ENOSPC", "EIO")])
    codes = []
    for number, (call, error) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [str(folder / "journal"), str(folder / "said"), 1]
        at = f"inject={call.name}:error={error}:when={call.number}"
        ended = runs.run(words, "-e", f"trace={CALLS}", "-o", os.devnull, "-e", at)
        assert ended["signal"] == 0, (call, error, ended)
        codes.append(ended["code"])
        if ended["code"]:
            assert re.fullmatch(r"error: [^\n]*journal: [^\n]*\n", ended["err"]), (call, error, ended)
        nothing_is_lost(folder)
    print(f"{len(cases)} refused calls: {codes.count(1)} ended the session in one line; nothing lost")
    assert 1 in codes
