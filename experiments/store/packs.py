"""A pack: one parquet file with the cells of an instance that have the same record, as results/c1/regret.parquet.

It answers alone: besides the columns of a results file it has the key, the record and every parameter of the cells as
plain columns, which any reader of parquet can filter and group by. Cells come in the order of `order_of`, up to `CELLS`
of them in a row group, each whole. The metadata of the file contain the footers of all cells, in the same order; what
this package reads comes from them and from the columns of a results file, and `wrong_columns` compares the others. If
the rows of a cell are damaged, which the checksum in its footer shows, only its row group is lost. A pack is never
changed in place: a new file replaces it.
"""

import base64
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cells import KINDS
from experiments.cells.base import COLUMNS
from experiments.store.results_file import (
    CHECKSUM,
    FORMAT,
    DamagedFileError,
    FlatColumn,
    checksum,
    columns_of_table,
    count_in,
    file_stem,
    footer_of,
    kind_of_footer,
    opened_bytes,
    readable,
    replications_of,
    require_own_columns,
    require_regular,
    schema_of,
    table_of,
    writer,
)
from experiments.store.stored import Replications

FOOTERS = b"private-bandits-cells"  # one per line; compressed, then base64, as metadata are text
LEVEL = 19  # of zstd compression, slow to write: packs are written once and read often
CELLS = 16  # cells in a row group: more make a pack smaller, and reading a single cell slower
ROWS = 2**16  # in a row group of several cells, at most: they are read together
OPEN = 64  # packs that a process keeps open: all of this repository, 90 MB
KEPT = 8  # row groups that were read last are kept, as neighbours are often read together
SETTLED = 2_000_000_000  # nanoseconds: a newer file may still change without a change of its modification time
FIRST = ("key", "record", *COLUMNS)  # columns of a pack


def file_of(record: str) -> str:
    """The name of the pack for cells with this record, in the folder of their instance."""
    return f"{record}.parquet"


def is_pack(name: str) -> bool:
    """Whether a file of this name, in the folder of an instance, is a pack."""
    return name.endswith(".parquet") and name.removesuffix(".parquet") in KINDS


def order_of(footer: Mapping[str, Any]) -> tuple[Any, ...]:
    """Cells are in this order in packs and tables, so that those of one figure are neighbours."""
    columns = footer["columns"]
    return columns["instance"], columns["policy"], columns["horizon"], columns["epsilon"], footer["key"]


@dataclass(frozen=True, eq=False)
class Pack:
    """A pack, open for reading.

    Attributes
    ----------
    path: its file.
    footers: the metadata of each cell, with its provenance, by POLICY-KEY.
    begins: the row group of each cell, and its first row there, by POLICY-KEY.
    """

    path: Path
    footers: dict[str, dict[str, Any]]
    begins: dict[str, tuple[int, int]]
    file: pq.ParquetFile

    def footer(self, cell: str) -> dict[str, Any]:
        """The footer of a cell. Raises `DamagedFileError` for a cell not in the pack, or columns of another."""
        if cell not in self.footers:
            raise DamagedFileError("it is not in the pack")
        require_own_columns(self.footers[cell])
        return self.footers[cell]

    def read(self, cell: str) -> Replications:
        """The rows and footer of a cell. Raises `DamagedFileError`, also for a cell that is not in the pack."""
        footer = self.footer(cell)
        group, first = self.begins[cell]
        return replications_of(_columns_in(self, group), footer, first)

    def size(self, cell: str) -> int:
        """Bytes that a cell takes in the file: the share of its rows in those of its row group."""
        group = self.file.metadata.row_group(self.begins[cell][0])
        taken: int = sum(group.column(place).total_compressed_size for place in range(group.num_columns))
        return round(taken * count_in(self.footers[cell]) / int(group.num_rows))

    def wrong_columns(self) -> dict[str, str]:
        """The cells, by POLICY-KEY, whose columns for other programs are not what their footers say, and why."""
        values = _values_of(list(self.footers.values()))
        wrong: dict[str, str] = {}
        for group, in_group in itertools.groupby(enumerate(self.footers), lambda item: self.begins[item[1]][0]):
            numbers, names = zip(*in_group, strict=True)
            counts = [count_in(self.footers[name]) for name in names]
            due = values.take(np.repeat(numbers, counts))
            try:
                with readable(self.path):
                    stored = self.file.read_row_group(group, columns=due.column_names, use_threads=False)
            except DamagedFileError as damage:
                wrong |= dict.fromkeys(names, f"its columns for other programs: {damage}")
                continue
            for name, count in zip(names, counts, strict=True) if not stored.equals(due) else ():
                first = self.begins[name][1]
                theirs, ours = stored.slice(first, count), due.slice(first, count)
                same = theirs.column_names == ours.column_names
                unequal = [column for column in ours.column_names if not same or theirs[column] != ours[column]]
                if unequal:
                    wrong[name] = f"its column {unequal[0]} is not what its footer says"
        return wrong


@lru_cache(maxsize=KEPT)
def _columns_in(pack: Pack, group: int) -> dict[str, FlatColumn]:
    """The columns of a results file in a row group of a pack."""
    names = schema_of(KINDS[pack.path.stem]).names
    with readable(pack.path):
        return columns_of_table(pack.file.read_row_group(group, columns=names, use_threads=False))


def _values_of(footers: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The columns of cells for other programs, a row for each cell: key, record and parameters; null for none.

    Lists are texts, as in `experiments.load`; so are all values of a column that has texts, or very large numbers. A
    parameter that no cell has a value of is left out: its type would be a guess.
    """
    of_rows = schema_of(kind_of_footer(footers[0])).names
    cells = [{"key": footer["key"], **footer["columns"]} for footer in footers]
    others = sorted({name for cell in cells for name, value in cell.items() if value is not None} - {*FIRST, *of_rows})
    return pa.table({name: _array([cell.get(name) for cell in cells]) for name in (*FIRST, *others)})


def _array(values: Sequence[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    number = {frozenset([bool]): pa.bool_(), frozenset([int]): pa.int64()}.get(frozenset(kinds))
    if number is None and kinds and kinds <= {int, float}:
        number = pa.float64()
    with suppress(OverflowError, pa.ArrowInvalid):
        if number is not None:
            return pa.array(values, number, from_pandas=True)
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def packed(cells: Iterable[Replications]) -> bytes:
    """The bytes of a pack of cells of one kind; equal cells give equal bytes. Raises `ValueError` as `write_file`."""
    ordered = sorted(cells, key=lambda contents: order_of(contents.footer))
    kind, values = ordered[0].kind, _values_of([contents.footer for contents in ordered])
    own = schema_of(kind)
    schema = pa.schema([*values.schema, *own])
    few = [field.name for field in values.schema if not pa.types.is_boolean(field.type)]
    file = BytesIO()
    with writer(file, kind, LEVEL, schema, few) as parquet:
        for numbers in _groups([contents.replications for contents in ordered]):
            rows = pa.concat_tables(table_of(ordered[number], own) for number in numbers)
            of_cells = values.take(np.repeat(numbers, [ordered[number].replications for number in numbers]))
            group = pa.table([*of_cells.columns, *rows.columns], schema=schema)
            parquet.write_table(group, row_group_size=len(group))
        text = pa.Codec("zstd", LEVEL).compress("\n".join(map(footer_of, ordered)).encode(), asbytes=True)
        encoded = base64.b64encode(text)
        parquet.add_key_value_metadata({FOOTERS: encoded, CHECKSUM: checksum(encoded)})
    return file.getvalue()


def _groups(counts: Sequence[int]) -> Iterator[list[int]]:
    """The positions of the cells in each row group, for cells with these numbers of replications."""
    group: list[int] = []
    for number, count in enumerate(counts):
        if len(group) == CELLS or (group and sum(counts[place] for place in group) + count > ROWS):
            yield group
            group = []
        group.append(number)
    yield group


def opened(path: Path) -> Pack:
    """The pack at `path` as it is now, from a cache of open packs. Raises as `readable`."""
    with readable(path):
        about = path.stat()
        require_regular(about)
        if time.time_ns() - about.st_mtime_ns < SETTLED:
            return pack_of(path)
        return _kept_open(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=OPEN)
def _kept_open(path: Path, *_: int) -> Pack:
    return pack_of(path)


def pack_of(path: Path, content: bytes | None = None) -> Pack:
    """The pack at `path`, or the one in `content` that will be written there. Raises as `readable`."""
    record = path.stem
    with readable(path):
        source = opened_bytes(path) if content is None else pa.BufferReader(content)
        file = pq.ParquetFile(source, page_checksum_verification=True)
        metadata = file.metadata.metadata or {}
        text = metadata.get(FOOTERS, b"")
        if metadata.get(CHECKSUM) != checksum(text).encode():
            raise DamagedFileError("its footers are missing, or were changed since they were written")
        lines = pa.CompressedInputStream(pa.BufferReader(base64.b64decode(text)), "zstd").read().splitlines()
        parsed = json.loads(b"[" + b",".join(lines) + b"]")  # at once: they share the texts of their names
        footers = {file_stem(footer): footer for footer in parsed}
        own = schema_of(KINDS[record])
        if [field for field in file.schema_arrow if field.name in own.names] != list(own):
            raise DamagedFileError("its columns are not those of such a pack")
        if any((footer["format"], footer.get("record")) != (FORMAT, record) for footer in footers.values()):
            raise DamagedFileError(f"its footers are not those of cells of {record}")
        return Pack(path, footers, _begins(footers, file.metadata), file)


def _begins(footers: Mapping[str, Mapping[str, Any]], metadata: pq.FileMetaData) -> dict[str, tuple[int, int]]:
    """The row group of each cell, and its first row there. Raises `DamagedFileError`."""
    counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    begins, group, row = {}, 0, 0
    for name, footer in footers.items():
        begins[name] = group, row
        row += count_in(footer)
        if row == counts[min(group, len(counts) - 1)]:
            group, row = group + 1, 0
    if (group, row) != (len(counts), 0):
        raise DamagedFileError("its row groups are not those of its footers")
    return begins
