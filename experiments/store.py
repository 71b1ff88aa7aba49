"""Stored results: one parquet file per cell, one row per replication, nothing half-written."""

import hashlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.cells import KINDS, Cell
from experiments.cells.regret import RegretCell
from experiments.config.compose import REPOSITORY
from experiments.config.plan import Plan
from experiments.errors import UserError
from experiments.stored import Contents, Stored

FORMAT = 1
FOOTER = b"private-bandits"


RESULTS = REPOSITORY / "results"
Read = TypeVar("Read")


class DamagedFileError(Exception):
    """A results file that cannot be trusted; the message says why."""


class NotStoredError(UserError):
    """An experiment is not completely stored; the message has the command that completes it."""


def schema_of(kind: type[Cell]) -> pa.Schema:
    """The columns of a results file; a value that does not exist, as the estimate of an expired rule, is null."""
    fields = [pa.field(name, of, nullable=name in kind.optional) for name, of in kind.fields.items()]
    return pa.schema([pa.field("replication", pa.int32(), nullable=False), *fields])


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

    def write(self, stored: Stored) -> Path:
        """Keep `stored` as all that is known of its cell, in one step: a reader sees the old file or the new."""
        path = self.path(stored.cell)
        kind = type(stored.cell)
        columns = {"replication": np.arange(stored.replications, dtype=np.int32), **stored.rows}
        schema = schema_of(kind)
        arrays = [
            pa.array(list(columns[field.name]), field.type, from_pandas=field.nullable)  # a NaN is stored as null
            for field in schema
        ]
        table = pa.table(arrays, schema=schema.with_metadata({FOOTER: json.dumps(stored.footer)}))
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
                        use_dictionary=["replication", *(["t.list.element"] if "t" in kind.fields else [])],
                        use_byte_stream_split=["regret.list.element"] if "regret" in kind.fields else [],
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

    def files(self, policy: str = "*") -> Iterator[Path]:
        """Every results file, or those of a policy, in the order of names."""
        return iter(sorted(self.root.glob(f"*/{policy}-*.parquet")))


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


def read_footer(path: Path) -> dict[str, Any]:
    """The footer of a results file. Raises `DamagedFileError` if it cannot belong to a file of this name."""
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(f"not a readable parquet file ({_first_line(error)})") from error
    try:
        footer: dict[str, Any] = json.loads((schema.metadata or {})[FOOTER])
        version, key, kind = footer["format"], footer["key"], KINDS[footer.get("record", RegretCell.record)]
    except (KeyError, ValueError) as error:
        raise DamagedFileError("it has no footer of this project") from error
    if version != FORMAT:
        raise DamagedFileError(f"it has format {version}, not {FORMAT}")
    if not schema.equals(schema_of(kind)):
        raise DamagedFileError("its columns are not those of a results file")
    if path.stem != f"{footer['columns']['policy']}-{key}":
        raise DamagedFileError(f"it holds the cell {key} of {footer['columns']['policy']}, not what its name says")
    return footer


def read_file(path: Path) -> Contents:
    """A whole results file. Raises `DamagedFileError`."""
    footer = read_footer(path)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(f"its data cannot be read ({_first_line(error)})") from error
    kind = KINDS[footer.get("record", RegretCell.record)]
    try:
        rows = {name: _values(table.column(name)) for name in kind.fields}
    except ValueError as error:
        raise DamagedFileError("its rows differ in length") from error
    if table.num_rows == 0 or not np.array_equal(table.column("replication").to_numpy(), np.arange(table.num_rows)):
        raise DamagedFileError("its replications are not 0, 1, ...")
    try:
        kind.check(rows, footer)
    except ValueError as error:
        raise DamagedFileError(str(error)) from None
    return Contents(rows, footer)


def _values(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column as an array, lists along the second axis, null as NaN. Raises `ValueError` for lists that differ."""
    values = column.combine_chunks()
    if pa.types.is_list(values.type):
        return cast(NDArray[Any], values.flatten().to_numpy().reshape(len(values), -1))
    return cast(NDArray[Any], values.to_numpy(zero_copy_only=False))


def set_aside(path: Path) -> Path:
    """Rename a damaged file so that nothing reads it and nothing is lost; its new path."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.name}.damaged{number}")
        if not aside.exists():
            return path.rename(aside)
    raise FileExistsError(f"{path}: set aside 999 times already")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def stored_cells(asked: Plan, store: Store) -> list[Stored]:
    """The stored replications of every cell of a plan, as many as are asked for.

    Raises `UserError`, with the command that completes them, when some are not stored.
    """
    found = []
    for request, path in zip(asked.requests, complete_files(asked, store), strict=True):
        contents = trusted(read_file, path).first(request.replications)
        found.append(Stored(contents.rows, contents.footer, request.cell))
    return found


def complete_files(asked: Plan, store: Store) -> list[Path]:
    """The file of every cell of a plan, all replications in it. Raises `NotStoredError`."""
    paths = [store.path(request.cell) for request in asked.requests]
    missing = sum(
        not path.exists() or trusted(read_footer, path)["runs"][-1]["replications"][1] < request.replications
        for request, path in zip(asked.requests, paths, strict=True)
    )
    if missing:
        elsewhere = [] if store.root.resolve() == RESULTS else [f"results_dir={store.root}"]
        places = [word for folder in asked.composer.config_dirs for word in ("--config-dir", str(folder))]
        words = dict.fromkeys(["python", "-m", "experiments.run", *places, *asked.overrides, *elsewhere])
        raise NotStoredError(f"{missing} of {len(paths)} cells are not stored yet; run: {shlex.join(words)}")
    return paths


def trusted(read: Callable[[Path], Read], path: Path) -> Read:
    """What `read` makes of a results file. Raises `UserError` for a damaged one."""
    try:
        return read(path)
    except DamagedFileError as damage:
        raise UserError(
            f"{path}: damaged: {damage}; the run that made it sets it aside and computes it again"
        ) from None
