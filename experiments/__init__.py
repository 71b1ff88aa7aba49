"""Plan, run and store experiments; `load` what is stored."""

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
