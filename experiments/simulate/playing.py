"""Check a class of the user while it is played: it changes no state but that of its run, and starts no process."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.errors import NotRepeatableError

PYTHONS = ("__", "_abc_")  # prefixes of attributes that Python itself adds to a class, even after it is made
REFUSED = {  # functions that end, stop or fork the process that simulates
    os: ("fork", "forkpty", "kill", "killpg", "abort", "_exit", "execv", "execve"),
    signal: ("raise_signal", "signal", "alarm", "setitimer"),
}


def names_of(cell: Cell) -> str:
    """The names of the user's classes in a cell."""
    return " and ".join(cls.__qualname__ for cls in cell.own)


@contextmanager
def playing(cell: Cell) -> Iterator[None]:
    """Check a user's classes while replications of a cell are simulated within.

    Raises `NotRepeatableError` if they change the state of a global random generator or of their own class, or try to
    end or fork this process. Cells without classes of the user are not checked.
    """
    if not cell.own:
        yield
        return
    before = _around(list(cell.own))
    getattr(cell.instance, "gaps", None)  # the means of some instances are drawn once, from a seed in their parameters
    with _without_processes(names_of(cell)):
        yield
    for what, state in _around(list(cell.own)).items():
        if state != before[what]:
            raise NotRepeatableError(f"{names_of(cell)} {what}")


@contextmanager
def _without_processes(names: str) -> Iterator[None]:
    """Within, the functions in `REFUSED` raise `NotRepeatableError` in this thread, if it is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    thread = threading.get_ident()
    places = [(module, name, getattr(module, name)) for module, names_in in REFUSED.items() for name in names_in]

    def refusing(module: str, name: str, function: Any) -> Any:
        def refuse(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != thread:
                return function(*arguments, **named)
            raise NotRepeatableError(f"{names} calls {module}.{name}; no process may be started, ended or signalled")

        return refuse

    try:
        for module, name, function in places:
            setattr(module, name, refusing(module.__name__, name, function))
        yield
    finally:
        for module, name, function in places:
            setattr(module, name, function)


def _around(classes: list[type[Any]]) -> dict[str, Any]:
    """The state that a replication must not change, by the text of the error if it does.

    Outside the main thread the global generators are left out, as other threads, such as those of Dask, use them too.
    """
    of_classes = {
        "changes its class; what is learned belongs in the state of a run": [
            {name: id(value) for name, value in vars(cls).items() if not name.startswith(PYTHONS)} for cls in classes
        ]
    }
    if threading.current_thread() is not threading.main_thread():
        return of_classes
    algorithm, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002  # what it is about
    return {
        "draws from the global generator of numpy (np.random.NAME); use the rng that is passed": (
            algorithm,
            bytes(np.asarray(keys)),
            *rest,
        ),
        "draws from Python's module random; use the rng that is passed": random.getstate(),
        **of_classes,
    }
