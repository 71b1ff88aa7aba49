"""A pack: one parquet file with the cells of an instance that have the same record, as results/c1/regret.parquet.

Each cell is a row group, with the same columns as a results file, in the order of the names POLICY-KEY. The metadata
of the file contain the footers of all cells, in the same order. So a cell can be read without the others, and if its
rows are damaged, which the checksum in its footer shows, the others are not. A pack is never changed in place: a new
file replaces it.
"""

import base64
import json
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cells import KINDS
from experiments.store.results_file import (
    CHECKSUM,
    FORMAT,
    DamagedFileError,
    checksum,
    file_stem,
    footer_of,
    kind_of_footer,
    readable,
    replications_of,
    require_own_columns,
    schema_of,
    table_of,
    writer,
)
from experiments.store.stored import Replications

CELLS = b"private-bandits-cells"  # the footers, one per line; compressed, then base64, as metadata are text
LEVEL = 19  # of zstd compression, slow to write: packs are written once and read often
OPEN = 64  # packs that a process keeps open: all of this repository, 90 MB
TOGETHER = 16  # row groups that `read_each` reads at a time
SETTLED = 2_000_000_000  # nanoseconds: a newer file may still change without a change of its modification time


def file_of(record: str) -> str:
    """The name of the pack for cells with this record, in the folder of their instance."""
    return f"{record}.parquet"


def is_pack(name: str) -> bool:
    """Whether a file of this name, in the folder of an instance, is a pack."""
    return name.endswith(".parquet") and name.removesuffix(".parquet") in KINDS


@dataclass(frozen=True)
class Pack:
    """A pack, open for reading.

    Attributes
    ----------
    path: its file.
    footers: the metadata of each cell, with its provenance, by POLICY-KEY.
    groups: the number of the row group of each cell, by POLICY-KEY.
    """

    path: Path
    footers: dict[str, dict[str, Any]]
    groups: dict[str, int]
    _file: pq.ParquetFile

    def footer(self, cell: str) -> dict[str, Any]:
        """The footer of a cell. Raises `DamagedFileError` for a cell not in the pack, or columns of another."""
        if cell not in self.footers:
            raise DamagedFileError("it is not in the pack")
        require_own_columns(self.footers[cell])
        return self.footers[cell]

    def read(self, cell: str) -> Replications:
        """The rows and footer of a cell. Raises `DamagedFileError`, also for a cell that is not in the pack."""
        footer = self.footer(cell)
        with readable():
            table = self._file.read_row_group(self.groups[cell], use_threads=False)
        return replications_of(table, footer)

    def read_each(self, cells: Sequence[str]) -> Iterator[Replications]:
        """As `read`, for several cells one after the other, but faster: many row groups are read at a time."""
        for start in range(0, len(cells), TOGETHER):
            some = cells[start : start + TOGETHER]
            try:
                footers = [self.footer(cell) for cell in some]
                with readable():
                    rows = self._file.read_row_groups([self.groups[cell] for cell in some]).combine_chunks()
            except DamagedFileError:
                yield from map(self.read, some)  # raises for the cell that is damaged
                continue
            first = 0
            for cell, footer in zip(some, footers, strict=True):
                count = self._file.metadata.row_group(self.groups[cell]).num_rows
                yield replications_of(rows.slice(first, count), footer)
                first += count

    def size(self, cell: str) -> int:
        """Bytes that the rows of a cell take in the file."""
        return sum(column.total_compressed_size for column in self._columns(cell))

    def raw(self, cell: str) -> bytes:
        """The bytes of the row group of a cell. Raises `DamagedFileError`."""
        with readable(), self.path.open("rb") as file:
            file.seek(min(column.dictionary_page_offset or column.data_page_offset for column in self._columns(cell)))
            return file.read(self.size(cell))

    def _columns(self, cell: str) -> list[pq.ColumnChunkMetaData]:
        group = self._file.metadata.row_group(self.groups[cell])
        return [group.column(place) for place in range(group.num_columns)]


def packed(cells: Mapping[str, Replications]) -> bytes:
    """The bytes of a pack of cells of one kind, given by POLICY-KEY; equal cells give equal bytes."""
    kind = next(iter(cells.values())).kind
    file, schema = BytesIO(), schema_of(kind)
    with writer(file, kind, LEVEL, schema) as parquet:
        for name in sorted(cells):
            parquet.write_table(table_of(cells[name], schema))
        footers = "\n".join(footer_of(cells[name]) for name in sorted(cells))
        text = base64.b64encode(pa.Codec("zstd", LEVEL).compress(footers.encode(), asbytes=True))
        parquet.add_key_value_metadata({CELLS: text, CHECKSUM: checksum(text)})
    return file.getvalue()


def opened(path: Path) -> Pack:
    """The pack at `path` as it is now, from a cache of open packs. Raises `DamagedFileError`."""
    with readable():
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise DamagedFileError("it is not a regular file")
        if time.time_ns() - about.st_mtime_ns < SETTLED:
            return pack_of(path)
        return _kept_open(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=OPEN)
def _kept_open(path: Path, *_: int) -> Pack:
    return pack_of(path)


def pack_of(path: Path, content: bytes | None = None) -> Pack:
    """The pack at `path`, or the one in `content` that will be written there. Raises `DamagedFileError`."""
    record = path.stem
    with readable():
        file = pq.ParquetFile(path if content is None else pa.BufferReader(content), page_checksum_verification=True)
        metadata = file.metadata.metadata or {}
        text = metadata.get(CELLS, b"")
        if metadata.get(CHECKSUM) != checksum(text).encode():
            raise DamagedFileError("its footers are missing, or were changed since they were written")
        lines = pa.CompressedInputStream(pa.BufferReader(base64.b64decode(text)), "zstd").read().splitlines()
        footers = {file_stem(footer): footer for footer in map(json.loads, lines)}
        groups = {name: group for group, name in enumerate(footers)}
        if len(groups) != file.metadata.num_row_groups:
            raise DamagedFileError("its number of row groups is not that of its footers")
        if not file.schema_arrow.equals(schema_of(KINDS[record])):
            raise DamagedFileError("its columns are not those of such a pack")
        if any((of["format"], kind_of_footer(of).record) != (FORMAT, record) for of in footers.values()):
            raise DamagedFileError(f"its footers are not those of cells of {record}")
    return Pack(path, footers, groups, file)
