"""Write cells in child processes, each of which may be killed at a system call or at a byte of a file.

Each line on standard input is JSON: `root`, `replications`, `changed` (other numbers), `call` (the number of the call
at which the process is killed, before it for an even number and after it for an odd one; -1 for none) and `byte`
(where the first file that grows so long ends the process; 0 for none). The answer is how the process ended, and how
many calls it made.
"""

import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np

from bandits.environments.bernoulli import C1
from bandits.policies.ucb import UCB1
from experiments.cells.regret import RegretCell
from experiments.store import Store
from experiments.store.stored import Stored

CELL = RegretCell(C1(3), UCB1(), 200)
MOST = 6
CALLS = ("open", "mkdir", "fsync", "chmod", "replace", "rename", "unlink", "remove", "link", "utime", "fdopen", "close")
NUMBERS: dict[tuple[int, bool], Stored] = {}
FOOTER = {
    "key": CELL.key,
    "columns": CELL.columns,
    "identity": CELL.identity,
    "revisions": {"instance": 1, "policy": 1},
    "source": None,
    "config": {},
}


def stored(replications: int, changed: bool = False) -> Stored:
    """The first replications of the cell; with other numbers if `changed`."""
    rows = [CELL.replicate(number) for number in range(replications)]
    columns = {name: np.array([row[name] for row in rows]) for name in CELL.fields}
    if changed:
        columns["regret"] = np.nextafter(columns["regret"], np.inf)
    runs = [{"replications": [0, replications], "seconds": 1.0, "typical_seconds": 1.0}]
    return Stored(columns, {**FOOTER, "runs": runs}, CELL)


def kill_at(point: int) -> list[int]:
    """Let the system kill this process at a call; the list grows by one with each."""
    made: list[int] = []

    def counted(name, call):
        def around(*arguments, **named):
            if len(made) * 2 == point:
                os.kill(os.getpid(), signal.SIGKILL)
            made.append(1)
            try:
                return call(*arguments, **named)
            finally:
                if len(made) * 2 - 1 == point:
                    os.kill(os.getpid(), signal.SIGKILL)

        return around

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))
    return made


def write(case) -> None:
    """The work of the child; it never returns."""
    numbers = NUMBERS[case["replications"], case["changed"]]
    if case["byte"]:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["byte"], case["byte"]))
    answer = os.write
    made = kill_at(case["call"])
    try:
        Store(Path(case["root"])).write(numbers)
    except Exception as error:
        answer(3, f"{type(error).__name__}\n".encode())
    answer(3, f"{len(made)}\n".encode())
    os._exit(0)


def main() -> None:
    """Fork a process for each line of standard input."""
    for replications in range(1, MOST + 1):
        for changed in (False, True):
            NUMBERS[replications, changed] = stored(replications, changed)
    with tempfile.TemporaryDirectory() as folder:
        Store(Path(folder)).write(NUMBERS[1, False])  # imports what the first write imports, once for all
    for line in sys.stdin:
        read, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 3)
            write(json.loads(line))
        os.close(writer)
        _, status = os.waitpid(child, 0)
        with os.fdopen(read) as words:
            answer = words.read().split()
        print(
            json.dumps({"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "answer": answer}), flush=True
        )


if __name__ == "__main__":
    main()
