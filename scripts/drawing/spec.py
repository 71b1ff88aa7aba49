"""Read and check the `figure` of an experiment's config, in the same way for all kinds of figures."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bandits import Guarantee, ParameterError, Scope
from experiments.cells import RunValues
from experiments.config import build
from experiments.errors import UserError, nearest
from experiments.evidence.theorems import imported, value_of
from experiments.store.stored import WORDS, Cells, Stored, meets
from scripts.drawing.words import text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SpecType = TypeVar("SpecType", bound="DataclassInstance")
PanelConditions = Mapping[str, Any]  # a panel: its title, and the values of columns that select its cells
PRIVATE = tuple(str(scope) for scope in Scope if scope is not Scope.NONE)
SCALES = ("linear", "log")
OWN = ("title", "promise")  # keys of a panel that are not columns
SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "arms": "K", "mean": "μ", "accuracy": "α", "beta": "β", "gap": "Δ"}
SYMBOLS |= {
    "transcript_epsilon": "ε of the transcript",
    "promised_rho": "ρ",
    "promised_level": "level of Gaussian privacy",
}
SYMBOLS |= {"least_gap": "least gap", "inverse_gap": "1 / gap", "explored": "users who explore"}


def read_spec(spec: type[SpecType], config: Mapping[str, Any]) -> SpecType:
    """The dataclass `spec` from the keys of a `figure`. Raises `UserError` for unknown or missing keys."""
    return build.read(
        spec, config, lambda key, problem: UserError(f"figure.{key}: {problem}"), value_of=_with_texts_that_can_be_drawn
    )


def _with_texts_that_can_be_drawn(key: str, value: Any, to: Any) -> Any:
    """A value converted to its type; `UserError` for a title or label that cannot be drawn."""
    if key in ("title", "label"):
        return "" if key == "title" and value is None else text(value, f"figure.{key}")
    made = build.convert(value, to)
    if key == "panels":
        return [_panel(panel) if isinstance(panel, dict) and "title" in panel else panel for panel in made]
    return made


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


def require_words(key: str, words: Any, allowed: Collection[str]) -> None:
    """Raise `UserError` unless `words` is a list of known words."""
    if not isinstance(words, list):
        raise UserError(f"figure.{key}: must be a list, got {words}")
    for word in words:
        if not isinstance(word, str) or word not in allowed:
            raise UserError(f"figure.{key}: {word} is unknown; {nearest(str(word), allowed)}")


def require_columns(panels: Sequence[PanelConditions], more: Iterable[str], cells: Cells) -> None:
    """Raise `UserError` if a condition of a panel, or a name in `more`, is not a column of any of the `cells`."""
    columns = cells.columns
    for key, names in (("panels", [name for panel in panels for name in panel if name not in OWN]), ("curves", more)):
        for name in names:
            if name not in columns:
                raise UserError(f"figure.{key}: no column {name}; {nearest(name, columns)}")


def shown_in_panel(panel: PanelConditions, cells: Cells) -> Cells:
    """The cells that meet the conditions of a panel.

    A policy that lacks a parameter meets every condition on it; for example, a policy without privacy meets conditions
    on epsilon. A private policy meets a `promise` if its own guarantee implies it at the policy's epsilon; a policy
    without privacy always meets it, since it is drawn for comparison.
    """
    conditions = {name: wanted for name, wanted in panel.items() if name not in OWN}
    promise = Promise.of(panel["promise"], "panels: promise") if "promise" in panel else None

    def passes(stored: Stored) -> bool:
        given = {name: wanted for name, wanted in conditions.items() if not cells.lacks(stored, name)}
        return meets(stored.columns, given) and (promise is None or promise.kept_by(stored))

    return cells.only(passes)


def repeated(panel: PanelConditions, cells: Cells) -> Cells:
    """The simulated cells of a panel, without exact ones. Raises `UserError` if there are none."""
    inside = shown_in_panel(panel, cells).only(lambda stored: stored.cell.repeatable)
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


def measured(cells: Cells, quantity: str) -> list[RunValues]:
    """The `quantity` of each replication of each cell. Raises `UserError` if a cell does not record it."""
    try:
        return cells.measure(quantity)
    except ParameterError as error:
        raise UserError(f"figure.{error}") from None


@dataclass(frozen=True)
class Overlay:
    """A bound of a theorem: its label, its value for a cell, and the cells to which it applies, as a config gives it.

    overlays:
      - label: "upper bound, Theorem 4"
        bound: bandits.bounds.wu2025.deterministic_regret    # or `word: beta` to draw the value of a word itself
        arguments: {arms: arms, epsilon: epsilon}            # numbers, or words as in claims: see `Stored.word`
        filter: {policy: rnm_ftnl, resample: false}          # cells to which the theorem applies, by columns

    In figures of kind `curves` the word `t` stands for the step.
    """

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
        return read_spec(Overlay, item)
    except UserError as error:
        message = str(error).removeprefix("figure.overlays: ").removeprefix("figure.")
        raise UserError(f"figure.overlays: {message}") from None


def overlays(config: Any, cells: Cells, more: Collection[str] = ()) -> list[Overlay]:
    """The overlays of a figure; `more` are the words that its kind adds.

    Raises `UserError` for unknown keys, bounds and words, and for columns that no cell has.
    """
    if not isinstance(config, list) or not all(isinstance(item, Mapping) for item in config):
        raise UserError(f"figure.overlays: must be a list of {{label, bound, arguments, filter}}, got {config}")
    there = set(cells.columns)
    items = [_overlay(item) for item in config]
    for overlay in items:
        words = [word for word in (*overlay.arguments.values(), overlay.word) if word and isinstance(word, str)]
        for key, names, allowed in (
            ("arguments", words, there | WORDS | set(more)),
            ("filter", overlay.filter, there),
        ):
            for name in names:
                if name not in allowed:
                    raise UserError(f"figure.overlays: {overlay.label}: {key}: {name} is not a column of these cells")
    return items
