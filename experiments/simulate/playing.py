"""While a class of the user is played, it starts, ends and signals no process: Python's own audit events say so."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from experiments.cells import Cell
from experiments.errors import NotRepeatableError

MODULES = ("os.", "subprocess.", "signal.")  # and what their events are called, as os.forkpty and subprocess.Popen
PROCESSES = ("fork", "kill", "exec", "spawn", "system", "Popen")
_HERE = threading.local()  # the names of the classes that are played in this thread


def names_of(cell: Cell) -> str:
    """The names of the user's classes in a cell."""
    return " and ".join(cls.__qualname__ for cls in cell.own)


@contextmanager
def playing(cell: Cell) -> Iterator[None]:
    """Within, a user's class that starts, ends or signals a process raises `NotRepeatableError`, however it does so.

    One that gets past Python ends its worker, which is a failure of its cell.
    """
    if not cell.own:
        yield
        return
    _hooked()
    _HERE.names = names_of(cell)
    try:
        yield
    finally:
        _HERE.names = ""


@cache
def _hooked() -> None:
    sys.addaudithook(_refuse)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    names = getattr(_HERE, "names", "")
    if names and event.startswith(MODULES) and any(word in event for word in PROCESSES):
        raise NotRepeatableError(f"{names} calls {event}; no process may be started, ended or signalled")
