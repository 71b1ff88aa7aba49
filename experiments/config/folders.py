"""Folders that a config names: each a text, checked where it is read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from experiments.config.compose import REPOSITORY
from experiments.errors import UserError

RUNS = REPOSITORY / "runs"  # results of the user
RESULTS = REPOSITORY / "results"  # published with the repository; a copy of it may lack them


def folder(config: DictConfig, key: str) -> Path:
    """The folder that a key names. Raises `UserError`."""
    try:
        return as_folder(config[key], key)
    except OmegaConfBaseException as error:
        raise UserError(f"{key}: {str(error).partition(chr(10))[0]}") from None


def as_folder(name: Any, key: str) -> Path:
    """The folder of a `name` that `key` gives. Raises `UserError` if it is no text, or no name that a folder may have.

    The folder need not exist.
    """
    if not isinstance(name, str) or not name.strip():
        given = "" if name is None else str(name).strip()
        raise UserError(f"{key}: must be a folder, got {given or 'nothing'}")
    try:
        Path(name).stat()
    except (FileNotFoundError, NotADirectoryError):  # made later, or refused where it is needed
        pass
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{key}: must be a folder, got {name[:60]!r}: {problem}") from None
    return Path(name)


def published_folder(config: DictConfig) -> Path | None:
    """The folder of results that are only read, or None. Raises `UserError` if it does not exist."""
    return None if config.published_dir is None else as_published(config.published_dir)


def as_published(name: Any) -> Path:
    """The folder of published results with this `name`. Raises `UserError` if it does not exist."""
    place = as_folder(name, "published_dir")
    if not place.is_dir() and place != RESULTS:
        raise UserError(f"published_dir={place}: no such folder; null reads no published results")
    return place


def require_unpublished(seeds: Iterable[int], results: Path) -> None:
    """Raise `UserError` if results with a seed other than 0 would be written to those of the repository."""
    if results.resolve() == RESULTS and any(seeds):
        raise UserError("seed: results with a seed of your own are not published; choose another results_dir")
