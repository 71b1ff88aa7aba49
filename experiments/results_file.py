"""One results file: parquet, a row for each replication, and a footer that says what it is. Nothing half-written."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.cells import KINDS, Cell
from experiments.cells.regret import RegretCell
from experiments.errors import UserError
from experiments.stored import Contents, Stored

FORMAT = 1
FOOTER = b"private-bandits"
Read = TypeVar("Read")


class DamagedFileError(Exception):
    """A results file that cannot be trusted; the message says why."""


def schema_of(kind: type[Cell]) -> pa.Schema:
    """The columns of a results file; a value that does not exist, as the estimate of an expired rule, is null."""
    fields = [pa.field(name, of, nullable=name in kind.optional) for name, of in kind.fields.items()]
    return pa.schema([pa.field("replication", pa.int32(), nullable=False), *fields])


def write_file(path: Path, stored: Stored) -> None:
    """Put `stored` at `path` in one step: a reader sees the old file or the new. Raises `OSError`."""
    kind = type(stored.cell)
    columns = {"replication": np.arange(stored.replications, dtype=np.int32), **stored.rows}
    schema = schema_of(kind)
    arrays = [
        pa.array(list(columns[field.name]), field.type, from_pandas=field.nullable)  # a NaN is stored as null
        for field in schema
    ]
    table = pa.table(arrays, schema=schema.with_metadata({FOOTER: json.dumps(stored.footer)}))
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
        raise UserError(
            f"{path}: damaged: {damage}; the run that made it sets it aside and computes it again"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
