"""Stored results: a results file for each cell, in the folder of its instance."""

import shlex
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.cells import Cell
from experiments.config.compose import REPOSITORY
from experiments.config.plan import Plan, Request, folder
from experiments.errors import UserError
from experiments.leases import alone
from experiments.results_file import (
    FILE,
    DamagedFileError,
    read_file,
    read_footer,
    set_aside,
    trusted,
    unused,
    write_file,
)
from experiments.store.index import Index, index_of_folders, name_of
from experiments.stored import Contents, Stored
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
    """Results under `root`: `<instance>/<policy>-<key>.parquet`; those under `published` are read, never written."""

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
        return self.root / self.name(cell)

    def name(self, cell: Cell) -> str:
        """The name of a cell's file in any folder of results."""
        return f"{cell.instance.name}/{cell.policy.name}-{cell.key}.parquet"

    def file(self, cell: Cell, replications: int) -> Path | None:
        """What to read for so many replications: the published file if it has them, else the one with the most."""
        name = self.name(cell)
        paths = [place / name for place in self.folders() if (place / name).exists()]
        if len(paths) < 2 or _replications(paths[0]) >= replications:
            return paths[0] if paths else None
        return max(paths, key=_replications)

    def folders(self) -> list[Path]:
        """Where it reads, in the order in which one of two equal files is chosen."""
        return [self.root] if self.published in (None, self.root) else [self.published, self.root]

    def read(self, cell: Cell, replications: int = 1) -> Stored | None:
        """The stored replications of `cell`, all in the `file` to read, or None. Raises `DamagedFileError`."""
        path = self.file(cell, replications)
        return None if path is None else self._read(path, cell)

    def _read(self, path: Path, cell: Cell) -> Stored:
        contents = read_file(path)
        if "t" in contents.rows and not np.array_equal(contents.t, cell.checkpoints):
            raise DamagedFileError("its checkpoints are not those of the cell")
        return Stored(contents.rows, contents.footer, cell)

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
        """How many replications `root` has of a cell now; none of a damaged file."""
        path = self.path(cell)
        return _replications(path) if path.exists() else 0

    def adopt(self, file: Path, name: str) -> None:
        """Keep a sound results file of another folder under its `name`, unless as many replications are kept already.

        Raises `UserError` if both have different numbers; a damaged file in its place is set aside.
        """
        path = self.root / name
        with self.writing(), alone(self.root / LEASES, f"{path.stem.rpartition('-')[2]}-write"):
            theirs = trusted(read_file, file)
            try:
                ours = read_file(path) if path.exists() else None
            except DamagedFileError:
                ours = None
                set_aside(path)
            if ours is not None and not agree(ours, theirs):
                raise UserError(f"{file}: has other numbers than {path}")
            if ours is None or ours.replications < theirs.replications:
                put(path, file.read_bytes())

    def _known(self, cell: Cell) -> Stored | None:
        """What `root` has of the cell; a damaged file is set aside."""
        path = self.path(cell)
        try:
            return self._read(path, cell) if path.exists() else None
        except DamagedFileError:
            set_aside(path)
            return None

    def index(self) -> Index:
        """Every results file that there is to read, one for each cell."""
        return index_of_folders([place for place in self.folders() if place.is_dir()])

    def index_of(self, requests: Iterable[Request]) -> Index:
        """What there is to read for some requests, those that have a file; as `file` chooses."""
        return index_of_folders(self.folders(), {self.name(of.cell): of.replications for of in requests})

    def files(self, policy: str = "*") -> Iterator[Path]:
        """Every results file, or those of a policy, in the order of names; of two for one cell that to read.

        Files with other names are not ours to read.
        """
        found: dict[Path, list[Path]] = {}
        for place in self.folders():
            for path in place.glob(f"*/{policy}-*.parquet"):
                if FILE.fullmatch(path.name):
                    found.setdefault(path.relative_to(place), []).append(path)
        return (max(paths, key=_replications) if len(paths) > 1 else paths[0] for _, paths in sorted(found.items()))


def _replications(path: Path) -> int:
    """How many replications a file has; none if it is damaged."""
    try:
        return int(read_footer(path)["runs"][-1]["replications"][1])
    except DamagedFileError:
        return 0


def agree(known: Contents, other: Contents) -> bool:
    """Whether the replications that both have are the same to the bit."""
    both = min(known.replications, other.replications)
    return all(
        np.array_equal(values[:both], other.rows[name][:both], equal_nan=values.dtype.kind == "f")
        for name, values in known.rows.items()
    )


def stored_cells(asked: Plan) -> list[Stored]:
    """The stored replications of every cell of a plan, as many as are asked for.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    return read_cells(asked, complete_files(asked))


def read_cells(asked: Plan, files: Iterable[Path]) -> list[Stored]:
    """As `stored_cells`, from the `complete_files` of the plan. Raises `UserError` for a damaged one."""
    found = []
    for request, path in zip(asked.requests, files, strict=True):
        contents = trusted(read_file, path).first(request.replications)
        found.append(Stored(contents.rows, contents.footer, request.cell))
    return found


def complete_files(asked: Plan) -> list[Path]:
    """The file of every cell of a plan, all replications in it. Raises `NotStoredError`."""
    store = Store.of(asked)
    wanted = {store.name(request.cell): request.replications for request in asked.requests}
    index = store.index_of(asked.requests).sound()
    held = zip(map(name_of, index.files), index.files, index.replications, strict=True)
    complete = {name: Path(file) for name, file, replications in held if replications >= wanted[name]}
    missing = len(wanted) - len(complete)
    if missing:
        planned = folder(asked.config, "results_dir")
        elsewhere = [] if asked.results == planned else [f"results_dir={asked.results}"]
        places = [word for folder in asked.composer.config_dirs for word in ("--config-dir", str(folder))]
        asks = [text for text in asked.overrides if text.partition("=")[0] not in OF_COMMANDS]
        words = dict.fromkeys(["python", "-m", "experiments.run", *places, *asks, *elsewhere])
        raise NotStoredError(f"{missing} of {len(wanted)} cells are not stored yet; run: {shlex.join(words)}")
    return [complete[name] for name in wanted]
