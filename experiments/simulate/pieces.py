"""Pieces of cells that take long: replications on disk before their cell is complete."""

import hashlib
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.simulate.block import Block
from experiments.whole_files import put

FOLDER = ".pieces"
SECONDS = 2.0  # of simulation that a cell may have in memory alone
SHARE = 0.01  # of its time so far that it may have besides: a cell of days need not have a million pieces
SUFFIX = ".piece"


@dataclass(frozen=True)
class Pieces:
    """Pieces below `root`, a folder of results: .pieces/KEY/FIRST-CHECKSUM.piece.

    A piece is never changed, and says in its name what is in it: processes that save at once are not in each other's
    way. A piece that is damaged, or that another version of a user's file made, counts as not there.
    """

    root: Path

    def keys(self) -> set[str]:
        """The keys of cells that have pieces."""
        try:
            return {folder.name for folder in (self.root / FOLDER).iterdir()}
        except OSError:
            return set()

    @staticmethod
    def is_due(unsaved: float, saved: float) -> bool:
        """Whether a cell that has so many seconds of simulation in memory, and in pieces, needs another piece."""
        return unsaved > SECONDS + SHARE * saved

    def save(self, cell: Cell, blocks: Sequence[Block]) -> None:
        """Keep blocks of a cell. Raises `OSError`."""
        for origin in {json.dumps(block.origin, sort_keys=True) for block in blocks}:
            block = Block.joined([block for block in blocks if json.dumps(block.origin, sort_keys=True) == origin])
            about = json.dumps({"key": cell.key, "source": cell.code, "origin": block.origin})
            content = io.BytesIO()
            np.savez(content, about=about, numbers=block.numbers, seconds=block.seconds, **_prefixed(block))
            digest = hashlib.sha256(content.getvalue()).hexdigest()
            put(self._folder(cell) / f"{block.numbers[0]}-{digest}{SUFFIX}", content.getvalue())

    def read(self, cell: Cell) -> list[Block]:
        """What was saved of a cell."""
        found = [_read(path, cell) for path in sorted(self._folder(cell).glob(f"*{SUFFIX}"))]
        return [block for block in found if block is not None]

    def remove(self, cell: Cell) -> None:
        """Forget the pieces of a cell that is stored."""
        shutil.rmtree(self._folder(cell), ignore_errors=True)

    def _folder(self, cell: Cell) -> Path:
        return self.root / FOLDER / cell.key


def numbers_of(path: Path) -> list[int] | None:
    """The replications in the piece at `path`, None if it is damaged."""
    content = _sound(path)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as piece:
        found: list[int] = piece["numbers"].tolist()
    return found


def _sound(path: Path) -> bytes | None:
    """What the piece at `path` holds, None unless it is what its name says."""
    content = path.read_bytes()
    return content if path.stem.partition("-")[2] == hashlib.sha256(content).hexdigest() else None


def _prefixed(block: Block) -> dict[str, Any]:
    return {f"rows_{name}": values for name, values in block.rows.items()}


def _read(path: Path, cell: Cell) -> Block | None:
    """The piece at `path`, or None if it cannot be used."""
    try:
        content = _sound(path)
        if content is None:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as piece:
            about = json.loads(str(piece["about"]))
            rows = {name: piece[f"rows_{name}"] for name in cell.fields}
            block = Block(piece["numbers"], rows, piece["seconds"], about["origin"])
        cell.check(rows, {"columns": cell.columns})
    except (OSError, ValueError, LookupError):
        return None
    return block if (about["key"], about["source"]) == (cell.key, cell.code) else None
