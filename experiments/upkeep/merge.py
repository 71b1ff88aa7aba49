"""Two folders of results, cell by cell: what differs, and what one may take from the other, bit by bit the same."""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from experiments.store import Store, places_of_cell
from experiments.store.place import Place, look
from experiments.store.results_file import DamagedFileError
from experiments.store.stored import Replications, agree


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


def compared(store: Store, other: Path) -> Iterator[Found]:
    """Read every cell of `other` completely and compare it with what `store` has; nothing is written."""
    copies, damaged = look([other])
    for file, reason in damaged.items():
        yield Found(None, Step.REFUSED, f"{file}: damaged: {reason}")
    for place, _ in copies:
        try:
            yield _compared(store, place, place.read())
        except DamagedFileError as damage:
            yield Found(place, Step.REFUSED, f"{place}: damaged: {damage}")


def _compared(store: Store, place: Place, theirs: Replications) -> Found:
    most = 0
    for of_ours in (ours for folder in store.folders() for ours in places_of_cell(folder, place.name, theirs.record)):
        try:
            ours = of_ours.read()
        except DamagedFileError:
            continue  # a damaged results file is set aside when theirs is taken
        if ours.footer["columns"] != theirs.footer["columns"] or not agree(ours, theirs):
            return Found(place, Step.REFUSED, f"{place}: has other numbers than {of_ours}")
        most = max(most, ours.replications)
    return Found(place, Step.KNOWN if theirs.replications <= most else Step.TAKEN)


OF_FORMAT = ("format", "rows")  # keys of a footer that are about the file, not the cell


def differing_cells(folder: Path, other: Path) -> Iterator[str]:
    """A line for each cell that is in only one of the folders, or differs, in the order of names."""
    here, there = _places(folder), _places(other)
    for name in sorted(here.keys() | there.keys()):
        if name not in there or name not in here:
            yield f"{name}: only in {folder if name in here else other}"
        elif problem := _difference(here[name], there[name]):
            yield f"{name}: {problem}"


def _places(folder: Path) -> dict[str, Place]:
    return {copy.place.name: copy.place for copy in look([folder]).sound()}


def _difference(here: Place, there: Place) -> str | None:
    """How the cell in two places differs, None if it does not."""
    lines = []
    for place in (here, there):
        try:
            lines.append(place.read())
        except DamagedFileError as damage:
            return f"{place}: damaged: {damage}"
    ours, theirs = lines
    if not agree(ours, theirs):
        return "other numbers"
    if ours.replications != theirs.replications:
        return f"{ours.replications} replications, and {theirs.replications}"
    before, now = ({key: value for key, value in stored.footer.items() if key not in OF_FORMAT} for stored in lines)
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    return f"the same numbers, with another {', '.join(keys)}" if keys else None
