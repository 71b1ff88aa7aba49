"""Whose code a config may name. What is refused is found by its name alone: nothing of it is imported."""

import importlib.util
from collections.abc import Collection
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from experiments import own_source

OURS = ("bandits", "experiments.claims.checks")
_folders: list[Path] = []  # that the user named with --config-dir; what a config names may be there


def trust(folder: Path) -> None:
    """From here on, configs may name what is in `folder`, and its modules can be imported."""
    if folder not in _folders:
        _folders.append(folder)
    own_source.follow(folder)


def trusted() -> tuple[Path, ...]:
    """The folders that were named, the first that is looked in first."""
    return tuple(folder for folder in own_source.places() if folder in _folders)


def refusal(module: str, installed: bool = True) -> str | None:
    """Why a config may not name something of `module`; None where it may.

    It may be of `bandits`, of the checks of claims, of a folder that was named with --config-dir, and, unless
    `installed` is false, of an installed package.
    """
    if any(module == ours or module.startswith(f"{ours}.") for ours in OURS):
        return None
    top = module.partition(".")[0]
    try:
        found = importlib.util.find_spec(top)  # of a name without dots: it imports nothing
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
    """The modules of installed packages; it takes a third of a second to list them."""
    return packages_distributions().keys()
