"""Simulate some replications a second time, in a new process, to see whether the numbers are the same.

They differ if a class depends on what it keeps in its module, on a clock, on the process, or on a random generator of
its own. The process is forked from one that has imported this repository, but no code of the user; its clock is set
ahead.
"""

import atexit
import contextlib
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bandits.foreign_draws import clocks_ahead, watched
from experiments.cells import Cell, Rows
from experiments.errors import NotRepeatableError
from experiments.own_code.fan_out import Shipped
from experiments.own_code.own_source import files_of, unseen
from experiments.own_code.user_code import in_words
from experiments.process import ONE_THREAD
from experiments.simulate.playing import names_of, playing

HEADER = struct.Struct("!Q")
STEPS = 20_000  # in all, of further replications that are played a second time; quick even in plain Python
SERVE = "import sys; sys.path[:] = {path!r}; from experiments.simulate.second_play import serve; serve()"


class Played(NamedTuple):
    """The result of a second play.

    Attributes
    ----------
    rows: of some replications, by their number.
    foreign: a generator, with its seed, that the user's code made in each of them, if there is one.
    problem: why there are no rows.
    unseen: modules that were imported but are not part of the digest of the cell.
    """

    rows: dict[int, dict[str, Any]]
    foreign: str | None = None
    problem: str = ""
    unseen: tuple[str, ...] = ()


class SecondPlays:
    """Second plays in the background of a sweep, one after another."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._open: set[Future[Played]] = set()

    def ask(self, cell: Cell, replications: Sequence[int]) -> "Future[Played]":
        """Play these replications of a cell in a new process, in this order.

        The cell is pickled here: in the background, what it keeps could change while it is pickled.
        """
        played = self._thread.submit(_SERVER.play, pickle.dumps(Shipped((cell, list(replications)))))
        self._open.add(played)
        played.add_done_callback(self._open.discard)
        return played

    def close(self) -> None:
        """Stop the second plays that are not finished."""
        if self._open:
            _SERVER.end()
        self._thread.shutdown(cancel_futures=True)


class _Server:
    """A process that forks for each second play; it starts with the first one, and ends with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()

    def play(self, pickled: bytes) -> Played:
        """Play the pickled replications of a cell in a new process, in their order."""
        with self._one:
            try:
                process = self._process = self._process or _started()
                assert process.stdin is not None
                assert process.stdout is not None
                _send(process.stdin, pickle.dumps((sys.path, str(Path.cwd()), pickled)))
                return Played(*pickle.loads(_receive(process.stdout)))
            except (OSError, EOFError) as error:
                self.end()
                return Played({}, None, f"no process for it: {in_words(error)}")

    def end(self) -> None:
        """Kill the process, with the second play that it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


_SERVER = _Server()
atexit.register(_SERVER.end)


def _started() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", SERVE.format(path=sys.path)]
    environment = {**ONE_THREAD, **os.environ}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _send(stream: BinaryIO | Any, content: bytes) -> None:
    stream.write(HEADER.pack(len(content)) + content)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes:
    """Read one message. Raises `EOFError`."""
    header = stream.read(HEADER.size)
    content: bytes = stream.read(*HEADER.unpack(header)) if len(header) == HEADER.size else b""
    if len(header) < HEADER.size or len(content) < HEADER.unpack(header)[0]:
        raise EOFError("it ended")
    return content


def serve() -> None:
    """Fork for each message, and send back the answer of the fork; returns when the input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    import_module("pandas")  # its compiled code warns of a datetime that is not the one it was compiled with
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a policy prints must not mix with the answers
    with contextlib.suppress(EOFError, BrokenPipeError):  # the process that asked has ended
        while True:
            message = _receive(requests)
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                _answer(message, writing)
            os.close(writing)
            with os.fdopen(reading, "rb") as pipe:
                ready, _, _ = select.select([pipe, requests], [], [])
                if pipe not in ready:
                    os.kill(child, signal.SIGKILL)
                    return
                answer = pipe.read()
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            _send(answers, answer or pickle.dumps(tuple(Played({}, None, f"the process ended ({ended})"))))


def _answer(message: bytes, writing: int) -> None:
    """What the fork does: play, write the answer to the pipe `writing`, and end."""
    ahead = contextlib.ExitStack()  # held until the end
    try:
        ahead.enter_context(clocks_ahead())
        sys.path[:], folder, shipped = pickle.loads(message)
        os.chdir(folder)
        before = set(sys.modules)
        answer = pickle.dumps(tuple(_played(pickle.loads(shipped), before)))
    except BaseException as error:  # a user's class may raise anything
        answer = pickle.dumps(tuple(Played({}, None, in_words(error))))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(answer)
    os._exit(0)


def _played(shipped: Shipped, before: Collection[str]) -> Played:
    """Play the replications that were sent; `before` are the modules that were imported before."""
    cell, replications = shipped.open()
    files = {str(file) for file in files_of(cell.own)}
    rows, seeds = {}, list[set[str]]()
    for number in replications:
        with playing(cell), watched(files) as made:
            rows[number] = cell.replicate(number)
        seeds.append(made)
    foreign = min(set.intersection(*seeds), default=None) if len(seeds) > 1 else None
    return Played(rows, foreign, unseen=tuple(unseen(cell.own, before)))


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


def require_same(cell: Cell, rows: Rows, numbers: Sequence[int], again: Played) -> None:
    """Raise `NotRepeatableError` unless the second play `again` gave the same numbers.

    `rows` are those of the first play, of replications `numbers`.
    """
    names = names_of(cell)
    if again.problem:
        raise NotRepeatableError(f"{names}: a second play in a new process failed: {again.problem}")
    if again.foreign:
        raise NotRepeatableError(
            f"{names} makes the generator {again.foreign} in every replication, so that all draw the same; use the "
            "rng that is passed"
        )
    if again.unseen and cell.code:
        modules = ", ".join(again.unseen)
        raise NotRepeatableError(
            f"{names} imports {modules} by a computed name, so that edits of it would not be noticed; add a statement "
            f"`import {again.unseen[0]}` anywhere in {cell.own[0].__module__}, below `if TYPE_CHECKING:` if need be"
        )
    for number, row in again.rows.items():
        for name, values in row.items() if number in numbers else ():
            before = rows[name][list(numbers).index(number)]
            if not np.array_equal(before, values, equal_nan=np.asarray(values).dtype.kind == "f"):
                raise NotRepeatableError(
                    f"{names} gives a different {name} when replication {number} is simulated again, in a new process, "
                    "from the same seed; numbers may depend only on the parameters and the rng that is passed, not on "
                    "earlier replications, a clock or the process"
                )
