"""Plan, run and store experiments; `load` what is stored."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

from experiments.errors import UserError

if TYPE_CHECKING:
    from experiments.frames import load, load_outcomes, load_pulls

__all__ = ["UserError", "load", "load_outcomes", "load_pulls"]


def __getattr__(name: str) -> Any:
    """`load` and its kin need pandas, whose import takes longer than that of all commands that do without it."""
    if name in __all__:
        from experiments import frames

        return getattr(frames, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def _say(of: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    """An interruption while a command still imports is as quiet as one later."""
    if issubclass(of, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(of, error, at)


_main = getattr(sys.modules.get("__main__"), "__spec__", None)  # of the command; while its package is imported, none
if sys.argv[:1] == ["-m"] or (_main is not None and _main.name.partition(".")[0] in ("experiments", "scripts")):
    sys.excepthook = _say
