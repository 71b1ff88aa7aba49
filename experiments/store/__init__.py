"""Stored results: a results file for each cell, in the folder of its instance."""

import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.cells import Cell
from experiments.cells.weighted import weighted_of
from experiments.config.compose import REPOSITORY
from experiments.config.plan import Plan, Request, folder
from experiments.errors import UserError
from experiments.store.index import Index, index_of_folders
from experiments.store.leases import alone
from experiments.store.packs import file_of
from experiments.store.place import Place, damaged, files_in, places_in, read_each, trusted
from experiments.store.results_file import DamagedFileError, set_aside, unused, write_file
from experiments.store.stored import Replications, Stored
from experiments.store.stored_cells import Cells
from experiments.whole_files import put

RUNS = REPOSITORY / "runs"  # results of the user
RESULTS = REPOSITORY / "results"  # published with the repository
LEASES = ".leases"  # folder of the leases of running processes
OF_COMMANDS = ("plan", "complete", "redraw", "strict", "accept")  # keys of the command, not of the experiment
CODE = "code"  # column of cells with classes from outside this repository: a digest of their source


class NotStoredError(UserError):
    """An experiment is not completely stored; the message has the command that completes it."""


@dataclass(frozen=True)
class Store:
    """Results under `root`: `<instance>/<policy>-<key>.parquet`, or in packs; those under `published` are only read."""

    root: Path
    published: Path | None = None

    @classmethod
    def of(cls, asked: Plan) -> "Store":
        """Where the cells of a plan are stored."""
        return cls(asked.results, asked.published)

    @staticmethod
    def default() -> Path:
        """The default folder of results."""
        return RUNS

    def check_writable(self) -> None:
        """Check that results can be written, before anything is simulated. Raises `UserError`."""
        with self.writing():
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn an `OSError` into a `UserError` that names `results_dir`."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UserError(
                f"results_dir={self.root}: cannot be written: {reason}; cells stored so far are safe"
            ) from error

    def path(self, cell: Cell) -> Path:
        """The results file to which the replications of `cell` are written; packs are made of such files."""
        return self.root / f"{name_of(cell)}.parquet"

    def folders(self) -> list[Path]:
        """The folders that are read; of two places with equally many replications the one in the first is read."""
        return [self.root] if self.published in (None, self.root) else [self.published, self.root]

    def place(self, cell: Cell, replications: int) -> Place | None:
        """Where to read `replications` of `cell`: the first place that has enough, else the one that has most.

        None if the cell is not stored.
        """
        name, record = name_of(cell), cell.record
        found = [place for folder in self.folders() for place in held(folder, name, record)]
        if len(found) < 2:
            return found[0] if found else None
        counts = [min(place.replications(), replications) for place in found]
        return found[counts.index(max(counts))]

    def read(self, cell: Cell, replications: int = 1) -> Stored | None:
        """All replications in the `place` chosen for `cell`, None if it is not stored. Raises `DamagedFileError`."""
        place = self.place(cell, replications)
        return None if place is None else replace(_read(place, cell), weighted=self.weighted(cell))

    def weighted(self, cell: Cell) -> Stored | None:
        """The stored weighted runs on which the mean regret of `cell` rests, see `weighted_of`; None for none."""
        of = weighted_of(cell)
        return None if of is None else self.read(of)

    def write(self, stored: Stored) -> None:
        """Write `stored`, unless another process has written as many replications of the cell, or more.

        What is stored is read again first, so that two runs of a cell lose nothing, whichever ends last. Replications
        that both have must be the same bit by bit. Raises `UserError` if not, and then both files are kept.
        """
        path = self.path(stored.cell)
        with self.writing(), alone(self.root / LEASES, f"{stored.cell.key}-write"):
            known = self._known(stored.cell)
            if known is not None and not agree(known, stored):
                other = unused(path, "conflict")
                write_file(other, stored)
                raise UserError(
                    f"{path}: two runs of this cell have different numbers; the second is kept as {other.name}. Raise "
                    "the revision of the policy or instance that was changed, then remove both files"
                )
            if known is None or known.replications < stored.replications:
                write_file(path, stored)

    def replications(self, cell: Cell) -> int:
        """How many replications of a cell are stored in `root` now; damaged ones do not count."""
        found = [0]
        for place in held(self.root, name_of(cell), cell.record):
            with suppress(DamagedFileError):  # damaged files were set aside; a pack must be read to know
                found.append(place.read().replications if place.is_packed else place.replications())
        return max(found)

    def adopt(self, place: Place) -> None:
        """Copy a cell of another folder into `root`, unless as many replications are stored here already.

        A damaged file of the same cell in `root` is set aside. Raises `UserError` if the numbers differ.
        """
        path = self.root / f"{place.name}.parquet"
        with self.writing(), alone(self.root / LEASES, f"{place.key}-write"):
            theirs, ours = trusted(place), []
            for of_ours in held(self.root, place.name, theirs.record):
                try:
                    ours.append(of_ours.read())
                except DamagedFileError:
                    if not of_ours.is_packed:
                        set_aside(of_ours.file)
            if not all(agree(known, theirs) for known in ours):
                raise UserError(f"{place}: has other numbers than {path}")
            if theirs.replications > max((known.replications for known in ours), default=0):
                if place.is_packed:
                    write_file(path, theirs)
                else:
                    put(path, place.file.read_bytes())

    def _known(self, cell: Cell) -> Stored | None:
        """What is stored of the cell in `root`, from the place with most replications; a damaged file is set aside."""
        found = []
        for place in held(self.root, name_of(cell), cell.record):
            try:
                found.append(_read(place, cell))
            except DamagedFileError:
                if not place.is_packed:
                    set_aside(place.file)
        return max(found, key=lambda stored: stored.replications, default=None)

    def index(self) -> Index:
        """The index of every cell that is stored."""
        return index_of_folders([folder for folder in self.folders() if folder.is_dir()])

    def index_of(self, requests: Iterable[Request]) -> Index:
        """The index of the requested cells that are stored, each in the place that `place` would choose."""
        asked = {name_of(of.cell): (file_of(of.cell.record), of.replications) for of in requests}
        return index_of_folders(self.folders(), asked)

    def find(self, key: str) -> Place | None:
        """Where the cell with this key is stored, or None. Raises `UserError` for a damaged pack, which may have it."""
        for file in (file for place in self.folders() for file in files_in(place)):
            try:
                places = places_in(file)
            except DamagedFileError as damage:
                raise damaged(file, str(damage)) from None
            for found in places:
                if found.key == key:
                    return found
        return None


def name_of(cell: Cell) -> str:
    """The name of a cell, the same in every folder of results: INSTANCE/POLICY-KEY."""
    return f"{cell.instance.name}/{cell.policy.name}-{cell.key}"


def held(folder: Path, name: str, record: str) -> list[Place]:
    """The places of a cell in a folder: first its own file, which is newer than the pack, then the pack.

    A pack that cannot be read is included, as it may contain the cell.
    """
    own = Place(folder / f"{name}.parquet", name)
    in_pack = Place(own.file.with_name(file_of(record)), name)
    return [place for place in (own, in_pack) if place.exists()]


def _read(place: Place, cell: Cell) -> Stored:
    contents = place.read()
    if "t" in contents.rows and not np.array_equal(contents.t, cell.checkpoints):
        raise DamagedFileError("its checkpoints are not those of the cell")
    return Stored(contents.rows, contents.footer, cell)


def agree(known: Replications, other: Replications) -> bool:
    """Whether the replications that both have are the same bit by bit."""
    both = min(known.replications, other.replications)
    return all(
        np.array_equal(values[:both], other.rows[name][:both], equal_nan=values.dtype.kind == "f")
        for name, values in known.rows.items()
    )


def stored_cells(asked: Plan) -> Cells:
    """The stored cells of a plan, each with as many replications as the plan asks for.

    Raises `NotStoredError`, with the command that completes them, if some are not stored; `UserError` for a damaged
    file.
    """
    return read_cells(asked, complete_places(asked))


def read_cells(asked: Plan, places: Iterable[Place]) -> Cells:
    """As `stored_cells`, from the `complete_places` of the plan. Raises `UserError` for a damaged place."""
    store, found = Store.of(asked), []
    for request, contents in zip(asked.requests, read_each(places), strict=True):
        kept = contents.first(request.replications)
        found.append(Stored(kept.rows, kept.footer, request.cell, weighted=store.weighted(request.cell)))
    return Cells(found)


def complete_places(asked: Plan) -> list[Place]:
    """The place of every cell of a plan, with all replications that the plan asks for, in its order.

    Raises `NotStoredError` if some are not stored, `UserError` for a damaged file.
    """
    wanted = {name_of(request.cell): request.replications for request in asked.requests}
    index = Store.of(asked).index_of(asked.requests).sound()
    held = zip(index.places, index.replications, strict=True)
    complete = {place.name: place for place, replications in held if replications >= wanted[place.name]}
    missing = len(wanted) - len(complete)
    if missing:
        planned = folder(asked.config, "results_dir")
        elsewhere = [] if asked.results == planned else [f"results_dir={asked.results}"]
        places = [word for folder in asked.composer.config_dirs for word in ("--config-dir", str(folder))]
        asks = [text for text in asked.overrides if text.partition("=")[0] not in OF_COMMANDS]
        words = dict.fromkeys(["python", "-m", "experiments.run", *places, *asks, *elsewhere])
        raise NotStoredError(f"{missing} of {len(wanted)} cells are not stored yet; run: {shlex.join(words)}")
    return [complete[name] for name in wanted]
