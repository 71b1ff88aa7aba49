"""A service to be killed: rewards are late or missing, and it reports each acknowledged one before it continues."""

import json
import os
import sys
import tempfile

import numpy as np

from bandits.deploy import JournalError, Outcome, Session, tickets
from bandits.policies.batched_index import AdaPUCB
from tests.traced import serve

PULLS = 16


def opened(path):
    return Session(AdaPUCB(1.0), 2, 1000, (0.0, 1.0), path, patience=3)


def play(session, seed, said):
    """Some tickets and rewards; `said` hears of each that was acknowledged."""
    rng = np.random.default_rng(seed)
    open_tickets = []
    for _ in range(PULLS):
        for ticket in session.select(int(rng.integers(1, 3))):
            said("ticket", ticket.number, ticket.arm)
            open_tickets.append(ticket.number)
        said("sums", session.state()["releases"], session.state()["sums"])
        rng.shuffle(open_tickets)
        for number in open_tickets[:2]:
            reward = float(rng.integers(0, 5)) / 4
            if session.update(number, reward) is Outcome.COUNTED:
                said("reward", number, reward)
        open_tickets = open_tickets[1:]


def command(words):
    """Open the journal and play; what was acknowledged is written to a file, line by line."""
    journal, answers, seed = words
    tickets.EVERY = 5  # so that snapshots are written, and restarts begin with one
    file = os.open(answers, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def said(*what):
        os.write(file, (json.dumps(what) + "\n").encode())

    try:
        with opened(journal) as session:
            play(session, seed, said)
    except JournalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def main():
    """Draw noise and choose an arm once, so that killed processes need not import or compile."""
    answer = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        command([f"{folder}/journal", f"{folder}/said", 0])
    serve(command, answer)


if __name__ == "__main__":
    sys.exit(main())
