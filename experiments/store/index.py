"""What folders of results hold, in a moment: the footers of their files, from a cache that is never relied on.

The cache, `.index` in a folder, tells of a file only while its name, size and time of change are as they were. It
chooses which files are read, and no more: what a table says comes from the files themselves. A cache that is damaged,
or cannot be written, costs time and nothing else. Processes that write it at once replace it, each in one step.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bandits.arrays import FloatArray, IntArray
from experiments.cells.regret import RegretCell
from experiments.results_file import FILE, DamagedFileError, damaged_file, read_footer
from experiments.whole_files import put

CACHE = ".index"
VERSION = b"2"
SETTLED = 2_000_000_000  # nanoseconds: a file that is younger may change again within one tick of its clock
OWN = {
    "file": pa.string(),
    "size": pa.int64(),
    "changed": pa.int64(),
    "replications": pa.int64(),
    "seconds": pa.float64(),
}
CELL = "cell."  # begins the names of the other columns: each value as JSON, each distinct value once
Status = tuple[int, int]  # of a file: its size in bytes, and when it was changed, in nanoseconds


class Coded(NamedTuple):
    """One column of many cells: for each the place of its value among the distinct `values`, -1 for none."""

    codes: IntArray
    values: list[Any]

    def where(self, fits: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """The cells whose value, None where there is none, fits; each distinct value is looked at once."""
        return np.array([*map(fits, self.values), fits(None)])[self.codes]

    def distinct(self) -> list[Any]:
        """The values that occur, and None where a cell has none."""
        return [self.values[code] if code >= 0 else None for code in np.unique(self.codes)]


@dataclass(frozen=True)
class Index:
    """Results files and the columns of their cells, `record` always among them.

    Attributes
    ----------
    files: the path of each, as text.
    sizes, replications: of each file, shape (files,); sizes in bytes.
    seconds: of a typical replication of each, shape (files,).
    columns: what the cells are, as `Cell.columns`, by column.
    damaged: files that are left out, and why.
    """

    files: list[str]
    sizes: IntArray
    replications: IntArray
    seconds: FloatArray
    columns: dict[str, Coded]
    damaged: dict[str, str]

    def column(self, name: str) -> Coded:
        """A column, with no value anywhere if no cell has it."""
        return self.columns.get(name) or Coded(np.full(len(self.files), -1), [])

    def cell(self, row: int) -> dict[str, Any]:
        """The columns that one cell has."""
        return {name: of.values[of.codes[row]] for name, of in self.columns.items() if of.codes[row] >= 0}

    def only(self, wanted: NDArray[np.bool_]) -> "Index":
        """The index of some of its files."""
        columns = {name: Coded(of.codes[wanted], of.values) for name, of in self.columns.items()}
        present = {name: of for name, of in columns.items() if (of.codes >= 0).any()}
        files = [self.files[row] for row in np.flatnonzero(wanted)]
        return Index(files, self.sizes[wanted], self.replications[wanted], self.seconds[wanted], present, self.damaged)

    def sound(self) -> "Index":
        """Itself. Raises `UserError` that names a damaged file, if there is one."""
        for file, reason in sorted(self.damaged.items()):
            raise damaged_file(Path(file), reason)
        return self


def index_of_files(paths: Sequence[Path]) -> Index:
    """The index of some results files that there are, in their order."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parents[1], []).append("/".join(path.parts[-2:]))
    table, damaged = _of_folders({folder: _statuses(folder, of_folder) for folder, of_folder in names.items()})
    rows = {file: row for row, (file,) in enumerate(_pairs(table, "file"))}
    return _index(table.take(pa.array([rows[str(path)] for path in paths if str(path) in rows], pa.int64())), damaged)


def index_of_folders(folders: Sequence[Path], asked: Mapping[str, int] | None = None) -> Index:
    """The index of all results files in some folders, or of those whose names are `asked` for.

    Of two for one cell that with more replications, of so many as are asked for, else the first. In the order of their
    names. Files with other names are not ours to read.
    """
    scans = {folder: _scan(folder) if asked is None else _statuses(folder, asked) for folder in folders}
    table, damaged = _of_folders(scans)
    best: dict[str, tuple[float, int]] = {}
    for row, (file, replications) in enumerate(_pairs(table, "file", "replications")):
        name = name_of(file)
        of_use = min(replications, math.inf if asked is None else asked[name])
        if name not in best or of_use > best[name][0]:
            best[name] = of_use, row
    rows = [best[name][1] for name in sorted(best)]
    unread = {file: reason for file, reason in damaged.items() if name_of(file) not in best}
    return _index(table.take(pa.array(rows, pa.int64())), unread)


def _index(table: pa.Table, damaged: dict[str, str]) -> Index:
    sizes, replications, seconds = (table.column(name).to_numpy() for name in ("size", "replications", "seconds"))
    coded = {name.removeprefix(CELL): _coded(table.column(name)) for name in table.column_names if name not in OWN}
    columns = {name: of for name, of in coded.items() if (of.codes >= 0).any()}
    return Index(table.column("file").to_pylist(), sizes, replications, seconds, columns, damaged)


def _coded(column: pa.ChunkedArray) -> Coded:
    cells = column.unify_dictionaries().combine_chunks()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(codes, [json.loads(text) for text in cells.dictionary.to_pylist()])


def _of_folders(found: Mapping[Path, Mapping[str, Status]]) -> tuple[pa.Table, dict[str, str]]:
    """The files that were found in each folder, by their paths, and which are damaged."""
    tables: list[pa.Table] = []
    damaged: dict[str, str] = {}
    for folder, files in found.items():
        table, reasons = _of_folder(folder, files)
        paths = [f"{folder}/{name}" for (name,) in _pairs(table, "file")]
        tables.append(table.set_column(0, "file", pa.array(paths, pa.string())))
        damaged |= {f"{folder}/{name}": reason for name, reason in reasons.items()}
    return _joined(tables), damaged


def _of_folder(folder: Path, found: Mapping[str, Status]) -> tuple[pa.Table, dict[str, str]]:
    """The files that were found in a folder by their names in it, and which are damaged; brings its cache up to date.

    Of files that were not found the cache keeps what it holds: they may be others than those that were looked for.
    """
    settled = time.time_ns() - SETTLED
    cached = read_cache(folder / CACHE)
    asked = pc.is_in(cached.column("file"), value_set=pa.array(found, pa.string()))
    others, cached = cached.filter(pc.invert(asked)), cached.filter(asked)
    as_then = [found[name] == tuple(status) for name, *status in _pairs(cached, "file", "size", "changed")]
    known = cached.filter(pa.array(as_then, pa.bool_()))
    told = set(known.column("file").to_pylist())
    new, damaged = _read(folder, {name: status for name, status in found.items() if name not in told})
    table = _joined([known, new])
    if len(new) or len(known) < len(cached):
        kept = _joined([others, table])
        write_cache(folder / CACHE, kept.filter(pc.less(kept.column("changed"), settled)))
    return table, damaged


def _scan(folder: Path) -> dict[str, Status]:
    """Every results file of a folder by its name in it."""
    found = {}
    for group in os.scandir(folder):
        if group.is_dir():
            for file in os.scandir(group):
                if FILE.fullmatch(file.name):
                    with suppress(FileNotFoundError):  # set aside meanwhile by whoever computes it again
                        found[f"{group.name}/{file.name}"] = _status(file.stat())
    return found


def _statuses(folder: Path, names: Iterable[str]) -> dict[str, Status]:
    """The files of some names that there are in a folder."""
    found = {}
    for name in names:
        with suppress(FileNotFoundError, NotADirectoryError):
            found[name] = _status((folder / name).stat())
    return found


def name_of(file: str) -> str:
    """The name of a results file in its folder of results, from its path."""
    return "/".join(file.rsplit("/", 2)[-2:])


def _status(of: os.stat_result) -> Status:
    return of.st_size, of.st_mtime_ns


def _read(folder: Path, files: Mapping[str, Status]) -> tuple[pa.Table, dict[str, str]]:
    """What the footers of some files say, and which files are damaged."""
    rows: dict[str, list[Any]] = {name: [] for name in OWN}
    cells: list[dict[str, Any]] = []
    damaged = {}
    for name, status in files.items():
        try:
            footer = read_footer(folder / name)
        except DamagedFileError as damage:
            damaged[name] = str(damage)
            continue
        last = footer["runs"][-1]
        own = (name, *status, last["replications"][1], _seconds(last))
        for column, value in zip(OWN, own, strict=True):
            rows[column].append(value)
        cells.append({"record": RegretCell.record, **footer["columns"]})
    columns = {name: pa.array(rows[name], of) for name, of in OWN.items()}
    for name in dict.fromkeys(name for cell in cells for name in cell):
        texts = [json.dumps(cell[name]) if name in cell else None for cell in cells]
        columns[CELL + name] = pa.array(texts, pa.string()).dictionary_encode()
    return pa.table(columns), damaged


def _seconds(run: Mapping[str, Any]) -> float:
    """Seconds of a typical replication, NaN where the footer does not say."""
    said = run.get("typical_seconds")
    return float(said) if isinstance(said, int | float) else math.nan


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables; a column that one has not is missing there."""
    return pa.concat_tables([table for table in tables if len(table)] or [_nothing()], promote_options="default")


def _nothing() -> pa.Table:
    return pa.schema(OWN.items()).empty_table()


def _pairs(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def read_cache(path: Path) -> pa.Table:
    """What the cache holds; nothing if there is none, or not a whole one of this version."""
    try:
        content = path.read_bytes()
        if content[:32] != hashlib.sha256(content[32:]).digest():
            return _nothing()
        table = pq.read_table(pa.BufferReader(content[32:]))
    except (OSError, pa.ArrowException):
        return _nothing()
    version = (table.schema.metadata or {}).get(b"version")
    return table if version == VERSION else _nothing()


def write_cache(path: Path, table: pa.Table) -> None:
    """Replace the cache, if that can be done; without it everything is read again."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({b"version": VERSION}), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    with suppress(OSError):
        put(path, hashlib.sha256(content).digest() + content, lasting=False)
