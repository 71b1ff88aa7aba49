"""Plan, run and store experiments: `run` simulates from Python, `load` reads what is stored."""

import os
import sys
from importlib import import_module
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError

if os.name == "nt":
    raise ImportError("experiments: needs Linux, macOS or WSL, not Windows alone")

if TYPE_CHECKING:
    from experiments.frames import load, load_identified, load_outcomes, load_pulls, load_weighted
    from experiments.running import run

# Work is divided among processes, one per core. Threads of BLAS would wait for each other by spinning, which costs ten
# times the processor when cores are busy, and last digits would depend on how many there are.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

__all__ = ["UserError", "load", "load_identified", "load_outcomes", "load_pulls", "load_weighted", "run"]


def __getattr__(name: str) -> Any:
    """Lazy imports, as `load` and `run` need pandas, which is slow to import and which most commands do not need."""
    if name in __all__:
        module = import_module("experiments.running" if name == "run" else "experiments.frames")
        return getattr(module, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


class _Package(ModuleType):
    """`experiments.run` is the function, also once the command of that name, a module, has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "run" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _say(of: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """Print no traceback for Ctrl-C while a command is still importing, as it does not later either."""
    if issubclass(of, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(of, error, at)


def _of_command() -> bool:
    """Whether `python -m` runs a command of ours; no for a program of somebody else that imports this package."""
    if sys.argv[:1] == ["-m"]:  # the package of the command is being imported, which may be that of somebody else
        module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    else:
        spec = getattr(sys.modules.get("__main__"), "__spec__", None)
        module = "" if spec is None else spec.name
    return module.partition(".")[0] in ("experiments", "scripts")


COMMAND = _of_command()
if COMMAND:
    sys.excepthook = _say
    os.environ |= {**ONE_THREAD, **os.environ}  # also of the processes that it starts, but not of a caller of `run`
