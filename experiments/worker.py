"""What a process that simulates does besides: it ends with the command that started it, and says when it compiles."""

import os
import sys
import threading
import time
from functools import cache
from typing import Any

from numba.core import event

PATIENCE = 8.0  # seconds of compiling before it is said
LOOK = 1.0  # seconds between two looks for the parent


@cache
def prepare(parent: int) -> None:
    """Call it in every process before it simulates, with the number of the process that asks; once is enough."""
    event.register("numba:compile", Announcer())  # type: ignore[no-untyped-call]
    if os.getppid() == parent:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process soon after its parent: nobody would read what it simulates. Compiled loops let it run."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


class Announcer(event.Listener):
    """Says which loop is compiled, if that takes a while: the first run of a policy would seem to hang."""

    def __init__(self) -> None:
        self._within = 0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A loop begins to be compiled, perhaps as part of another."""
        self._within += 1
        if self._within == 1:
            function = event.data["dispatcher"].py_func
            self._timer = threading.Timer(PATIENCE, _say, [f"{function.__module__}.{function.__qualname__}"])
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._within -= 1
        if self._within == 0 and self._timer is not None:
            self._timer.cancel()


def _say(loop: str) -> None:
    print(f"compiling {loop} for this machine, which takes up to a minute, once", file=sys.stderr, flush=True)
