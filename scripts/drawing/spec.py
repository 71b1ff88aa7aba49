"""What the specs of different kinds of figures have in common, checked in one way."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bandits import ParameterError
from experiments.cells import BaseCell
from experiments.errors import UserError, nearest
from experiments.quantities import Values, measure
from experiments.store import Result


def require_panels(panels: Any) -> None:
    """Raise `UserError` unless `panels` is a list of conditions, each with a title."""
    listed = isinstance(panels, list) and panels
    if not listed or not all(isinstance(panel, dict) and "title" in panel for panel in panels):
        raise UserError(f"figure.panels: must be a list of {{title: ..., column: value}}, got {panels}")


def require_words(key: str, words: Any, known: Collection[str]) -> None:
    """Raise `UserError` unless `words` are a list of known ones."""
    if not isinstance(words, list):
        raise UserError(f"figure.{key}: must be a list, got {words}")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise UserError(f"figure.{key}: {word} is unknown; {nearest(str(word), known)}")


def require_columns(panels: Sequence[Mapping[str, Any]], more: Iterable[str], cells: Iterable[BaseCell]) -> None:
    """Raise `UserError` for a condition, or a word in `more`, that is no column of any of the `cells`."""
    known = {name for cell in cells for name in cell.columns}
    for key, names in (("panels", [name for panel in panels for name in panel if name != "title"]), ("curves", more)):
        for name in names:
            if name not in known:
                raise UserError(f"figure.{key}: no column {name}; {nearest(name, known)}")


def values_of(quantity: str, cell: BaseCell, result: Result) -> Values:
    """The `quantity` of each replication. Raises `UserError` where nothing of it is recorded."""
    try:
        return measure(quantity, cell, result)
    except ParameterError as error:
        raise UserError(f"figure.{error}") from None
