"""Classes that users write: which modules a config may name, what their code must not do, and errors that it raises."""

import importlib.util
import json
import os
import pkgutil
import random
import signal
import threading
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bandits
from bandits import ParameterError
from bandits.learner import Environment, Learner
from experiments import own_source
from experiments.errors import UserError

if TYPE_CHECKING:
    from experiments.cells import Cell

OUR_FILES = tuple(str(Path(bandits.__file__).parents[1] / package) + "/" for package in ("bandits", "experiments"))
LIBRARIES = ("site-packages", "lib/python")
COMPILED = (".pyx", ".pxd")  # Cython sources of libraries; tracebacks name them without their folder
NAMEABLE = ("bandits", "experiments.claims.checks")  # modules that a config may name, apart from those of users
_folders: list[Path] = []  # given with --config-dir; a config may name modules in them


def trust(folder: Path) -> None:
    """From now on, configs may name modules in `folder`, and they can be imported."""
    if folder not in _folders:
        _folders.append(folder)
    own_source.follow(folder)


def trusted() -> tuple[Path, ...]:
    """The trusted folders, in the order in which modules are searched."""
    return tuple(folder for folder in own_source.places() if folder in _folders)


def refusal(module: str, installed: bool = True) -> str | None:
    """Why a config may not name something in `module`; None if it may. The module is not imported.

    Allowed are `bandits`, the checks of claims, folders given with --config-dir; if `installed`, installed packages.
    """
    if any(module == ours or module.startswith(f"{ours}.") for ours in NAMEABLE):
        return None
    top = module.partition(".")[0]
    try:
        found = importlib.util.find_spec(top)  # imports nothing, as the name has no dots
    except (ImportError, ValueError):
        found = None
    if found is None:
        return f"there is no module {top}"
    places = [Path(place) for place in (found.origin, *(found.submodule_search_locations or ())) if place is not None]
    if places and all(any(place.is_relative_to(folder) for folder in _folders) for place in places):
        return None
    if installed and top in _installed():
        return None
    allowed = ["of bandits", "of a folder given with --config-dir", *(["of an installed package"] if installed else [])]
    where = f" ({found.origin})" if found.origin else ""
    return f"{module}{where} is neither {' nor '.join(allowed)}, and is not imported"


@cache
def _installed() -> Collection[str]:
    """The modules of installed packages; slow to list, so they are cached."""
    return packages_distributions().keys()


class NotRepeatableError(Exception):
    """The numbers of a policy or instance do not depend on the seed alone; the message says what it did."""


def is_own(part: Environment | Learner[Any]) -> bool:
    """Whether the class of an instance or policy is from outside this repository."""
    return type(part).__module__.partition(".")[0] != "bandits"


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


def require_own_name(part: Environment | Learner[Any], where: str) -> None:
    """Raise `UserError` if a user's class has the `name` of a built-in one: tables tell them apart only by name."""
    ours = _ours().get((isinstance(part, Learner), part.name)) if is_own(part) else None
    if ours:
        raise UserError(
            f"{where}: {type(part).__module__}.{type(part).__qualname__} has the name {part.name} of "
            f"{ours.__module__}.{ours.__qualname__}; give it a `name` of its own"
        )


def built_in_policy(name: str) -> type[Any] | None:
    """The policy of this repository with that name, if there is one."""
    return _ours().get((True, name))


def revisions(identity: str) -> dict[str, int]:
    """The present revisions of the instance and policy that an identity names, those of them that are in `bandits`.

    Classes are found by name: nothing that only a file names is imported or called.
    """
    content = json.loads(identity)
    found = {}
    for part, is_learner in (("instance", False), ("policy", True)):
        package, _, name = content[part]["class"].partition(":")
        cls = _ours().get((is_learner, name)) if package == "bandits" else None
        if cls is not None:
            found[part] = cls.revision
    return found


@cache
def _ours() -> dict[tuple[bool, str], type[Any]]:
    """Every instance and policy class of `bandits`, by whether it is a learner, and its name."""
    for item in pkgutil.walk_packages(bandits.__path__, "bandits."):
        import_module(item.name)
    waiting: list[type[Any]] = [Learner, Environment]
    found = {}
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.partition(".")[0] == "bandits" and hasattr(cls, "name"):
            found[issubclass(cls, Learner), cls.name] = cls
    return found


PYTHONS = ("__", "_abc_")  # prefixes of attributes that Python itself adds to a class, even after it is made
REFUSED = {  # functions that end, stop or fork the process that simulates
    os: ("fork", "forkpty", "kill", "killpg", "abort", "_exit", "execv", "execve"),
    signal: ("raise_signal", "signal", "alarm", "setitimer"),
}


def names_of(cell: "Cell") -> str:
    """The names of the user's classes in a cell."""
    return " and ".join(cls.__qualname__ for cls in cell.own)


@contextmanager
def playing(cell: "Cell") -> Iterator[None]:
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
    places = [(module, name, getattr(module, name)) for module, of in REFUSED.items() for name in of]

    def refusing(module: str, name: str, known: Any) -> Any:
        def refuse(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != thread:
                return known(*arguments, **named)
            raise NotRepeatableError(f"{names} calls {module}.{name}; no process may be started, ended or signalled")

        return refuse

    try:
        for module, name, known in places:
            setattr(module, name, refusing(module.__name__, name, known))
        yield
    finally:
        for module, name, known in places:
            setattr(module, name, known)


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
