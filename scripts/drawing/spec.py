"""Read and check the `figure` of an experiment's config, in the same way for all kinds of figures."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bandits import Guarantee, ParameterError, Scope
from experiments.cells import Values
from experiments.config import build
from experiments.errors import UserError, nearest
from experiments.store.stored import Stored, meets
from experiments.store.stored_cells import Cells
from scripts.drawing.words import text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SpecType = TypeVar("SpecType", bound="DataclassInstance")
Conditions = Mapping[str, Any]  # a panel: its title, and the values of columns that select its cells
PRIVATE = tuple(str(scope) for scope in Scope if scope is not Scope.NONE)
SCALES = ("linear", "log")
OWN = ("title", "promise")  # keys of a panel that are not columns
SYMBOLS = {"epsilon": "ε", "delta": "δ", "arms": "K", "mean": "μ", "accuracy": "α", "beta": "β", "gap": "Δ"}
SYMBOLS |= {"transcript_epsilon": "ε of the transcript"}
SYMBOLS |= {"least_gap": "least gap", "inverse_gap": "1 / gap"}


def read(spec: type[SpecType], config: Mapping[str, Any]) -> SpecType:
    """The dataclass `spec` from the keys of a `figure`. Raises `UserError` for unknown or missing keys."""
    return build.read(
        spec, config, lambda key, problem: UserError(f"figure.{key}: {problem}"), value_of=_with_texts_that_can_be_drawn
    )


def _with_texts_that_can_be_drawn(key: str, value: Any, to: Any) -> Any:
    """A value converted to its type; `UserError` for a title or label that cannot be drawn."""
    if key in ("title", "label"):
        return text(value, f"figure.{key}")
    found = build.convert(value, to)
    if key == "panels":
        return [_panel(of) if isinstance(of, dict) and "title" in of else of for of in found]
    return found


def _panel(conditions: dict[str, Any]) -> dict[str, Any]:
    return {**conditions, "title": text(conditions["title"], "figure.panels: title")}


def require_panels(panels: Any) -> None:
    """Raise `UserError` unless `panels` is a list of conditions, each with a title."""
    listed = isinstance(panels, list) and panels
    if not listed or not all(isinstance(panel, dict) and "title" in panel for panel in panels):
        raise UserError(f"figure.panels: must be a list of {{title: ..., column: value}}, got {panels}")
    for panel in panels:
        if "promise" in panel:
            Promise.of(panel["promise"], "panels: promise")


def require_words(key: str, words: Any, known: Collection[str]) -> None:
    """Raise `UserError` unless `words` is a list of known words."""
    if not isinstance(words, list):
        raise UserError(f"figure.{key}: must be a list, got {words}")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise UserError(f"figure.{key}: {word} is unknown; {nearest(str(word), known)}")


def require_columns(panels: Sequence[Conditions], more: Iterable[str], cells: Cells) -> None:
    """Raise `UserError` if a condition of a panel, or a name in `more`, is not a column of any of the `cells`."""
    known = cells.columns
    for key, names in (("panels", [name for panel in panels for name in panel if name not in OWN]), ("curves", more)):
        for name in names:
            if name not in known:
                raise UserError(f"figure.{key}: no column {name}; {nearest(name, known)}")


def shown(panel: Conditions, cells: Cells) -> Cells:
    """The cells that meet the conditions of a panel.

    A policy that lacks a parameter meets every condition on it; for example, a policy without privacy meets conditions
    on epsilon. A private policy meets a `promise` if its own guarantee implies it at the policy's epsilon; a policy
    without privacy always meets it, since it is drawn for comparison.
    """
    conditions = {name: wanted for name, wanted in panel.items() if name not in OWN}
    promise = Promise.of(panel["promise"], "panels: promise") if "promise" in panel else None

    def passes(stored: Stored) -> bool:
        asked = {name: wanted for name, wanted in conditions.items() if not cells.lacks(stored, name)}
        return meets(stored.columns, asked) and (promise is None or promise.kept_by(stored))

    return cells.only(passes)


def repeated(panel: Conditions, cells: Cells) -> Cells:
    """The simulated cells of a panel, without exact ones. Raises `UserError` if there are none."""
    inside = shown(panel, cells).only(lambda stored: stored.cell.repeatable)
    if not inside:
        raise UserError(f"figure.panels: no repeated cell meets the conditions of the panel {panel}")
    return inside


@dataclasses.dataclass(frozen=True)
class Promise:
    """A guarantee that a figure requires of its policies: scope and delta; epsilon is given separately."""

    scope: Scope
    delta: float

    @classmethod
    def of(cls, given: Any, key: str) -> Self:
        """From {scope: ..., delta: ...}. Raises `UserError`."""
        message = (
            f"figure.{key}: must be {{scope: SCOPE, delta: NUMBER}}, SCOPE one of {', '.join(PRIVATE)}, got {given}"
        )
        if not isinstance(given, Mapping) or not {"scope"} <= set(given) <= {"scope", "delta"}:
            raise UserError(message)
        scope, delta = given["scope"], given.get("delta", 0.0)
        if scope not in PRIVATE or isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
            raise UserError(message)
        return cls(Scope(scope), float(delta))

    def at(self, epsilon: float) -> Guarantee:
        return Guarantee(epsilon, self.delta, self.scope)

    def kept_by(self, stored: Stored) -> bool:
        guarantee = stored.cell.policy.guarantee
        return not guarantee.private or guarantee.implies(self.at(guarantee.epsilon))


def measured(cells: Cells, quantity: str) -> list[Values]:
    """The `quantity` of each replication of each cell. Raises `UserError` if a cell does not record it."""
    try:
        return cells.measure(quantity)
    except ParameterError as error:
        raise UserError(f"figure.{error}") from None
