"""Prepare a worker process: it ends with the command that started it, and says when it compiles a loop."""

import os
import signal
import sys
import threading
import time
from functools import cache
from typing import Any

from numba.core import event

from experiments.process import COMMAND

PATIENCE = 8.0  # seconds of compiling before it is announced
LOOK = 1.0  # seconds between two checks of the parent


@cache
def prepare(parent: int) -> None:
    """Prepare this process before it simulates; later calls do nothing. `parent` is the id of the asking process."""
    if COMMAND or os.getpid() != parent:  # not in a program that calls `run`, which compiles loops of its own
        event.register("numba:compile", Announcer())  # type: ignore[no-untyped-call]
    if os.getppid() == parent:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def follow_parent(parent: int) -> None:
    """Prepare a process of loky when it starts, before it has a task; it ends if its parent is gone already."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # SLURM sends it to all processes of a job, and means the first
    prepare(parent)
    if os.getppid() != parent:
        os._exit(1)


def _end_with(parent: int) -> None:
    """End this process soon after its parent; works during compiled loops too, as these release the interpreter."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


class Compiling(event.Listener):
    """Whether this process is compiling loops `now`."""

    def __init__(self) -> None:
        self._within = 0

    @property
    def now(self) -> bool:
        return self._within > 0

    def on_start(self, event: Any) -> None:
        """The compilation of a loop starts, perhaps within that of another loop."""
        self._within += 1

    def on_end(self, event: Any) -> None:
        """The compilation of a loop has ended."""
        self._within -= 1


class Announcer(Compiling):
    """Prints which loop is compiled, if that takes long, as the first run of a policy would seem to hang."""

    _timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if not self.now:
            function = event.data["dispatcher"].py_func
            self._timer = threading.Timer(PATIENCE, _say, [f"{function.__module__}.{function.__qualname__}"])
            self._timer.daemon = True
            self._timer.start()
        super().on_start(event)

    def on_end(self, event: Any) -> None:
        super().on_end(event)
        if not self.now and self._timer is not None:
            self._timer.cancel()


def _say(loop: str) -> None:
    print(f"compiling {loop} for this machine, which takes up to a minute, once", file=sys.stderr, flush=True)
