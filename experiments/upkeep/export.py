"""Stored results for other programs: as CSV, one cell after the other, and described as an RO-Crate."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.cells import TABLES
from experiments.cells.base import COLUMNS
from experiments.errors import UserError
from experiments.library.frames import TableRows, Wanted
from experiments.store.place import Copy, columns_of
from experiments.store.whole_files import put

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula
CRATE = "ro-crate-metadata.json"


def csv(cells: list[Copy], table: str, filters: dict[str, Any]) -> Iterator[str]:
    """The table that `load` gives, as CSV text, cell by cell; only one cell at a time is in memory.

    Numbers are written with all their digits. A ' is put before a text that a spreadsheet would take for a formula.
    """
    rows = TableRows(table, Wanted(cells, {}), filters)
    columns = list(dict.fromkeys([*COLUMNS, *TABLES[table].columns, *sorted(columns_of(rows.cells))]))
    yield pd.DataFrame(columns=columns).to_csv(index=False)
    for cell, of_cell in rows:
        plain = {name: _plain(value) for name, value in cell.items() if name not in of_cell}
        yield pd.DataFrame({**plain, **of_cell}).reindex(columns=columns).to_csv(index=False, header=False)


def _plain(value: Any) -> Any:
    text = str(value) if isinstance(value, list) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text


def crate(folder: Path, cells: list[Copy]) -> Path:
    """Write an RO-Crate that describes each file and cell, beside the results; returns its path. Raises `UserError`."""
    try:
        from rocrate.model.contextentity import ContextEntity  # type: ignore[import-untyped]
        from rocrate.rocrate import ROCrate  # type: ignore[import-untyped]
    except ImportError:
        raise UserError("export --crate: needs the extra crate; pip install --editable '.[crate]' adds it") from None
    made = ROCrate()
    made.name = f"Private bandits: {len(cells)} cells"
    made.description = "Simulated and computed regret of private bandits; parquet files, each of one cell or of many."
    packs: dict[Path, list[ContextEntity]] = defaultdict(list)
    for copy in cells:
        place, of_cell, inside = copy.place, _described(copy), copy.place.file.relative_to(folder).as_posix()
        if place.is_packed:
            properties = {"@type": "CreativeWork", **of_cell}
            packs[place.file].append(made.add(ContextEntity(made, f"{inside}#{place.stem}", properties)))
        else:
            made.add_file(dest_path=inside, properties={**of_cell, **_of_file(place.file)})
    for file, parts in packs.items():
        about = {
            "name": f"{file.stem} on {file.parent.name}",
            "description": f"{len(parts)} cells, one after the other in the order of its parts",
            **_of_file(file),
        }
        made.add_file(dest_path=file.relative_to(folder).as_posix(), properties=about)["hasPart"] = parts
    path = folder / CRATE
    put(path, json.dumps(made.metadata.generate(), indent=1).encode())
    return path


def _of_file(file: Path) -> dict[str, Any]:
    return {"encodingFormat": "application/vnd.apache.parquet", "contentSize": str(file.stat().st_size)}


def _described(copy: Copy) -> dict[str, Any]:
    """The metadata of one cell."""
    cell = copy.columns
    parameters = ", ".join(f"{name} = {value}" for name, value in sorted(cell.items()) if name not in COLUMNS)
    return {
        "name": f"{cell['policy']} on {cell['instance']}",
        "description": (
            f"{copy.replications} replications until {cell['horizon']}; epsilon = {cell['epsilon']}, "
            f"delta = {cell['delta']}, {parameters}"
        ),
    }
