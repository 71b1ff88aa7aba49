"""The caption below a figure on a page: what is shown, horizons, numbers of runs, and all parameters;
and what the paper prints in its place.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bandits.learner import Learner
from experiments.cells import Cell, is_part
from experiments.config.build import read
from experiments.config.compose import Composed, resolved
from experiments.errors import UserError
from experiments.store.stored import Cells
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.fresh import Drawn
from scripts.drawing.legend import names_behind
from scripts.drawing.numbers import choices
from scripts.drawing.spec import SYMBOLS, shown_in_panel

Lines = list[str]
Named = tuple[str, Any]  # a name, and the instance, policy or part of one that has it


def caption(drawn: Drawn | None, cells: Cells) -> list[tuple[str, Lines]]:
    """Terms, each with its lines, about the `cells` that are drawn; `drawn` is None without a figure."""
    terms = [("Shown", [drawn.shown])] if drawn is not None else []
    terms += _of_cells(cells) if cells else []
    terms += drawn.notes.items() if drawn is not None else []
    behind = names_behind(cells)
    caveats = {f"{_name(stored.cell.policy, behind)}: {caveat}" for stored in cells for caveat in stored.cell.caveats}
    return [(term, lines) for term, lines in (*terms, ("Caveats", sorted(caveats))) if lines]


def drawn_cells(figure: Mapping[str, Any], cells: Cells) -> Cells:
    """The cells that some panel of a `figure` shows; all of them if its kind has no panels."""
    panels = figure.get("panels")
    return Cells.of(shown_in_panel(panel, cells) for panel in panels) if panels and cells else cells


def _of_cells(cells: Cells) -> list[tuple[str, Lines]]:
    behind = names_behind(cells)
    return [
        ("Horizon", _horizons([stored.cell for stored in cells])),
        ("Runs", [_runs(cells)]),
        ("Instances", _parts((stored.cell.instance.name, stored.cell.instance) for stored in cells)),
        ("Policies", _parts((_name(stored.cell.policy, behind), stored.cell.policy) for stored in cells)),
        ("Privacy", _promises((stored.cell.policy for stored in cells), behind)),
    ]


def _name(policy: Learner[Any], behind: Mapping[str, str]) -> str:
    """The label of a policy, as plain text."""
    return without_mathtext(words.name(policy)) + behind[policy.name]


def _horizons(cells: Iterable[Cell]) -> Lines:
    """When runs end: one line for all kinds of cells that have the same text for it."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.until(""), cell.unit), []).append(cell)
    return [_until(group) for group in groups.values()]


def _until(group: Sequence[Cell]) -> str:
    """The text of the kind with its unit, as in "at most 10⁵ samples"."""
    text, unit = group[0].until(choices(cell.horizon for cell in group)), group[0].unit
    return text if text.endswith(unit) else f"{text} {unit}"


def _runs(cells: Cells) -> str:
    counts = [stored.replications for stored in cells if not stored.exact]
    exact = len(cells) - len(counts)
    simulated = [f"{choices(counts)} of each of {len(counts)} cells"] if counts else []
    return ", ".join([*simulated, *([f"{exact} cells computed exactly"] if exact else [])])


def _parts(parts: Iterable[Named]) -> Lines:
    """One line for each name of an instance or policy, with all values of its parameters."""
    groups: dict[str, list[Any]] = {}
    for name, part in parts:
        groups.setdefault(name, []).append(part)
    return [_with_parameters(name, group) for name, group in groups.items()]


def _with_parameters(name: str, group: Sequence[Any]) -> str:
    fields = dict.fromkeys(item.name for part in group for item in dataclasses.fields(part))
    texts = [_values(field, [getattr(part, field) for part in group if hasattr(part, field)]) for field in fields]
    return f"{name} ({', '.join(texts)})" if texts else name


def _values(field: str, values: Sequence[Any]) -> str:
    if is_part(values[0]):
        return f"{field}: {words.listed(_parts((value.name, value) for value in values))}"
    return f"{SYMBOLS.get(field, field)} {choices(values)}"


def _promises(policies: Iterable[Learner[Any]], behind: Mapping[str, str]) -> Lines:
    """Scope and neighbours of each promise, one line for all policies that share them."""
    groups: dict[str, dict[str, None]] = {}
    for policy in policies:
        promise = policy.guarantee
        text = f"{promise.scope.value}, {promise.neighbours.value}" if promise.private else promise.absence
        groups.setdefault(text, {})[_name(policy, behind)] = None
    return [f"{', '.join(labels)}: {text}" for text, labels in groups.items()]


@dataclass(frozen=True)
class Printed:
    """What a paper prints in the place of a figure, and how ours differs: the key `printed` of an experiment.

    printed:
      where: "Figure 3"                   # in the paper
      shows: "Mean regret of ..."         # its caption and the text about it, in our words
      differs: ["Which DP-UCB: ..."]      # what is unlike it here, and why
    """

    where: str
    shows: str
    differs: list[str]


def printed_of(composed: Composed) -> Printed | None:
    """The `printed` of a config, None if it has none. Raises `UserError` that names the key."""
    node = resolved(composed.keys, "printed")
    if node is None:
        return None
    if not isinstance(node, dict):
        raise UserError(f"printed: must be a mapping with where, shows and differs, got {node}")
    printed = read(Printed, node, lambda key, problem: UserError(f"printed.{key}: {problem}"))
    if not all(isinstance(text, str) for text in printed.differs):
        raise UserError(f"printed.differs: must be a list of texts, got {printed.differs}")
    return printed
