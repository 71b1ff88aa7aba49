"""Bounds of theorems in figures, as a config gives them.

overlays:
  - label: "upper bound, Theorem 4"
    bound: bandits.bounds.wu2025.deterministic_regret    # or `word: beta` to draw the value of a word itself
    arguments: {arms: arms, epsilon: epsilon}            # numbers, or words as in claims: see `Stored.word`
    filter: {policy: rnm_ftnl, resample: false}          # cells to which the theorem applies, by columns

In figures of kind `curves` the word `t` stands for the step.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bandits import ParameterError
from experiments.errors import UserError
from experiments.store.stored import WORDS, Stored, meets
from experiments.store.stored_cells import Cells
from experiments.store.theorems import imported, value_of
from scripts.drawing.spec import read


@dataclass(frozen=True)
class Overlay:
    """A bound: its label, how its value for a cell is computed, and a filter for the cells to which it applies."""

    label: str
    bound: str = ""
    word: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    filter: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.bound) == bool(self.word):
            raise UserError(f"figure.overlays: {self.label}: needs either a bound or a word")
        if self.bound:
            try:
                imported(self.bound, "bound")
            except ParameterError as error:
                raise UserError(f"figure.overlays: {self.label}: {error}") from None

    def of(self, stored: Stored, more: Mapping[str, float] | None = None) -> float:
        """Its value for a cell, NaN if it does not apply; `more` gives values of words beside those of the cell.

        Raises `UserError` for bad arguments.
        """
        if not meets(stored.columns, self.filter):
            return math.nan
        try:
            return value_of(self.bound, self.arguments, stored, more) if self.bound else stored.number(self.word)
        except ParameterError as error:
            if error.parameter.startswith("arguments"):
                raise UserError(f"figure.overlays: {self.label}: {error}") from None
            return math.nan  # such as a parameter that is null: the theorem does not apply


def _overlay(item: Mapping[str, Any]) -> Overlay:
    try:
        return read(Overlay, item)
    except UserError as error:
        message = str(error).removeprefix("figure.overlays: ").removeprefix("figure.")
        raise UserError(f"figure.overlays: {message}") from None


def overlays(config: Any, cells: Cells, more: Collection[str] = ()) -> list[Overlay]:
    """The overlays of a figure; `more` are the words that its kind adds.

    Raises `UserError` for unknown keys, bounds and words, and for columns that no cell has.
    """
    if not isinstance(config, list) or not all(isinstance(item, Mapping) for item in config):
        raise UserError(f"figure.overlays: must be a list of {{label, bound, arguments, filter}}, got {config}")
    known = set(cells.columns)
    found = [_overlay(item) for item in config]
    for overlay in found:
        words = [word for word in (*overlay.arguments.values(), overlay.word) if word and isinstance(word, str)]
        for key, names, allowed in (("arguments", words, known | WORDS | set(more)), ("filter", overlay.filter, known)):
            for name in names:
                if name not in allowed:
                    raise UserError(f"figure.overlays: {overlay.label}: {key}: {name} is not a column of these cells")
    return found
