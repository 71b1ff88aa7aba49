"""Stored results: one parquet file per cell, one row per replication, nothing half-written."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bandits.types import FloatArray, IntArray
from experiments.errors import UserError
from experiments.plan import Cell

FORMAT = 1
SCHEMA = pa.schema(
    [
        pa.field("replication", pa.int32(), nullable=False),
        pa.field("t", pa.list_(pa.int64()), nullable=False),  # checkpoints
        pa.field("regret", pa.list_(pa.float64()), nullable=False),  # pseudo-regret at each checkpoint
        pa.field("pulls", pa.list_(pa.int64()), nullable=False),  # final pulls of every arm
    ]
)
FOOTER = b"private-bandits"


class DamagedFileError(Exception):
    """A results file that cannot be trusted; the message says why."""


@dataclass(frozen=True)
class Result:
    """What is known of a cell: replications 0, 1, ... in this order.

    Attributes
    ----------
    t: checkpoints, shape (checkpoints,).
    regret: pseudo-regret, shape (replications, checkpoints).
    pulls: final pulls, shape (replications, arms).
    footer: who this is and how it came about, see `Store.write`.
    """

    t: IntArray
    regret: FloatArray
    pulls: IntArray
    footer: dict[str, Any]

    @property
    def replications(self) -> int:
        return len(self.regret)

    def first(self, replications: int | None) -> "Result":
        """The first so many replications, or all."""
        return replace(self, regret=self.regret[:replications], pulls=self.pulls[:replications])

    @property
    def seconds(self) -> float:
        """Simulation time of all replications, summed."""
        return float(sum(run["seconds"] for run in self.footer["runs"]))


@dataclass(frozen=True)
class Store:
    """The results under `root`: `<instance>/<policy>-<key>.parquet`."""

    root: Path

    def changed_source(self, cell: Cell, stored: Result) -> bool:
        """Whether a policy from outside this repository was edited since, under the same revision."""
        return not _ours(cell) and stored.footer["source"] != source_of(cell)

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

    def read(self, cell: Cell) -> Result | None:
        """The stored replications of `cell`, or None. Raises `DamagedFileError`."""
        path = self.path(cell)
        if not path.exists():
            return None
        result = read_file(path)
        if not np.array_equal(result.t, cell.checkpoints) or result.pulls.shape[1] != cell.arms:
            raise DamagedFileError("its checkpoints or arms are not those of the cell")
        return result

    def write(self, cell: Cell, result: Result) -> Path:
        """Store `result` as all that is known of `cell`, in one step: a reader sees the old file or the new."""
        path = self.path(cell)
        table = pa.table(
            {
                "replication": np.arange(result.replications, dtype=np.int32),
                "t": [result.t] * result.replications,
                "regret": list(result.regret),
                "pulls": list(result.pulls),
            },
            schema=SCHEMA.with_metadata({FOOTER: json.dumps(result.footer)}),
        )
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
            temporary = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    pq.write_table(
                        table,
                        file,
                        compression="zstd",
                        compression_level=12,
                        use_dictionary=["replication", "t.list.element"],
                        use_byte_stream_split=["regret.list.element"],
                        write_page_checksum=True,
                    )
                    file.flush()
                    os.fsync(file.fileno())
                temporary.chmod(0o644)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        return path

    def files(self) -> Iterator[Path]:
        """Every results file, in the order of names."""
        return iter(sorted(self.root.glob("*/*.parquet")))


def source_of(cell: Cell) -> str | None:
    """A hash of the file that defines the policy, if it is not one of this repository."""
    if _ours(cell):
        return None
    module = sys.modules.get(type(cell.policy).__module__)
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None


def _ours(cell: Cell) -> bool:
    return type(cell.policy).__module__.partition(".")[0] == "bandits"


def read_footer(path: Path) -> dict[str, Any]:
    """The footer of a results file. Raises `DamagedFileError` if it cannot belong to a file of this name."""
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(f"not a readable parquet file ({_first_line(error)})") from error
    if not schema.equals(SCHEMA):
        raise DamagedFileError("its columns are not those of a results file")
    try:
        footer: dict[str, Any] = json.loads((schema.metadata or {})[FOOTER])
        version, key = footer["format"], footer["key"]
    except (KeyError, ValueError) as error:
        raise DamagedFileError("it has no footer of this project") from error
    if version != FORMAT:
        raise DamagedFileError(f"it has format {version}, not {FORMAT}")
    if path.stem != f"{footer['columns']['policy']}-{key}":
        raise DamagedFileError(f"it holds the cell {key} of {footer['columns']['policy']}, not what its name says")
    return footer


def read_file(path: Path) -> Result:
    """A whole results file. Raises `DamagedFileError`."""
    footer = read_footer(path)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(f"its data cannot be read ({_first_line(error)})") from error
    rows = table.num_rows
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    try:
        t, regret, pulls = (columns[name].flatten().to_numpy().reshape(rows, -1) for name in ("t", "regret", "pulls"))
    except ValueError as error:
        raise DamagedFileError("its rows differ in length") from error
    in_order = np.array_equal(columns["replication"].to_numpy(), np.arange(rows))
    if rows == 0 or not in_order or (t != t[0]).any() or t.shape != regret.shape:
        raise DamagedFileError("its replications are not 0, 1, ..., each at the same checkpoints")
    if (pulls.sum(axis=1) != footer["columns"]["horizon"]).any():
        raise DamagedFileError("its pulls do not add up to the horizon")
    return Result(t[0], regret, pulls, footer)


def set_aside(path: Path) -> Path:
    """Rename a damaged file so that nothing reads it and nothing is lost; its new path."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.damaged{number}")
        if not aside.exists():
            return path.rename(aside)
    raise FileExistsError(f"{path}: set aside 999 times already")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
