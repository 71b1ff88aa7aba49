"""Copy the results of another folder into this one: what both have must be the same bit by bit."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from experiments.store import Store, agree, held
from experiments.store.index import index_of_folders
from experiments.store.place import Place
from experiments.store.results_file import DamagedFileError
from experiments.store.stored import Replications


class Step(Enum):
    """What is done with a cell of the other folder."""

    TAKEN = "taken"
    KNOWN = "stored already"
    REFUSED = "refused"


class Found(NamedTuple):
    """A cell of the other folder, what is done with it, and why it is refused; `place` is None for a damaged file."""

    place: Place | None
    step: Step
    problem: str = ""


def look(store: Store, other: Path) -> Iterator[Found]:
    """Read every cell of `other` completely and compare it with what `store` has; nothing is written."""
    index = index_of_folders([other])
    for file, reason in index.damaged.items():
        yield Found(None, Step.REFUSED, f"{file}: damaged: {reason}")
    for place in index.places:
        try:
            yield _compared(store, place, place.read())
        except DamagedFileError as damage:
            yield Found(place, Step.REFUSED, f"{place}: damaged: {damage}")


def _compared(store: Store, place: Place, theirs: Replications) -> Found:
    most = 0
    for of_ours in (ours for folder in store.folders() for ours in held(folder, place.name, theirs.record)):
        try:
            ours = of_ours.read()
        except DamagedFileError:
            continue  # a damaged results file is set aside when theirs is taken
        if ours.footer["columns"] != theirs.footer["columns"] or not agree(ours, theirs):
            return Found(place, Step.REFUSED, f"{place}: has other numbers than {of_ours}")
        most = max(most, ours.replications)
    return Found(place, Step.KNOWN if theirs.replications <= most else Step.TAKEN)
