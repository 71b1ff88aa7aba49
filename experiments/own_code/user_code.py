"""Classes that users write: which modules a config may name, and errors that their code raises."""

import importlib.util
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import bandits
from bandits import ParameterError
from bandits.learner import Environment, Learner
from experiments.errors import NotRepeatableError, UserError
from experiments.own_code import own_source

OUR_FILES = tuple(str(Path(bandits.__file__).parents[1] / package) + "/" for package in ("bandits", "experiments"))
LIBRARIES = ("site-packages", "lib/python")
COMPILED = (".pyx", ".pxd")  # Cython sources of libraries; tracebacks name them without their folder
NAMEABLE = ("bandits", "experiments.claims.checks")  # modules that a config may name, apart from those of users


def refusal(module: str, installed: bool = True) -> str | None:
    """Why a config may not name something in `module`; None if it may. The module is not imported.

    Allowed are `bandits`, the checks of claims, folders given with --config-dir; if `installed`, installed packages.
    """
    if any(module == ours or module.startswith(f"{ours}.") for ours in NAMEABLE):
        return None
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)  # imports nothing, as the name has no dots
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return f"there is no module {top}"
    places = [Path(place) for place in (spec.origin, *(spec.submodule_search_locations or ())) if place is not None]
    if places and own_source.is_trusted(places):
        return None
    if installed and top in _installed():
        return None
    allowed = ["of bandits", "of a folder given with --config-dir", *(["of an installed package"] if installed else [])]
    where = f" ({spec.origin})" if spec.origin else ""
    return f"{module}{where} is neither {' nor '.join(allowed)}, and is not imported"


@cache
def _installed() -> Collection[str]:
    """The modules of installed packages; slow to list, so they are cached."""
    return packages_distributions().keys()


def is_built_in(cls: type[Any]) -> bool:
    """Whether a class is one of `bandits`."""
    return cls.__module__.partition(".")[0] == "bandits"


def is_own(part: Environment | Learner[Any]) -> bool:
    """Whether the class of an instance or policy is from outside this repository."""
    return not is_built_in(type(part))


def in_words(error: BaseException) -> str:
    """An error in one line, with the place where it was raised, as `place_of` gives it."""
    what = "it ends the program" if isinstance(error, SystemExit) else type(error).__name__
    if isinstance(error, NotRepeatableError):
        return str(error)
    message = " ".join(str(error).split())
    place = place_of(error)
    return f"{what}: {message}{place and f' ({place})'}" if message else f"{what}{place and f' ({place})'}"


def place_of(error: BaseException) -> str:
    """Where an error was raised, the last place in a user's file if there is one: FILE, line N, in FUNCTION."""
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if not frame.filename.startswith("<") and not frame.filename.endswith(COMPILED)]
    own = [frame for frame in frames if not any(part in frame.filename for part in (*OUR_FILES, *LIBRARIES))]
    last = (own or frames)[-1:]
    return "".join(f"{frame.filename}, line {frame.lineno}, in {frame.name}" for frame in last)


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Turn any error raised within, even `SystemExit`, into a `UserError` that names `where`, a file of the user.

    `ParameterError`, `UserError` and `KeyboardInterrupt` are not changed.
    """
    try:
        yield
    except (ParameterError, UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserError(f"{where}: {in_words(error)}") from error
