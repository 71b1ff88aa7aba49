"""What folders of results hold, in a moment: the footers of their files, from a cache that is never relied on.

The cache, `.index` in a folder, tells of a file only while its name, size and time of change are as they were. It
chooses which files are read, and no more: what a table says comes from the files themselves. A cache that is damaged,
or cannot be written, costs time and nothing else. Processes that write it at once replace it, each in one step.
"""

import hashlib
import json
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

from bandits.arrays import IntArray
from experiments.cells.regret import RegretCell
from experiments.results_file import FILE, DamagedFileError, damaged_file, read_footer
from experiments.whole_files import put

CACHE = ".index"
VERSION = b"1"
SETTLED = 2_000_000_000  # nanoseconds: a file that is younger may change again within one tick of its clock
OWN = {"file": pa.string(), "size": pa.int64(), "changed": pa.int64(), "replications": pa.int64()}
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
    columns: what the cells are, as `Cell.columns`, by column.
    damaged: files that are left out, and why.
    """

    files: list[str]
    sizes: IntArray
    replications: IntArray
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
        return Index(files, self.sizes[wanted], self.replications[wanted], present, self.damaged)

    def sound(self) -> "Index":
        """Itself. Raises `UserError` that names a damaged file, if there is one."""
        for file, reason in sorted(self.damaged.items()):
            raise damaged_file(Path(file), reason)
        return self


def index_of_files(paths: Iterable[Path]) -> Index:
    """The index of some results files, in their order, from their footers."""
    return _index(*_read(Path(), {str(path): _status(path.stat()) for path in paths}))


def index_of_folders(folders: Sequence[Path]) -> Index:
    """The index of all results files in some folders; of two for one cell that with more replications, else the first.

    In the order of their names. Files with other names are not ours to read.
    """
    found = [_of_folder(folder) for folder in folders]
    table = _joined([table for table, _ in found])
    best: dict[str, tuple[int, int]] = {}
    for row, (name, replications) in enumerate(_pairs(table, "file", "replications")):
        if name not in best or replications > best[name][0]:
            best[name] = replications, row
    paths: list[str] = []
    damaged: dict[str, str] = {}
    for folder, (of_folder, reasons) in zip(folders, found, strict=True):
        paths += [f"{folder}/{name}" for (name,) in _pairs(of_folder, "file")]
        damaged |= {f"{folder}/{name}": reason for name, reason in reasons.items() if name not in best}
    table = table.set_column(0, "file", pa.array(paths, pa.string()))
    rows = [best[name][1] for name in sorted(best)]
    return _index(table.take(pa.array(rows, pa.int64())), damaged)


def _index(table: pa.Table, damaged: dict[str, str]) -> Index:
    files, sizes, replications = (table.column(name) for name in ("file", "size", "replications"))
    coded = {name.removeprefix(CELL): _coded(table.column(name)) for name in table.column_names if name not in OWN}
    columns = {name: of for name, of in coded.items() if (of.codes >= 0).any()}
    return Index(files.to_pylist(), sizes.to_numpy(), replications.to_numpy(), columns, damaged)


def _coded(column: pa.ChunkedArray) -> Coded:
    cells = column.unify_dictionaries().combine_chunks()
    codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Coded(codes, [json.loads(text) for text in cells.dictionary.to_pylist()])


def _of_folder(folder: Path) -> tuple[pa.Table, dict[str, str]]:
    """The files of a folder by their names in it, and which are damaged; brings its cache up to date."""
    settled = time.time_ns() - SETTLED
    found = _scan(folder)
    cached = _read_cache(folder / CACHE)
    statuses = zip(cached.column("size").to_pylist(), cached.column("changed").to_pylist(), strict=True)
    names = cached.column("file").to_pylist()
    as_then = [found.get(name) == status for name, status in zip(names, statuses, strict=True)]
    known = cached.filter(pa.array(as_then, pa.bool_()))
    told = set(known.column("file").to_pylist())
    new, damaged = _read(folder, {name: status for name, status in found.items() if name not in told})
    table = _joined([known, new])
    if len(new) or len(known) < len(cached):
        _write_cache(folder / CACHE, table.filter(pc.less(table.column("changed"), settled)))
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
        for column, value in zip(OWN, (name, *status, footer["runs"][-1]["replications"][1]), strict=True):
            rows[column].append(value)
        cells.append({"record": RegretCell.record, **footer["columns"]})
    columns = {name: pa.array(rows[name], of) for name, of in OWN.items()}
    for name in dict.fromkeys(name for cell in cells for name in cell):
        texts = [json.dumps(cell[name]) if name in cell else None for cell in cells]
        columns[CELL + name] = pa.array(texts, pa.string()).dictionary_encode()
    return pa.table(columns), damaged


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables; a column that one has not is missing there."""
    return pa.concat_tables([table for table in tables if len(table)] or tables[:1], promote_options="default")


def _pairs(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def _read_cache(path: Path) -> pa.Table:
    """What the cache holds; nothing if there is none, or not a whole one of this version."""
    empty = pa.schema(OWN.items()).empty_table()
    try:
        content = path.read_bytes()
        if content[:32] != hashlib.sha256(content[32:]).digest():
            return empty
        table = pq.read_table(pa.BufferReader(content[32:]))
    except (OSError, pa.ArrowException):
        return empty
    version = (table.schema.metadata or {}).get(b"version")
    return table if version == VERSION else empty


def _write_cache(path: Path, table: pa.Table) -> None:
    """Replace the cache, if that can be done; without it everything is read again."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({b"version": VERSION}), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    with suppress(OSError):
        put(path, hashlib.sha256(content).digest() + content, lasting=False)
