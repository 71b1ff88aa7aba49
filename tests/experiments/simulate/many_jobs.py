"""Many jobs of a cluster on one folder of results, each a process, with overlapping cells.

    python -m tests.experiments.simulate.many_jobs ROOT

The processes are forked from one, so that slow imports happen once. File locks do not work in them, as on some shared
file systems. Every eighth is killed as soon as there are results. Prints JSON: for each job its exit code and how many
replications it simulated.
"""

import fcntl
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from bandits.environments.bernoulli import C1
from bandits.policies.elimination import DPSE
from experiments import progress
from experiments.cells.regret import RegretCell
from experiments.config.request import Request
from experiments.simulate import block, look_up, run_jobs
from experiments.store import Store

JOBS, CELLS, OF_EACH, REPLICATIONS = 40, 20, 8, 4
KILLED = range(3, JOBS, 8)
REST = 0.2  # seconds of sleep before a replication, so that jobs overlap even on few cores


def requests_of(job: int) -> list[Request]:
    """The cells of a job: eight of twenty; each cell belongs to sixteen jobs."""
    numbers = [(job + place) % CELLS for place in range(OF_EACH)]
    return [Request(RegretCell(C1(3), DPSE(1.0), 20 + number), REPLICATIONS, {}) for number in numbers]


def work(root: Path, job: int) -> int:
    """Run one job; return how many replications it simulated."""
    made = []
    timed = block._timed

    def rested(cell, number):
        time.sleep(REST)
        made.append(number)
        return timed(cell, number)

    block._timed = rested
    store = Store(root)
    run_jobs(look_up(requests_of(job), store), store, workers=1)
    return len(made)


def refuse(*_):
    """Fail as a file system without locks does."""
    raise OSError(37, "No locks available")


def child(root: Path, job: int, answer: int) -> None:
    """A job in its own process."""
    code = 1
    try:
        os.write(answer, json.dumps(work(root, job)).encode())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Start the jobs, kill some, wait for all."""
    root = Path(sys.argv[1])
    fcntl.flock = fcntl.lockf = refuse
    progress.EVERY = 1e6
    started = {}
    for job in range(JOBS):
        reader, writer = os.pipe()
        if (pid := os.fork()) == 0:
            child(root, job, writer)
        os.close(writer)
        started[job] = pid, reader
    while not list(root.glob("*/*.parquet")):
        time.sleep(0.01)
    for job in KILLED:
        os.kill(started[job][0], signal.SIGKILL)
    ended = {}
    # First the killed ones: a process that ended looks alive until its parent has waited for it.
    for job, (pid, reader) in sorted(started.items(), key=lambda item: item[0] not in KILLED):
        _, status = os.waitpid(pid, 0)
        answer = os.read(reader, 100)
        ended[job] = [os.waitstatus_to_exitcode(status), json.loads(answer) if answer else 0]
    print(json.dumps(ended))


if __name__ == "__main__":
    from tests.experiments.simulate import many_jobs  # by the module name under which readers of the results import it

    many_jobs.main()
