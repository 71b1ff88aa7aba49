"""One results file: parquet, a row for each replication, and a footer that says what it is. Nothing half-written."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.cells import KINDS, Cell, Rows
from experiments.cells.regret import RegretCell
from experiments.errors import UserError
from experiments.stored import Contents, Stored
from experiments.whole_files import put

FILE = re.compile(r"[a-z][a-z0-9_]*-[0-9a-f]{16}\.parquet")  # POLICY-KEY
FORMAT = 2  # 1: as 2, without checksums
FOOTER = b"private-bandits"
CHECKSUM = b"private-bandits-checksum"  # of the footer, which has that of the rows
Read = TypeVar("Read")


class DamagedFileError(Exception):
    """A results file that cannot be trusted; the message says why."""


def schema_of(kind: type[Cell]) -> pa.Schema:
    """The columns of a results file; a value that does not exist, as the estimate of an expired rule, is null."""
    fields = [pa.field(name, of, nullable=name in kind.optional) for name, of in kind.fields.items()]
    return pa.schema([pa.field("replication", pa.int32(), nullable=False), *fields])


def write_file(path: Path, stored: Stored) -> None:
    """Put `stored` at `path` in one step: a reader sees the old file or the new. Raises `OSError`.

    Raises `ValueError` for rows that cannot be those of the cell, as a regret that is no number.
    """
    kind = type(stored.cell)
    kind.check(stored.rows, stored.footer)
    columns = {"replication": np.arange(stored.replications, dtype=np.int32), **stored.rows}
    schema = schema_of(kind)
    arrays = [
        pa.array(list(columns[field.name]), field.type, from_pandas=field.nullable)  # a NaN is stored as null
        for field in schema
    ]
    footer = json.dumps({**stored.footer, "format": FORMAT, "rows": _checksum_of_rows(kind, stored.rows)})
    table = pa.table(arrays, schema=schema)
    content = BytesIO()
    with pq.ParquetWriter(
        content,
        schema,
        compression="zstd",
        compression_level=12,
        use_dictionary=["replication", *(["t.list.element"] if "t" in kind.fields else [])],
        use_byte_stream_split=["regret.list.element"] if "regret" in kind.fields else [],
        write_page_checksum=True,
        store_schema=False,  # parquet's own says the same; Arrow's would hold the footer a second time
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({FOOTER: footer, CHECKSUM: _checksum(footer.encode())})
    put(path, content.getvalue())


def read_footer(path: Path) -> dict[str, Any]:
    """The footer of a results file. Raises `DamagedFileError` if it cannot belong to a file of this name."""
    with _opened(path) as file:
        return _footer_of(path, file.schema_arrow, file.metadata.num_rows)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A results file, open: whoever replaces it meanwhile changes nothing that is read. Raises `DamagedFileError`."""
    if not path.is_file():  # a pipe would be waited for
        raise DamagedFileError("it is no regular file")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # ValueError: names that are no text
        raise DamagedFileError(f"not a readable parquet file ({_first_line(error)})") from error


def _footer_of(path: Path, schema: pa.Schema, replications: int) -> dict[str, Any]:
    """What the metadata of the `schema` say, found to fit the file. Raises `DamagedFileError`."""
    metadata = schema.metadata or {}
    try:
        footer: dict[str, Any] = json.loads(metadata[FOOTER])
        version = footer["format"]
        if version not in (1, FORMAT):
            raise DamagedFileError(f"it has format {version}, not {FORMAT}")
        if version > 1 and metadata[CHECKSUM].decode() != _checksum(metadata[FOOTER]):
            raise DamagedFileError("its footer was changed since it was written")
        key, kind, policy = footer["key"], KINDS[footer.get("record", RegretCell.record)], footer["columns"]["policy"]
        done = footer["runs"][-1]["replications"][1]
        if any(isinstance(value, dict) for value in footer["columns"].values()):
            raise TypeError("a column is a number, a text or a list")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedFileError("it has no footer of this project, or not a whole one") from error
    if not schema.equals(schema_of(kind)):
        raise DamagedFileError("its columns are not those of a results file")
    if path.stem != f"{policy}-{key}":
        raise DamagedFileError(f"it holds the cell {key} of {policy}, not what its name says")
    if done != replications:
        raise DamagedFileError("its replications are not as many as its footer says")
    return footer


def read_file(path: Path) -> Contents:
    """A whole results file. Raises `DamagedFileError`."""
    with _opened(path) as file:
        footer = _footer_of(path, file.schema_arrow, file.metadata.num_rows)
        table = file.read(use_threads=False)  # to hand so small a file to threads takes longer than to read it
    return _contents(table, footer)


def _contents(table: pa.Table, footer: dict[str, Any]) -> Contents:
    """The rows of a file, found to be those that its footer tells of. Raises `DamagedFileError`."""
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
    if footer["format"] > 1 and footer.get("rows") != _checksum_of_rows(kind, rows):
        raise DamagedFileError("its numbers were changed since they were written")
    return Contents(rows, footer)


def _checksum_of_rows(kind: type[Cell], rows: Rows) -> str:
    """A checksum of the values, whatever the file that they are in."""
    parts = []
    for name, of in kind.fields.items():
        number = of.value_type if pa.types.is_list(of) else of
        values = np.ascontiguousarray(rows[name], dtype=number.to_pandas_dtype())
        values = np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values  # one NaN
        parts.append(f"{name} {values.shape} {_checksum(values.tobytes())}")
    return _checksum("\n".join(parts).encode())


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _values(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column as an array, lists along the second axis, null as NaN. Raises `ValueError` for lists that differ."""
    values = column.combine_chunks()
    if pa.types.is_list(values.type):
        return cast(NDArray[Any], values.flatten().to_numpy().reshape(len(values), -1))
    return cast(NDArray[Any], values.to_numpy(zero_copy_only=False))


def set_aside(path: Path) -> Path:
    """Rename a damaged file so that nothing reads it and nothing is lost; its new path."""
    return path.rename(unused(path, "damaged"))


def unused(path: Path, word: str) -> Path:
    """A path beside `path` that no file has yet, as in NAME.damaged1; nothing reads what is there."""
    for number in range(1, 1000):
        beside = path.with_name(f"{path.name}.{word}{number}")
        if not beside.exists():
            return beside
    raise FileExistsError(f"{path}: 999 files beside it are called {word} already")


def trusted(read: Callable[[Path], Read], path: Path) -> Read:
    """What `read` makes of a results file. Raises `UserError` for a damaged one."""
    try:
        return read(path)
    except DamagedFileError as damage:
        raise damaged_file(path, str(damage)) from None


def damaged_file(path: Path, reason: str) -> UserError:
    """What is said of a damaged file that is needed."""
    return UserError(f"{path}: damaged: {reason}; the run that made it sets it aside and computes it again")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
