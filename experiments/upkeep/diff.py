"""Differences between two folders of results, cell by cell, in packs or in results files."""

from collections.abc import Iterator
from pathlib import Path

from experiments.store import agree
from experiments.store.index import index_of_folders
from experiments.store.place import Place
from experiments.store.results_file import DamagedFileError

OF_FORMAT = ("format", "rows")  # keys of a footer that are about the file, not the cell


def differences(folder: Path, other: Path) -> Iterator[str]:
    """A line for each cell that is in only one of the folders, or differs, in the order of names."""
    here, there = _places(folder), _places(other)
    for name in sorted(here.keys() | there.keys()):
        if name not in there or name not in here:
            yield f"{name}: only in {folder if name in here else other}"
        elif problem := _difference(here[name], there[name]):
            yield f"{name}: {problem}"


def _places(folder: Path) -> dict[str, Place]:
    return {place.name: place for place in index_of_folders([folder]).sound().places}


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
