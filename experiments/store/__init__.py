"""Stored results: a results file for each cell, in the folder of its instance."""

import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.cells import Cell
from experiments.config.compose import REPOSITORY
from experiments.config.plan import Plan, Request, folder
from experiments.errors import UserError
from experiments.leases import alone
from experiments.results_file import DamagedFileError, set_aside, unused, write_file
from experiments.store.index import Index, index_of_folders
from experiments.store.packs import file_of
from experiments.store.place import Place, damaged, files_in, places_in, trusted
from experiments.stored import Replications, Stored
from experiments.stored_cells import Cells
from experiments.whole_files import put

RUNS = REPOSITORY / "runs"  # of whoever works here
RESULTS = REPOSITORY / "results"  # published with the repository
LEASES = ".leases"  # of processes that work here
OF_COMMANDS = ("plan", "complete", "redraw", "strict", "accept")  # keys that say what is done, not what is asked for
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
        """Where results are if nothing is said."""
        return RUNS

    def check_writable(self) -> None:
        """Raise `UserError` now rather than after an hour of simulation."""
        with self.writing():
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Errors of the file system, said as what is wrong with `results_dir`."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UserError(
                f"results_dir={self.root}: cannot be written: {reason}; cells stored so far are safe"
            ) from error

    def path(self, cell: Cell) -> Path:
        """Where the replications of `cell` are written; packs are made of such files."""
        return self.root / f"{name_of(cell)}.parquet"

    def folders(self) -> list[Path]:
        """Where it reads, in the order in which one of two equal files is chosen."""
        return [self.root] if self.published in (None, self.root) else [self.published, self.root]

    def place(self, cell: Cell, replications: int) -> Place | None:
        """What to read for so many replications: the published ones if they are enough, else the most."""
        name, record = name_of(cell), cell.record
        found = [place for folder in self.folders() for place in held(folder, name, record)]
        if len(found) < 2:
            return found[0] if found else None
        counts = [min(place.replications(), replications) for place in found]
        return found[counts.index(max(counts))]

    def read(self, cell: Cell, replications: int = 1) -> Stored | None:
        """The stored replications of `cell`, all in the `place` to read, or None. Raises `DamagedFileError`."""
        place = self.place(cell, replications)
        return None if place is None else _read(place, cell)

    def write(self, stored: Stored) -> None:
        """Keep `stored`, unless as many replications or more of the cell are kept already: those of another process.

        What is there is read again first, so that two runs of a cell lose nothing, whichever ends last. Replications
        that both have must be the same to the bit; if not, both files are kept, and it is an error. Raises `UserError`.
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
        """How many replications `root` has of a cell now; none of what is damaged."""
        found = [0]
        for place in held(self.root, name_of(cell), cell.record):
            with suppress(DamagedFileError):  # a damaged file was set aside; of a pack only reading tells
                found.append(place.read().replications if place.is_packed else place.replications())
        return max(found)

    def adopt(self, place: Place) -> None:
        """Keep a cell of another folder, unless as many replications are kept already.

        Raises `UserError` if both have different numbers; a damaged file in its place is set aside.
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
        """What `root` has of the cell, the most; a damaged file is set aside."""
        found = []
        for place in held(self.root, name_of(cell), cell.record):
            try:
                found.append(_read(place, cell))
            except DamagedFileError:
                if not place.is_packed:
                    set_aside(place.file)
        return max(found, key=lambda stored: stored.replications, default=None)

    def index(self) -> Index:
        """Every cell that there is to read."""
        return index_of_folders([folder for folder in self.folders() if folder.is_dir()])

    def index_of(self, requests: Iterable[Request]) -> Index:
        """What there is to read for some requests, those that have something stored; as `place` chooses."""
        asked = {name_of(of.cell): (file_of(of.cell.record), of.replications) for of in requests}
        return index_of_folders(self.folders(), asked)

    def find(self, key: str) -> Place | None:
        """Where the cell with a key is stored. Raises `UserError` for a damaged pack, which may have it."""
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
    """The name of a cell in any folder of results."""
    return f"{cell.instance.name}/{cell.policy.name}-{cell.key}"


def held(folder: Path, name: str, record: str) -> list[Place]:
    """Where a folder has a cell, its own file first, as that is younger than the pack.

    A pack that cannot be read may have it.
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
    """Whether the replications that both have are the same to the bit."""
    both = min(known.replications, other.replications)
    return all(
        np.array_equal(values[:both], other.rows[name][:both], equal_nan=values.dtype.kind == "f")
        for name, values in known.rows.items()
    )


def stored_cells(asked: Plan) -> Cells:
    """The stored replications of every cell of a plan, as many as are asked for.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    return read_cells(asked, complete_places(asked))


def read_cells(asked: Plan, places: Iterable[Place]) -> Cells:
    """As `stored_cells`, from the `complete_places` of the plan. Raises `UserError` for a damaged one."""
    found = []
    for request, place in zip(asked.requests, places, strict=True):
        contents = trusted(place).first(request.replications)
        found.append(Stored(contents.rows, contents.footer, request.cell))
    return Cells(found)


def complete_places(asked: Plan) -> list[Place]:
    """Where every cell of a plan is stored, all replications of it. Raises `NotStoredError`."""
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
