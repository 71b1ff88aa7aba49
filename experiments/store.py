"""Stored results: a results file for each cell, in the folder of its instance."""

import fcntl
import hashlib
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.cells import Cell
from experiments.config.compose import REPOSITORY
from experiments.config.plan import Plan, folder
from experiments.errors import UserError
from experiments.results_file import DamagedFileError, read_file, read_footer, set_aside, trusted, unused, write_file
from experiments.stored import Stored

RESULTS = REPOSITORY / "results"
LOCK = ".lock"


class NotStoredError(UserError):
    """An experiment is not completely stored; the message has the command that completes it."""


@dataclass(frozen=True)
class Store:
    """The results under `root`: `<instance>/<policy>-<key>.parquet`."""

    root: Path

    def check_writable(self) -> None:
        """Raise `UserError` now rather than after an hour of simulation."""
        with self._writing():
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Errors of the file system, said as what is wrong with `results_dir`."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise UserError(
                f"results_dir={self.root}: cannot be written: {reason}; cells stored so far are safe"
            ) from error

    def path(self, cell: Cell) -> Path:
        return self.root / cell.instance.name / f"{cell.policy.name}-{cell.key}.parquet"

    def read(self, cell: Cell) -> Stored | None:
        """The stored replications of `cell`, or None. Raises `DamagedFileError`."""
        path = self.path(cell)
        if not path.exists():
            return None
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
        with self._writing(), self._alone():
            known = self._known(stored.cell)
            if known is not None and not _agree(known, stored):
                other = unused(path, "conflict")
                write_file(other, stored)
                raise UserError(
                    f"{path}: two runs of this cell have different numbers; the second is kept as {other.name}. Raise "
                    "the revision of the policy or instance that was changed, then remove both files"
                )
            if known is None or known.replications < stored.replications:
                write_file(path, stored)

    def _known(self, cell: Cell) -> Stored | None:
        """What is stored of the cell; a damaged file is set aside."""
        try:
            return self.read(cell)
        except DamagedFileError:
            set_aside(self.path(cell))
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process on this machine writes here meanwhile, where the file system has locks."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / LOCK).open("w") as lock:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def files(self, policy: str = "*") -> Iterator[Path]:
        """Every results file, or those of a policy, in the order of names."""
        return iter(sorted(self.root.glob(f"*/{policy}-*.parquet")))


def _agree(known: Stored, other: Stored) -> bool:
    """Whether the replications that both have are the same to the bit."""
    both = min(known.replications, other.replications)
    return all(
        np.array_equal(values[:both], other.rows[name][:both], equal_nan=values.dtype.kind == "f")
        for name, values in known.rows.items()
    )


def changed_source(stored: Stored) -> bool:
    """Whether a policy from outside this repository was edited since, under the same revision."""
    return not _ours(stored.cell) and stored.footer["source"] != source_of(stored.cell)


def source_of(cell: Cell) -> str | None:
    """A hash of the file that defines the policy, if it is not one of this repository."""
    if _ours(cell):
        return None
    module = sys.modules.get(type(cell.policy).__module__)
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None


def _ours(cell: Cell) -> bool:
    return type(cell.policy).__module__.partition(".")[0] == "bandits"


def stored_cells(asked: Plan) -> list[Stored]:
    """The stored replications of every cell of a plan, as many as are asked for.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    found = []
    for request, path in zip(asked.requests, complete_files(asked), strict=True):
        contents = trusted(read_file, path).first(request.replications)
        found.append(Stored(contents.rows, contents.footer, request.cell))
    return found


def complete_files(asked: Plan) -> list[Path]:
    """The file of every cell of a plan, all replications in it. Raises `NotStoredError`."""
    store = Store(asked.results)
    paths = [store.path(request.cell) for request in asked.requests]
    missing = sum(
        not path.exists() or trusted(read_footer, path)["runs"][-1]["replications"][1] < request.replications
        for request, path in zip(asked.requests, paths, strict=True)
    )
    if missing:
        planned = folder(asked.config, "results_dir")
        elsewhere = [] if asked.results == planned else [f"results_dir={asked.results}"]
        places = [word for folder in asked.composer.config_dirs for word in ("--config-dir", str(folder))]
        words = dict.fromkeys(["python", "-m", "experiments.run", *places, *asked.overrides, *elsewhere])
        raise NotStoredError(f"{missing} of {len(paths)} cells are not stored yet; run: {shlex.join(words)}")
    return paths
