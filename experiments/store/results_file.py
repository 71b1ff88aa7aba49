"""The results file of one cell: parquet, a row for each replication, and a footer with metadata and provenance.

What packs have in common with results files is here too: the schema, the footer, and what is checked on reading.
"""

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bandits.arrays import IntArray
from experiments.cells import KINDS, Cell, Rows
from experiments.cells.regret import RegretCell
from experiments.errors import UserError
from experiments.store.stored import Replications
from experiments.store.whole_files import put

FILE = re.compile(r"[a-z][a-z0-9_]*-[0-9a-f]{16}\.parquet")  # POLICY-KEY
FORMAT = 2
FOOTER = b"private-bandits"
CHECKSUM = b"private-bandits-checksum"  # of the footer, which contains the checksum of the rows
GUARANTEED = ("epsilon", "delta", "scope")  # a policy may promise another epsilon than its parameter of that name
LEVEL = 12  # of zstd compression, still quick to write


class DamagedFileError(Exception):
    """A results file or pack that cannot be trusted; the message says why."""


def schema_of(kind: type[Cell]) -> pa.Schema:
    """The schema of a results file; a value that does not exist, as the estimate of an expired rule, is null."""
    fields = [pa.field(name, arrow, nullable=name in kind.optional) for name, arrow in kind.fields.items()]
    return pa.schema([pa.field("replication", pa.int32(), nullable=False), *fields])


def write_file(path: Path, contents: Replications) -> None:
    """Write `contents` to `path` in one step: a reader sees the old file or the new one, never a part.

    Raises `OSError`, and `ValueError` for rows that the cell cannot have, as a regret that is NaN.
    """
    file, footer, schema = BytesIO(), footer_of(contents), schema_of(contents.kind)
    with writer(file, contents.kind, LEVEL, schema) as parquet:
        parquet.write_table(table_of(contents, schema))
        parquet.add_key_value_metadata({FOOTER: footer, CHECKSUM: checksum(footer.encode())})
    put(path, file.getvalue())


def footer_of(contents: Replications) -> str:
    """The footer as JSON, with the checksum of the rows. Raises `ValueError` for rows that the cell cannot have."""
    contents.kind.check(contents.rows, contents.footer)
    rows = _checksum_of_rows(contents.kind, contents.rows)
    return json.dumps({**contents.footer, "format": FORMAT, "rows": rows})


def table_of(contents: Replications, schema: pa.Schema) -> pa.Table:
    """The rows as a table with this schema."""
    columns = {**contents.log, **contents.rows, "replication": contents.numbers.astype(np.int32)}
    arrays = [_as_arrow(np.asarray(columns[field.name]), field.type, field.nullable) for field in schema]
    return pa.table(arrays, schema=schema)


def _as_arrow(values: NDArray[Any], arrow: pa.DataType, nullable: bool) -> pa.Array:
    """The same numbers, lists along the second axis; NaN becomes null in columns that may have it.

    `pa.array` would import pandas, which takes half a second.
    """
    if pa.types.is_list(arrow):
        begins = np.arange(len(values) + 1) * values.shape[1]
        return pa.ListArray.from_arrays(
            _as_arrow(begins, pa.int32(), False), _as_arrow(values.ravel(), arrow.value_type, nullable), arrow
        )
    if pa.types.is_boolean(arrow):
        numbers = np.packbits(values.astype(bool, casting="safe"), bitorder="little")
    else:
        numbers = values.astype(arrow.to_pandas_dtype(), order="C", casting="same_kind")
    missing = np.isnan(values) if nullable and values.dtype.kind == "f" else np.zeros(len(values), bool)
    there = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(arrow, len(values), [there, pa.py_buffer(numbers)])


def writer(file: BytesIO, kind: type[Cell], level: int, schema: pa.Schema, few: Sequence[str] = ()) -> pq.ParquetWriter:
    """A parquet writer for a kind of cell, with zstd compression at `level`; equal rows give equal bytes.

    `few` are further columns, which have few values.
    """
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=level,
        use_dictionary=[*few, *(["t.list.element"] if "t" in kind.fields else [])] or False,
        column_encoding={"replication": "DELTA_BINARY_PACKED"}
        | {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in ("regret", "pulls") if name in kind.fields},
        write_statistics=False,
        write_page_checksum=True,
        store_schema=False,  # Arrow's copy of the schema would contain the footer a second time
    )


def read_footer(path: Path) -> dict[str, Any]:
    """The footer of a results file. Raises as `readable`, and `DamagedFileError` if it is not that of a file with this
    name.
    """
    with _opened(path) as file:
        return _footer_in(path, file)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """An open results file; if it is replaced meanwhile, the old one is still read. Raises as `readable`."""
    with readable(path):
        require_regular(path.stat())
        with opened_bytes(path) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
            yield file


def require_regular(about: os.stat_result) -> None:
    """Raise `DamagedFileError` unless this is a regular file; reading a pipe could block forever."""
    if not stat.S_ISREG(about.st_mode):
        raise DamagedFileError("it is not a regular file")


def opened_bytes(path: Path) -> pa.OSFile:
    """A file for pyarrow, which by itself refuses names that are not UTF-8. Raises `OSError`."""
    return pa.OSFile(os.fsencode(path))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors of parsing `path`, and its absence, into `DamagedFileError`; other errors of the system, after which
    the file may still be sound, into `UserError`.
    """
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        number = error.errno if isinstance(error, OSError) else None  # pyarrow gives none to what it cannot parse
        if number not in (None, errno.ENOENT, errno.ENOTDIR):
            raise UserError(f"{path}: cannot be read: {os.strerror(number)}") from error
        raise DamagedFileError(f"not a readable parquet file ({_first_line(error)})") from error


def _footer_in(path: Path, file: pq.ParquetFile) -> dict[str, Any]:
    """The footer of an open results file, checked against its schema, name and rows. Raises `DamagedFileError`."""
    metadata = file.schema_arrow.metadata or {}
    footer = _parsed(metadata.get(FOOTER), metadata.get(CHECKSUM))
    if not file.schema_arrow.equals(schema_of(kind_of_footer(footer))):
        raise DamagedFileError("its columns are not those of a results file")
    if path.stem != file_stem(footer):
        raise DamagedFileError(f"it holds the cell {file_stem(footer)}, not that of its name")
    _require_replications(footer, file.metadata.num_rows)
    require_own_columns(footer)
    return footer


def _parsed(text: bytes | None, checked: bytes | None) -> dict[str, Any]:
    """The footer from its JSON `text`, compared with its checksum `checked`. Raises `DamagedFileError`."""
    try:
        footer: dict[str, Any] = json.loads(cast(bytes, text))
        if footer["format"] != FORMAT:
            raise DamagedFileError(f"it has format {footer['format']}, not {FORMAT}")
        if cast(bytes, checked).decode() != checksum(cast(bytes, text)):
            raise DamagedFileError("its footer was changed since it was written")
        for part in (footer, footer["columns"]):
            part.setdefault("record", RegretCell.record)  # files from before every footer named its record
        _ = kind_of_footer(footer), file_stem(footer)
        if any(isinstance(value, dict) for value in footer["columns"].values()):
            raise TypeError("a column is a number, a text or a list")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedFileError("its footer is missing or incomplete") from error
    return footer


def require_own_columns(footer: Mapping[str, Any]) -> None:
    """Raise `DamagedFileError` unless the columns of a cell are what its identity says, from which its key follows."""
    try:
        columns, identity = footer["columns"], json.loads(footer["identity"])
        expected = {**identity["instance"], **identity["policy"], "horizon": identity["horizon"]}
        for part in ("instance", "policy"):
            origin, _, name = identity[part]["class"].partition(":")
            if origin == "bandits":
                expected[part] = name
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedFileError("its footer is missing or incomplete") from error
    for name, value in expected.items():
        if not isinstance(value, dict) and name in columns and name not in GUARANTEED and columns[name] != value:
            raise DamagedFileError(f"its column {name} is {columns[name]}, but its key is that of {value}")


def kind_of_footer(footer: Mapping[str, Any]) -> type[Cell]:
    """The kind of cell that a footer is about."""
    return KINDS[footer["record"]]


def file_stem(footer: Mapping[str, Any]) -> str:
    """The name of the results file of a cell without its suffix: POLICY-KEY."""
    return f"{footer['columns']['policy']}-{footer['key']}"


def count_in(footer: Mapping[str, Any]) -> int:
    """How many replications a footer is about. Raises `DamagedFileError`."""
    try:
        return int(footer["runs"][-1]["replications"][1])
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedFileError("its footer is missing or incomplete") from error


def _require_replications(footer: Mapping[str, Any], rows: int) -> None:
    """Raise `DamagedFileError` unless the number of `rows` is that of the footer."""
    if count_in(footer) != rows:
        raise DamagedFileError("its number of replications is not that of its footer")


def read_file(path: Path) -> Replications:
    """The rows and footer of a results file. Raises `DamagedFileError`, and as `readable`."""
    with _opened(path) as file:
        footer = _footer_in(path, file)
        table = file.read(use_threads=False)  # the file is so small that threads would only cost time
    return replications_of(columns_of_table(table), footer)


class FlatColumn(NamedTuple):
    """The items of a column one after the other, and, if they are in lists, where each row begins and the last ends."""

    items: NDArray[Any]
    begins: IntArray | None

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Self:
        """Of a column of a table; null becomes NaN."""
        values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if not pa.types.is_list(values.type):
            return cls(_as_numpy(values), None)
        return cls(_as_numpy(values.values), _as_numpy(values.offsets))

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Some rows, lists along the second axis. Raises `ValueError` if lists differ in length."""
        if self.begins is None:
            return self.items[first : first + count]
        return self.items[self.begins[first] : self.begins[first + count]].reshape(count, -1)


def _as_numpy(values: pa.Array) -> NDArray[Any]:
    """The same numbers; by way of DLPack where it can be, as `to_numpy` imports pandas, which takes half a second."""
    plain = values.null_count == 0 and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type))
    return np.from_dlpack(values) if plain else values.to_numpy(zero_copy_only=False)


def columns_of_table(table: pa.Table) -> dict[str, FlatColumn]:
    """The columns of a results file, or of a row group of a pack."""
    return {name: FlatColumn.of(table.column(name)) for name in table.column_names}


def replications_of(columns: Mapping[str, FlatColumn], footer: dict[str, Any], first: int = 0) -> Replications:
    """The rows of a cell from the `first` on, checked against its kind and checksum. Raises `DamagedFileError`."""
    count, kind = count_in(footer), kind_of_footer(footer)
    if count == 0 or not np.array_equal(columns["replication"].rows(first, count), np.arange(count)):
        raise DamagedFileError("its replications are not 0, 1, ...")
    try:
        rows = {name: columns[name].rows(first, count) for name in kind.fields}
    except ValueError as error:
        raise DamagedFileError("its rows differ in length") from error
    try:
        kind.check(rows, footer)
    except ValueError as error:
        raise DamagedFileError(str(error)) from None
    if footer.get("rows") != _checksum_of_rows(kind, rows):
        raise DamagedFileError("its numbers were changed since they were written")
    return Replications(rows, footer)


def _checksum_of_rows(kind: type[Cell], rows: Rows) -> str:
    """A checksum of the values, which does not depend on how a file stores them."""
    parts = []
    for name, number in _numbers_of(kind).items():
        values = np.ascontiguousarray(rows[name], dtype=number)
        if name in kind.optional and values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.nan, values)  # the same bits for every NaN
        parts.append(f"{name} {values.shape} {checksum(values.data)}")
    return checksum("\n".join(parts).encode())


@cache
def _numbers_of(kind: type[Cell]) -> dict[str, np.dtype[Any]]:
    """The type of the numbers in each field."""
    types = {name: arrow.value_type if pa.types.is_list(arrow) else arrow for name, arrow in kind.fields.items()}
    return {name: np.dtype(arrow.to_pandas_dtype()) for name, arrow in types.items()}


def checksum(content: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is kept but not read any more; returns its new path."""
    return path.rename(unused(path, "damaged"))


def unused(path: Path, word: str) -> Path:
    """An unused path beside `path`, as NAME.damaged1; files with such names are not read."""
    for number in range(1, 1000):
        beside = path.with_name(f"{path.name}.{word}{number}")
        if not beside.exists():
            return beside
    raise FileExistsError(f"{path}: 999 files beside it are called {word} already")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
