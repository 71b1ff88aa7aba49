"""Simulate some replications a second time, elsewhere, to see whether the numbers are the same.

A class of the user may depend on its parameters, on the generator that it is given and on the files in its key. So its
cell is built again from its config, in a new process with nothing else in common: another working directory, home, hash
seed, time zone and clock, no environment, and none of the user's modules. The process is forked from one that has
imported this repository alone.
"""

import atexit
import contextlib
import os
import pickle
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from multiprocessing import Pipe, connection
from typing import Any

import numpy as np

from bandits import compiled
from experiments.cells import Cell, Rows
from experiments.config.compose import REPOSITORY
from experiments.errors import NotRepeatableError
from experiments.own_code import own_source
from experiments.own_code.user_code import in_words
from experiments.process import ONE_THREAD
from experiments.simulate.playing import names_of

STEPS = 20_000  # in all, of further replications that are played a second time; quick even in plain Python
SERVE = (
    f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from experiments.simulate.second_player import serve; "
    "serve(int(sys.argv[1]))"
)
PAUSE = 0.05  # seconds between two tries to end


Again = dict[int, dict[str, Any]]  # the rows of a second play, by the number of their replication


def play_again(cell: Cell, config: Mapping[str, Any], replications: Sequence[int]) -> "Future[Again]":
    """Play these replications of the cell that a config describes in a new process, in this order.

    It is done in the background, after those that were asked for before. Its result raises `NotRepeatableError` with
    the reason if there are no rows.
    """
    parts = {group: config.get(group) for group in ("instance", "policy")}
    about = own_source.now(), parts, cell.record, cell.horizon, cell.recorded, list(replications)
    return _SERVER.thread.submit(_SERVER.play, names_of(cell), pickle.dumps(about))


def stop_plays(plays: "Collection[Future[Again]]") -> None:
    """Stop those of some second plays that are not finished."""
    for play in plays:
        play.cancel()
    while any(play.running() for play in plays):
        _SERVER.end()
        wait(plays, PAUSE)


class _Server:
    """A process that forks for each second play; it starts with the first one, and ends with this process."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)
        self._started: tuple[subprocess.Popen[bytes], connection.Connection] | None = None
        self._home = ""

    def play(self, names: str, about: bytes) -> Again:
        """Play the replications of a cell in a new process; `about` it, pickled, is what second_player.py takes."""
        try:
            _, link = self._started = self._started or self._start()
            link.send_bytes(about)
            answer: Again | str = link.recv()
        except (OSError, EOFError) as error:
            self.end()
            answer = f"no process for it: {in_words(error)}"
        if isinstance(answer, str):
            raise NotRepeatableError(f"{names}: a second play in a new process failed: {answer}")
        return answer

    def end(self) -> None:
        """Kill the process, with the second play that it runs and all that this has started."""
        started, self._started = self._started, None
        if started is not None:
            with contextlib.suppress(OSError):
                os.killpg(started[0].pid, signal.SIGKILL)
            started[0].wait()
            shutil.rmtree(self._home, ignore_errors=True)

    def _start(self) -> "tuple[subprocess.Popen[bytes], connection.Connection]":
        self._home = tempfile.mkdtemp()
        ahead = ["faketime", "-f", "+463d"] if shutil.which("faketime") else []
        link, theirs = Pipe()
        with theirs:
            process = subprocess.Popen(
                [*ahead, sys.executable, "-P", "-c", SERVE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a policy prints is for the user to see
                cwd=self._home,
                env=_environment(self._home),
                start_new_session=True,  # Ctrl-C is for the process that asked, which ends the whole group
            )
        return process, link


_SERVER = _Server()
atexit.register(_SERVER.end)


def _environment(home: str) -> dict[str, str]:
    """All that a second play finds in its environment: what Python and its libraries need, and nothing of the user."""
    return {
        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},  # parts of Python itself
        **ONE_THREAD,
        "HOME": home,
        "NUMBA_CACHE_DIR": str(compiled.PLACE.parent) if compiled.PLACE else home,
        "PATH": os.defpath,
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        "PYTHONUSERBASE": site.getuserbase(),
        "TZ": "OTHER-5:45",  # before UTC, as in Nepal
    }


def chosen(cell: Cell, numbers: Sequence[int]) -> list[int]:
    """The replications that are played a second time: the last, the first, and some between, by the key of the cell.

    The order is not that of the sweep, so that what a class keeps from one replication to the next is different. The
    last shows what builds up over replications; one between shows what is wrong in many. As short replications cost
    little, as many between are played as fit into `STEPS`: of a small cell all, so that an error in only one is found.
    If there is a single replication, it is played after the next one.
    """
    first, *between = numbers
    if not between:
        return [first + 1, first]
    last = between.pop()
    order = np.random.default_rng(int(cell.key, 16)).permutation(between)
    return [last, first, *sorted(map(int, order[: max(1, STEPS // cell.horizon)]))]


def require_same(cell: Cell, rows: Rows, numbers: Sequence[int], again: Again) -> None:
    """Raise `NotRepeatableError` unless the second play `again` gave the same numbers.

    `rows` are those of the first play, of replications `numbers`.
    """
    for number, row in again.items():
        for name, values in row.items() if number in numbers else ():
            before = rows[name][list(numbers).index(number)]
            if not np.array_equal(before, values, equal_nan=np.asarray(values).dtype.kind == "f"):
                raise NotRepeatableError(
                    f"{names_of(cell)} gives a different {name} when replication {number} is simulated again, in a new "
                    "process, from the same seed; numbers may depend only on the parameters, the rng that is passed "
                    "and the files in the key, not on earlier replications, a clock, the environment or the process"
                )
