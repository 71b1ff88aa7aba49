"""This process: whether it is a command of ours, its threads, its garbage collection, and how it ends."""

import atexit
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import NoReturn

# Work is divided among processes, one per core. Threads of BLAS would wait for each other by spinning, which costs ten
# times the processor when cores are busy, and last digits would depend on how many there are.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
# A process of the standard library, and one of loky, frees the semaphores of a command that was ended by force. That is
# its task, of which it would print a warning.
SILENT = {"PYTHONWARNINGS": ",".join([os.environ.get("PYTHONWARNINGS", ""), "ignore:resource_tracker"]).lstrip(",")}


def _of_command() -> bool:
    """Whether `python -m` runs a command of ours; no for a program of somebody else that imports this package."""
    if sys.argv[:1] == ["-m"]:  # the package of the command is being imported, which may be that of somebody else
        module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    else:
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        module = "" if spec is None else spec.name
    return module.partition(".")[0] in ("experiments", "scripts")


COMMAND = _of_command()
_ENDING = threading.RLock()  # the thread that has it ends this process

ENDS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what batch systems and services send
GRACE = 1.0  # seconds that this process has to end by itself
SIMULATING = "simulating"  # the name of a thread that may be left behind in a compiled loop


def end_when_asked(say: Callable[[], None]) -> None:
    """From now on Ctrl-C and SIGTERM raise `KeyboardInterrupt`, and end a command after `GRACE` if that does not.

    Python raises it between two of its own steps: not in machine code, which may take hours, and in a callback of a
    compiler it is lost. In that case `say` prints what there is to say, and the exit code is 130.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if COMMAND:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=_end, args=(reading, say), daemon=True).start()


def _end(signals: int, say: Callable[[], None]) -> None:
    """End this process some time after one of `ENDS` is read from the file `signals`, unless it is ending by then."""
    while os.read(signals, 1)[0] not in ENDS:
        pass
    time.sleep(GRACE)
    if _ENDING.acquire(blocking=False):
        say()
        sys.stderr.flush()
        os._exit(130)


@contextmanager
def without_signals() -> Iterator[None]:
    """Processes that are started within see no Ctrl-C and no SIGTERM: both are for this one, which sees them after it.

    They inherit that when they start, before they could set it themselves: it takes them seconds to import.
    """
    resource_tracker.ensure_running()  # it would let them through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Within, cycles of objects are not looked for: where most live to the end, that takes up to a fifth of the time.

    What was made within is not looked at later either.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def stop(code: int) -> NoReturn:
    """End this process, also if a thread is in a compiled loop, whose machine code must not be freed before."""
    exec("")  # else Python ends itself with SIGINT if Ctrl-C came within another `exec`, as numba and dataclasses have
    if COMMAND:
        sys.unraisablehook = lambda _: None  # an object whose making was interrupted may fail to be removed
        if any(thread.name == SIMULATING for thread in threading.enumerate()):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def ending() -> None:
    """This process ends now, and libraries are cleaning up: one Ctrl-C or SIGTERM is not needed, a second one kills."""
    _ENDING.acquire()
    if COMMAND:
        for number in ENDS:
            signal.signal(number, _next_one_kills)


def _next_one_kills(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
