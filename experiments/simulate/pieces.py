"""Pieces of long cells: replications that are saved before their cell is complete."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from experiments.cells import Cell
from experiments.store.results_file import DamagedFileError, bytes_of, checksum, piece_in, schema_of_piece
from experiments.store.stored import Replications
from experiments.whole_files import put

FOLDER = ".pieces"
SECONDS = 2.0  # of simulation that a cell may have in memory only,
SHARE = 0.01  # plus this share of its saved time, so that a cell that takes days does not have a million pieces
SUFFIX = ".piece"


@dataclass(frozen=True)
class Pieces:
    """Pieces below `root`, a folder of results: .pieces/KEY/FIRST-CHECKSUM.piece.

    A piece is never changed, and its name has the checksum of its content, so that several processes can save at the
    same time. Pieces that are damaged, or from another version of a user's code, are ignored.
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
        """Whether to save a piece, given the seconds of simulation that are unsaved and those that are saved."""
        return unsaved > SECONDS + SHARE * saved

    def save(self, blocks: Sequence[Replications]) -> None:
        """Save blocks, a piece for each cell and origin. Raises `OSError`."""
        together: dict[tuple[str, str], list[Replications]] = {}
        for block in blocks:
            together.setdefault((block.footer["key"], json.dumps(block.origin, sort_keys=True)), []).append(block)
        for (key, _), several in together.items():
            piece = Replications.joined(several)
            content = bytes_of(piece, schema_of_piece(piece.kind))
            put(self.root / FOLDER / key / f"{piece.numbers[0]}-{checksum(content)}{SUFFIX}", content)

    def read(self, cell: Cell) -> list[Replications]:
        """The pieces of a cell."""
        blocks = [_read(path) for path in sorted(self._folder(cell).glob(f"*{SUFFIX}"))]
        wanted = cell.key, cell.code
        return [piece for piece in blocks if piece and (piece.footer["key"], piece.footer["source"]) == wanted]

    def remove(self, cell: Cell) -> None:
        """Remove the pieces of a cell."""
        shutil.rmtree(self._folder(cell), ignore_errors=True)

    def _folder(self, cell: Cell) -> Path:
        return self.root / FOLDER / cell.key


def numbers_of(path: Path) -> list[int] | None:
    """The replications in the piece at `path`, None if it is damaged."""
    piece = _read(path)
    return None if piece is None else cast(list[int], piece.numbers.tolist())


def _read(path: Path) -> Replications | None:
    """The piece at `path`, or None if it cannot be used."""
    try:
        content = path.read_bytes()
        return piece_in(content) if path.stem.partition("-")[2] == checksum(content) else None
    except (OSError, DamagedFileError):
        return None
