"""Kill the service of docs/deploy.md at random moments: `python -m tests.bandits.deploy.killed_service KILLS [SEED]`.

Rewards come late, twice, or never, and some answers get lost. After each kill the journal is reviewed; every 25 kills a
new one is begun, as releases are most frequent at its start. Services are forked from a process that has imported what
they need, which saves a second each.
"""

import contextlib
import http.client
import json
import os
import random
import re
import runpy
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from bandits.deploy import Outcome, Session, replay, tickets
from bandits.deploy.journal import Journal
from bandits.deploy.tickets import SessionProgress, Ticket
from bandits.deploy.tickets import replay_rows as followed
from bandits.mechanisms.deployable import GRID
from bandits.policies.batched_index import DPKLUCB

PAGE = Path(__file__).parents[3] / "docs" / "deploy.md"
LIVES = 25  # of a journal
LONGEST = 0.4  # seconds of a life, after the first answer


def block(name):
    """A file of the page."""
    found = re.search(rf"^```python\n(# {re.escape(name)}\n.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    return found[1]


def start(folder):
    """A service in a process of its own; its number and its port."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        os.dup2(said, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.chdir(folder)
        sys.argv = ["service.py", "0"]
        try:
            runpy.run_path("service.py", run_name="__main__")
        finally:
            os._exit(1)
    os.close(said)
    with os.fdopen(heard) as lines:
        return child, int(lines.readline().split()[-1])


def ask(port, path, **asked):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, json.dumps(asked))
    said = json.loads(connection.getresponse().read())
    connection.close()
    return said


class Users:
    """Users of a service, and what it acknowledged to them."""

    def __init__(self, rng):
        self.rng, self.waiting = rng, []
        self.arms, self.rewards = {}, {}

    def come(self, port):
        """Take tickets and send rewards until the service is gone."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while True:
                ticket = ask(port, "/select")
                self.arms[ticket["ticket"]] = ticket["arm"]
                if self.rng.random() < 0.97:  # else this one sends nothing
                    self.waiting.append((ticket["ticket"], self.rng.randrange(5) / 4))
                self.rng.shuffle(self.waiting)
                while self.waiting and self.rng.random() < 0.8:
                    number, reward = self.waiting[-1]  # sent again if the answer does not come
                    if ask(port, "/update", ticket=number, reward=reward) == Outcome.COUNTED:
                        self.rewards[number] = reward
                    self.waiting.pop()


def check(path, users, known):
    """Compare a journal with what was acknowledged, and with the releases that were `known` before; its releases."""
    found = replay.review(path)
    for number, arm in users.arms.items():
        assert found.transcript[number - 1] == Ticket(number, arm), "another arm than the one that was shown"
    policy = DPKLUCB(epsilon=1.0)
    with Journal(path) as journal:
        rows, rewards = list(journal.rows()), journal.rewards()
    for number, reward in users.rewards.items():
        assert rewards[number] == reward * GRID, "an acknowledged reward is lost"
    released = [row.body["steps"] for row in rows if row.kind == "release"]
    assert released[: len(known)] == known, "a release was drawn again"
    progress = SessionProgress(policy.batched_run(3, 1_000_000), 3, 1_000_000, 1000)
    summed = list[int]()
    for row in followed(progress, rows[1:], path):
        summed += progress.open.of(*row.body["arms"]) if row.kind == "release" else []
    assert len(summed) == len(set(summed)), "a reward is in two releases"
    assert (found.spent.epsilon, found.spent.releases) == (1.0 if released else 0.0, len(released))
    with Session(policy, 3, 1_000_000, (0.0, 1.0), path, patience=20) as session:
        assert (session.spent(), session.state()["tickets"]) == (found.spent, len(found.transcript))
    return released


def kill_often(kills, seed, said=print):
    """Kill the service so many times; the numbers of tickets, rewards and releases that were checked."""
    rng, began = random.Random(seed), time.monotonic()
    tickets.EVERY = 20  # so that most lives begin with a snapshot
    Session(DPKLUCB(epsilon=1.0), 2, 9, (0.0, 1.0), ":memory:", patience=0).select(9)  # loads machine code
    shown = rewards = releases = 0
    for first in range(0, kills, LIVES):
        with tempfile.TemporaryDirectory() as name:
            folder, users, known = Path(name), Users(rng), []
            (folder / "service.py").write_text(block("service.py"))
            for _ in range(first, min(first + LIVES, kills)):
                child, port = start(folder)
                visits = threading.Thread(target=users.come, args=(port,))
                visits.start()
                time.sleep(rng.random() * LONGEST)
                os.kill(child, signal.SIGKILL)
                assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL, "the service ended by itself"
                visits.join()
                known = check(folder / "rewards.journal", users, known)
            shown, rewards = shown + len(users.arms), rewards + len(users.rewards)
            releases += len(known)
        said(f"{min(first + LIVES, kills)} of {kills} kills, {time.monotonic() - began:.0f} s", flush=True)
    return shown, rewards, releases


if __name__ == "__main__":
    seen = kill_often(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("{} tickets, {} rewards and {} releases: none lost, none twice".format(*seen))
