"""An index of the cells in folders of results, which a cache makes fast to read.

The cache is the file `.index` in a folder. What it says of a file is used only if the name, size and modification time
of the file are still the same. It only decides which cells are read: the numbers of a table always come from the
results files. If the cache is damaged, or cannot be written, only time is lost. Each process that writes it replaces it
in one step.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bandits.arrays import FloatArray, IntArray
from experiments.cells.regret import RegretCell
from experiments.store.packs import SETTLED, is_pack
from experiments.store.place import Place, damaged, is_ours, places_in
from experiments.store.results_file import DamagedFileError
from experiments.whole_files import put

CACHE = ".index"
VERSION = b"3"
OWN = {
    "file": pa.string(),
    "name": pa.string(),
    "size": pa.int64(),
    "changed": pa.int64(),
    "bytes": pa.int64(),
    "replications": pa.int64(),
    "seconds": pa.float64(),
}
CELL = "cell."  # prefix of the other columns: values are JSON, dictionary-encoded
Status = tuple[int, int]  # of a file: its size in bytes, and its modification time in nanoseconds


class Coded(NamedTuple):
    """A dictionary-encoded column: for each cell the position of its value in `values`, -1 if it has none."""

    codes: IntArray
    values: list[Any]

    def where(self, fits: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Which cells have a value that `fits`, as a mask; cells without a value count as None."""
        return np.array([*map(fits, self.values), fits(None)])[self.codes]

    def distinct(self) -> list[Any]:
        """The values that occur, with None if some cell has none."""
        return [self.values[code] if code >= 0 else None for code in np.unique(self.codes)]


@dataclass(frozen=True)
class Index:
    """Stored cells and their columns, of which `record` is always one.

    Attributes
    ----------
    files: the path of the results file or pack of each cell, as text.
    names: INSTANCE/POLICY-KEY of each cell.
    sizes, replications: of each cell, shape (cells,); sizes in bytes.
    seconds: of a typical replication of each cell, NaN if unknown, shape (cells,).
    columns: the values of `Cell.columns`, by name of the column.
    damaged: the files that could not be read, and why.
    """

    files: list[str]
    names: list[str]
    sizes: IntArray
    replications: IntArray
    seconds: FloatArray
    columns: dict[str, Coded]
    damaged: dict[str, str]

    @property
    def places(self) -> list[Place]:
        """Where each cell is stored."""
        paths = {file: Path(file) for file in set(self.files)}
        return [Place(paths[file], name) for file, name in zip(self.files, self.names, strict=True)]

    def column(self, name: str) -> Coded:
        """A column; without any value if no cell has it."""
        return self.columns.get(name) or Coded(np.full(len(self.files), -1), [])

    def cell(self, row: int) -> dict[str, Any]:
        """The columns that one cell has, with their values."""
        return {name: of.values[of.codes[row]] for name, of in self.columns.items() if of.codes[row] >= 0}

    def only(self, wanted: NDArray[np.bool_]) -> "Index":
        """The index of the cells where `wanted` is true; a mask, shape (cells,)."""
        columns = {name: Coded(of.codes[wanted], of.values) for name, of in self.columns.items()}
        present = {name: of for name, of in columns.items() if (of.codes >= 0).any()}
        rows = np.flatnonzero(wanted)
        files, names = [self.files[row] for row in rows], [self.names[row] for row in rows]
        sizes, replications, seconds = self.sizes[wanted], self.replications[wanted], self.seconds[wanted]
        return Index(files, names, sizes, replications, seconds, present, self.damaged)

    def sound(self) -> "Index":
        """This index, if no file is damaged. Raises `UserError`, which names a damaged file."""
        for file, reason in sorted(self.damaged.items()):
            raise damaged(file, reason)
        return self


def index_of_places(places: Sequence[Place]) -> Index:
    """The index of the cells at `places`, in this order."""
    files: dict[Path, set[str]] = {}
    for place in places:
        files.setdefault(place.file.parents[1], set()).add("/".join(place.file.parts[-2:]))
    table, unread = _of_folders({folder: _statuses(folder, of_folder) for folder, of_folder in files.items()})
    rows = {cell: row for row, cell in enumerate(_pairs(table, "file", "name"))}
    asked = [(str(place.file), place.name) for place in places]
    return _index(table.take(pa.array([rows[cell] for cell in asked if cell in rows], pa.int64())), unread)


def index_of_folders(folders: Sequence[Path], asked: Mapping[str, tuple[str, int]] | None = None) -> Index:
    """The index of all cells in some folders, or of those in `asked`, in the order of their names.

    If a cell is in several places, that with most replications is chosen, where more than are asked for do not count;
    of equal ones the first, and in one folder a results file before a pack. Files of other programs are not read.

    Parameters
    ----------
    asked: by name of a cell, the pack that it may be in, and how many replications are asked for.
    """
    if asked is None:
        scans = {folder: _scan(folder) for folder in folders}
    else:
        files = dict.fromkeys(file for name, (pack, _) in asked.items() for file in _files_of(name, pack))
        scans = {folder: _statuses(folder, files) for folder in folders}
    table, unread = _of_folders(scans)
    best: dict[str, tuple[float, int]] = {}
    for row, (name, replications) in enumerate(_pairs(table, "name", "replications")):
        if asked is None or name in asked:
            of_use = min(replications, math.inf if asked is None else asked[name][1])
            if name not in best or of_use > best[name][0]:
                best[name] = of_use, row
    rows = [best[name][1] for name in sorted(best)]
    lacked = (
        None
        if asked is None
        else {file for name, (pack, _) in asked.items() if name not in best for file in _files_of(name, pack)}
    )
    missed = {}
    for file, reason in unread.items():
        inside = "/".join(file.rsplit("/", 2)[-2:])
        if inside in lacked if lacked is not None else inside.removesuffix(".parquet") not in best:
            missed[file] = reason
    return _index(table.take(pa.array(rows, pa.int64())), missed)


def _files_of(name: str, pack: str) -> tuple[str, str]:
    """The two files of a folder that may contain a cell: its own, and the pack."""
    return f"{name}.parquet", f"{name.partition('/')[0]}/{pack}"


def _index(table: pa.Table, unread: dict[str, str]) -> Index:
    sizes, replications, seconds = (table.column(name).to_numpy() for name in ("bytes", "replications", "seconds"))
    coded = {name.removeprefix(CELL): _coded(table.column(name)) for name in table.column_names if name not in OWN}
    columns = {name: of for name, of in coded.items() if (of.codes >= 0).any()}
    files, names = (table.column(name).to_pylist() for name in ("file", "name"))
    return Index(files, names, sizes, replications, seconds, columns, unread)


def _coded(column: pa.ChunkedArray) -> Coded:
    cells = column.unify_dictionaries().combine_chunks()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(codes, [json.loads(text) for text in cells.dictionary.to_pylist()])


def _of_folders(found: Mapping[Path, Mapping[str, Status]]) -> tuple[pa.Table, dict[str, str]]:
    """The cells in the files that were found in each folder, with full paths, and why some files are damaged."""
    tables: list[pa.Table] = []
    unread: dict[str, str] = {}
    for folder, files in found.items():
        table, reasons = _of_folder(folder, files)
        in_pack = pa.array([is_pack(file.rpartition("/")[2]) for (file,) in _pairs(table, "file")], pa.bool_())
        table = _joined([table.filter(pc.invert(in_pack)), table.filter(in_pack)])
        paths = [f"{folder}/{file}" for (file,) in _pairs(table, "file")]
        tables.append(table.set_column(0, "file", pa.array(paths, pa.string())))
        unread |= {f"{folder}/{file}": reason for file, reason in reasons.items()}
    return _joined(tables), unread


def _of_folder(folder: Path, found: Mapping[str, Status]) -> tuple[pa.Table, dict[str, str]]:
    """The cells in the `found` files of a folder, and why some files are damaged; brings the cache up to date.

    The cache keeps what it has of other files, as only some files may have been looked for.
    """
    settled = time.time_ns() - SETTLED
    cached = read_cache(folder / CACHE)
    asked = pc.is_in(cached.column("file"), value_set=pa.array(found, pa.string()))
    others, cached = cached.filter(pc.invert(asked)), cached.filter(asked)
    as_then = [found[file] == tuple(status) for file, *status in _pairs(cached, "file", "size", "changed")]
    known = cached.filter(pa.array(as_then, pa.bool_()))
    unchanged = set(known.column("file").to_pylist())
    new, unread = _read(folder, {file: status for file, status in found.items() if file not in unchanged})
    table = _joined([known, new])
    if len(new) or len(known) < len(cached):
        kept = _joined([others, table])
        write_cache(folder / CACHE, kept.filter(pc.less(kept.column("changed"), settled)))
    return table, unread


def _scan(folder: Path) -> dict[str, Status]:
    """The status of every results file and pack of a folder, by its path below the folder."""
    found = {}
    for group in os.scandir(folder):
        if group.is_dir():
            for file in os.scandir(group):
                if is_ours(file.name):
                    with suppress(FileNotFoundError):  # set aside meanwhile by a process that computes it again
                        found[f"{group.name}/{file.name}"] = _status(file.stat())
    return found


def _statuses(folder: Path, files: Iterable[str]) -> dict[str, Status]:
    """The status of those of `files` that exist in a folder."""
    found = {}
    for name in files:
        with suppress(FileNotFoundError, NotADirectoryError):
            found[name] = _status((folder / name).stat())
    return found


def _status(of: os.stat_result) -> Status:
    return of.st_size, of.st_mtime_ns


def _read(folder: Path, files: Mapping[str, Status]) -> tuple[pa.Table, dict[str, str]]:
    """The rows of the index for the cells in some files, and why some files are damaged."""
    rows: dict[str, list[Any]] = {name: [] for name in OWN}
    cells: list[dict[str, Any]] = []
    unread = {}
    for file, (size, changed) in files.items():
        try:
            places = places_in(folder / file)
            held = [(of.name, of.footer(), of.size() if of.is_packed else size) for of in places]
        except DamagedFileError as damage:
            unread[file] = str(damage)
            continue
        for name, footer, taken in held:
            last = footer["runs"][-1]
            own = (file, name, size, changed, taken, last["replications"][1], _seconds(last))
            for column, value in zip(OWN, own, strict=True):
                rows[column].append(value)
            cells.append({"record": RegretCell.record, **footer["columns"]})
    columns = {name: pa.array(rows[name], of) for name, of in OWN.items()}
    for name in dict.fromkeys(name for cell in cells for name in cell):
        texts = [json.dumps(cell[name]) if name in cell else None for cell in cells]
        columns[CELL + name] = pa.array(texts, pa.string()).dictionary_encode()
    return pa.table(columns), unread


def _seconds(run: Mapping[str, Any]) -> float:
    """Seconds of a typical replication, NaN if the footer does not have them."""
    seconds = run.get("typical_seconds")
    return float(seconds) if isinstance(seconds, int | float) else math.nan


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables; a column that a table lacks is null in its rows."""
    return pa.concat_tables([table for table in tables if len(table)] or [_nothing()], promote_options="default")


def _nothing() -> pa.Table:
    return pa.schema(OWN.items()).empty_table()


def _pairs(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def read_cache(path: Path) -> pa.Table:
    """The table in the cache; empty if there is no cache, or it is damaged or of another version."""
    try:
        about = path.stat()
    except OSError:
        return _nothing()
    return _read_cache(path, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=8)  # each of many plans asks for the same few
def _read_cache(path: Path, *_version: int) -> pa.Table:
    """See `read_cache`; kept as long as file, size and time stay."""
    try:
        content = path.read_bytes()
        if content[:32] != hashlib.sha256(content[32:]).digest():
            return _nothing()
        with pq.ParquetFile(pa.BufferReader(content[32:])) as file:
            table = file.read(use_threads=False)  # those of `pq.read_table` can abort the process at its end
    except (OSError, pa.ArrowException):
        return _nothing()
    version = (table.schema.metadata or {}).get(b"version")
    return table if version == VERSION else _nothing()


def write_cache(path: Path, table: pa.Table) -> None:
    """Replace the cache, if it can be written; otherwise the files are read again next time."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({b"version": VERSION}), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    with suppress(OSError):
        put(path, hashlib.sha256(content).digest() + content, lasting=False)
