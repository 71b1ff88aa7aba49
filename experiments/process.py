"""This process: whether it is a command of ours, how many threads libraries may start in it, and how it ends."""

import atexit
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

# Work is divided among processes, one per core. Threads of BLAS would wait for each other by spinning, which costs ten
# times the processor when cores are busy, and last digits would depend on how many there are.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def _of_command() -> bool:
    """Whether `python -m` runs a command of ours; no for a program of somebody else that imports this package."""
    if sys.argv[:1] == ["-m"]:  # the package of the command is being imported, which may be that of somebody else
        module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    else:
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        module = "" if spec is None else spec.name
    return module.partition(".")[0] in ("experiments", "scripts")


COMMAND = _of_command()

SIMULATING = "simulating"  # the name of a thread that may be left behind in a compiled loop


def stop(code: int) -> NoReturn:
    """End this process, also if a thread is in a compiled loop, whose machine code must not be freed before."""
    if COMMAND and any(thread.name == SIMULATING for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def ending() -> None:
    """This process ends now, and libraries are cleaning up: one Ctrl-C or SIGTERM is not needed, a second one kills."""
    if COMMAND:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _next_one_kills)


def _next_one_kills(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
