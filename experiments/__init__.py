"""Plan, run and store experiments: `run` simulates from Python, `load` reads what is stored."""

import os
import signal
import sys
from importlib import import_module
from threading import Timer, current_thread, main_thread
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError
from experiments.process import COMMAND, ONE_THREAD, SILENT, SIMULATING

if os.name == "nt":
    raise ImportError("experiments: needs Linux, macOS or WSL, not Windows alone")

if TYPE_CHECKING:
    from experiments.advice.answer import advise
    from experiments.library.frames import load, load_cells, load_identified, load_outcomes, load_pulls, load_weighted
    from experiments.library.running import run

__all__ = [
    "UserError",
    "advise",
    "load",
    "load_cells",
    "load_identified",
    "load_outcomes",
    "load_pulls",
    "load_weighted",
    "run",
]

SOON = 0.02  # seconds, in which most callbacks end
MODULES = {  # of other names: experiments.library.frames
    "advise": "experiments.advice.answer",
    "run": "experiments.library.running",
}


def __getattr__(name: str) -> Any:
    """Lazy imports, as `load` and `run` need pandas, which is slow to import and which most commands do not need."""
    if name in __all__:
        return getattr(import_module(MODULES.get(name, "experiments.library.frames")), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


class _Package(ModuleType):
    """`experiments.run` is the function, also once the command of that name, a module, has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "run" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _say(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """Print no traceback for Ctrl-C while a command is still importing, as it does not later either."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, at)


def _say_ignored(ignored: "sys.UnraisableHookArgs") -> None:
    """Print no traceback if Ctrl-C came where Python ignores it, as in a callback of a compiler; it comes again soon.

    The thread that simulates is left behind instead.
    """
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
    elif current_thread() is main_thread():
        Timer(SOON, _interrupt).start()
    elif current_thread().name != SIMULATING:
        sys.__unraisablehook__(ignored)


def _interrupt() -> None:
    main = main_thread().ident
    if main is not None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.pthread_kill(main, signal.SIGINT)


if COMMAND:
    sys.excepthook = _say
    sys.unraisablehook = _say_ignored
    os.environ |= {**ONE_THREAD, **os.environ, **SILENT}  # also for processes that it starts, not for a caller of `run`
