"""Bring the results of another folder into this one: what both have must be the same to the bit."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from experiments.results_file import DamagedFileError, read_file
from experiments.store import Store, agree
from experiments.store.index import index_of_folders
from experiments.stored import Contents


class Step(Enum):
    """What is done with a file of the other folder."""

    TAKEN = "taken"
    KNOWN = "stored already"
    REFUSED = "refused"


class Found(NamedTuple):
    """A file of the other folder by its name there, what is done with it, and why it is refused."""

    name: str
    step: Step
    problem: str = ""


def look(store: Store, other: Path) -> Iterator[Found]:
    """Every results file of the folder `other`, read whole and compared with what `store` has; nothing is written."""
    index = index_of_folders([other])
    for file, reason in index.damaged.items():
        yield Found(_name(file, other), Step.REFUSED, f"{file}: damaged: {reason}")
    for file in index.files:
        name = _name(file, other)
        try:
            yield _compared(store, name, Path(file), read_file(Path(file)))
        except DamagedFileError as damage:
            yield Found(name, Step.REFUSED, f"{file}: damaged: {damage}")


def _name(file: str, folder: Path) -> str:
    return Path(file).relative_to(folder).as_posix()


def _compared(store: Store, name: str, file: Path, theirs: Contents) -> Found:
    most = 0
    for place in store.folders():
        try:
            ours = read_file(place / name) if (place / name).exists() else None
        except DamagedFileError:
            continue  # it is set aside when theirs is taken
        if ours is None:
            continue
        if ours.footer["columns"] != theirs.footer["columns"] or not agree(ours, theirs):
            return Found(name, Step.REFUSED, f"{file}: has other numbers than {place / name}")
        most = max(most, ours.replications)
    return Found(name, Step.KNOWN if theirs.replications <= most else Step.TAKEN)
