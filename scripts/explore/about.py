"""What the page shows of a cell besides its numbers."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bandits.environments.bernoulli import BernoulliInstance
from bandits.environments.full_information import FullInformation
from bandits.environments.heavy_tails import HeavyTailedInstance
from bandits.guarantees import Guarantee
from experiments.cells import Cell
from experiments.cells.base import parameters_of
from scripts.drawing import words
from scripts.drawing.drawing import without_mathtext
from scripts.drawing.legend import colour_key
from scripts.drawing.numbers import parameter
from scripts.drawing.spec import SYMBOLS

BUDGET = ("epsilon", "delta")
OF_RECORDS = {  # the kind of question that cells answer which have no curve of regret beside others
    "identification": "identification",
    "stopping": "stopping rules",
    "privacy": "privacy of transcripts",
    "worst_profile": "worst profiles",
    "weighted": "means from weighted runs",
}


@dataclass(frozen=True)
class About:
    """A cell in plain values: texts, numbers, and None for what is infinite or missing.

    Attributes
    ----------
    identity: as that of the cell; cells that have the same differ only in the checkpoints that they keep.
    kind: of rewards, or of question, see `kind_of_rewards`.
    instance: its name and parameters in words.
    variant: the policy with its parameters, without the budget; as JSON, so that equal ones are equal texts.
    columns: as in `experiments.load`; those in `of_instance` are of the instance.
    """

    key: str
    identity: str
    record: str
    kind: str
    instance: str
    policy: str
    label: str
    legend: str
    variant: str
    colour: str
    citation: str
    guarantee: Guarantee
    columns: dict[str, Any]
    of_instance: tuple[str, ...]
    headline: str
    exact: bool
    caveats: tuple[str, ...]


def about_cell(cell: Cell) -> About:
    """What the page shows of a cell. Raises `UserError` for a label of a user's class that cannot be drawn."""
    policy = cell.policy
    own = {name: value for name, value in parameters_of(policy).items() if name not in BUDGET}
    return About(
        key=cell.key,
        identity=cell.identity,
        record=cell.record,
        kind=kind_of_rewards(cell),
        instance=instance_in_words(cell),
        policy=policy.name,
        label=without_mathtext(words.name(policy)),
        legend=without_mathtext(words.legend_name(policy)),
        variant=json.dumps([policy.name, plain(own)]),
        colour=colour_key(policy),
        citation=policy.citation,
        guarantee=policy.guarantee,
        columns=plain(cell.columns),
        of_instance=(*parameters_of(cell.instance), "instance", "arms"),
        headline=cell.headline,
        exact=not cell.repeatable,
        caveats=cell.caveats,
    )


def kind_of_rewards(cell: Cell) -> str:
    """The kind of rewards that the policy learns from, or of question if the cell is not about regret."""
    if cell.record in OF_RECORDS:
        return OF_RECORDS[cell.record]
    if isinstance(cell.instance, FullInformation):
        return "full information"
    if isinstance(cell.instance, HeavyTailedInstance):
        return "heavy tails"
    return "bits" if isinstance(cell.instance, BernoulliInstance) else "bounded"


def instance_in_words(cell: Cell) -> str:
    """As in "c3, K = 5" or "random_means, K = 10, seed 1"."""
    values = parameters_of(cell.instance)
    said = [] if cell.arms < 2 else [f"K = {parameter(cell.arms)}"]
    said += [
        f"{SYMBOLS.get(name, name)} {parameter(value)}"
        for name, value in values.items()
        if name != "arms" and value is not None
    ]
    return ", ".join([cell.instance.name, *said])


def plain(value: Any) -> Any:
    """A value as JSON knows it: None for a number that is infinite or undefined, lists for tuples."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if hasattr(value, "item"):  # a number of numpy
        return plain(value.item())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def variant_labels(cells: Iterable[About]) -> dict[str, str]:
    """A label for each variant of a policy, no two the same: parameters that distinguish variants are added.

    It is the name of the policy in legends, unless that depends on the budget.
    """
    legends: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for cell in cells:
        legends.setdefault(cell.variant, set()).add(cell.legend)
        names[cell.variant] = cell.label
    of_label: dict[str, list[str]] = {}
    for variant, said in legends.items():
        of_label.setdefault(said.pop() if len(said) == 1 else names[variant], []).append(variant)
    return {variant: text for label, variants in of_label.items() for variant, text in _told_apart(label, variants)}


def _told_apart(label: str, variants: Iterable[str]) -> Sequence[tuple[str, str]]:
    parsed = {variant: json.loads(variant) for variant in variants}
    names = dict.fromkeys(name for _, values in parsed.values() for name in values)
    differing = [name for name in names if len({repr(chosen.get(name)) for _, chosen in parsed.values()}) > 1]
    several = len({policy for policy, _ in parsed.values()}) > 1
    labels = []
    for variant, (policy, values) in parsed.items():
        said = [f"{name} {parameter(values[name])}" for name in differing if values.get(name) is not None]
        labels.append((variant, ", ".join([f"{label} [{policy}]" if several else label, *said])))
    return labels
