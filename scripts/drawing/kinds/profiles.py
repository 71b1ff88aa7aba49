"""Compare policies over many instances: performance profiles and probabilities of improvement (Agarwal et al. 2021).

kind: profiles
title: above the figure
panels: a list of {title: ..., column: value or values}: which cells are compared; all policies on the same instances
unit: {label, bound, arguments}, the bound that values on each instance are divided by, see scripts/drawing/spec.py
against: the policy that the others are compared with
value: regret (the default) or another quantity of the cells

Upper row, performance profiles: the share of runs whose value is at most x units. Lower row, for each policy the
probability that a run of it has a smaller value than a run of the policy `against`. All instances have equal weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.cells import QUANTITIES
from experiments.errors import UserError, nearest
from experiments.intervals import Interval
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Mark, Panel, Series, Texts, labels
from scripts.drawing.legend import Entry, legend
from scripts.drawing.spec import (
    Overlay,
    measured,
    overlays,
    read_spec,
    repeated,
    require_columns,
    require_panels,
    require_words,
)

POINTS = 200  # of the curve of a profile
ERROR = 0.05


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    panels: list[dict[str, Any]]
    unit: dict[str, Any]
    against: str
    value: str = "regret"

    def __post_init__(self) -> None:
        require_panels(self.panels)
        require_words("value", [self.value], QUANTITIES)


@dataclass(frozen=True)
class Scores:
    """The values of all runs of a policy, in units: one array for each instance, by the repr of the instance."""

    policy: str
    entry: Entry
    values: Mapping[str, FloatArray]


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A profile and a comparison for each condition. Raises `UserError`."""
    spec = read_spec(Spec, config)
    require_columns(spec.panels, [], cells)
    (unit,) = overlays([spec.unit], cells)
    inside = [repeated(panel, cells) for panel in spec.panels]
    together = Cells.of(inside)
    entries = legend(together, inside, colours, text_of=words.label_of, same=_instance)
    scores = [_scores(spec, unit, of_panel, entries) for of_panel in inside]
    titles = [str(panel["title"]) for panel in spec.panels]
    x = f"{QUANTITIES[spec.value].removeprefix('mean ')} / {unit.label}"
    rows = [
        [
            _profile(title, x, first == 0, rivals)
            for first, (title, rivals) in enumerate(zip(titles, scores, strict=True))
        ],
        [_comparison(title, spec.against, rivals) for title, rivals in zip(titles, scores, strict=True)],
    ]
    return Drawing(
        title=spec.title,
        caption=[f"{words.runs(together)} runs on each of {len(scores[0][0].values)} instances; 95 % intervals"],
        shown="above, the share of runs with at most so much; below, how often a run has less than one of another",
        rows=rows,
        size=(1.2 + 4.2 * len(titles), 6.2),
        legend=labels(rows[0]),
    )


def _instance(stored: Stored) -> str:
    """The instance with its parameters, as a key."""
    return repr(stored.cell.instance)


def _scores(spec: Spec, unit: Overlay, cells: Cells, entries: Mapping[str, Entry]) -> list[Scores]:
    """The scores of every policy. Raises `UserError` if policies have different instances, or one has no unit."""
    scores = []
    for entry, of_policy in cells.grouped(lambda stored: entries[stored.cell.key]).items():
        runs = zip(of_policy, measured(of_policy, spec.value), strict=True)
        values = {_instance(stored): run.astype(float) / _size(unit, stored) for stored, run in runs}
        scores.append(Scores(of_policy[0].cell.policy.name, entry, values))
    for one in scores:
        if one.values.keys() != scores[0].values.keys():
            first = scores[0].entry.label
            raise UserError(f"figure.panels: {one.entry.label} and {first} were not run on the same instances")
    policies = {one.policy for one in scores}
    if spec.against not in policies:
        raise UserError(f"figure.against: {spec.against} is in no panel; {nearest(spec.against, policies)}")
    return scores


def _size(unit: Overlay, stored: Stored) -> float:
    size = unit.of(stored)
    if not size > 0:
        raise UserError(f"figure.unit: {unit.label} is {size} for {stored.cell.policy.name}; give panels without it")
    return size


def _profile(title: str, x: str, first: bool, scores: Sequence[Scores]) -> Panel:
    together = np.concatenate([values for one in scores for values in one.values.values()])
    least, most = np.quantile(together[together > 0], [0.001, 0.999])
    grid = np.geomspace(least, most, num=POINTS)
    marks: list[Mark] = []
    lines = []
    for one in scores:
        share, low, high = intervals.share_at_most(list(one.values.values()), grid, ERROR)
        marks.append(Band(grid, low, high, one.entry.colour, 0.2))
        marks.append(Series(grid, share, Look(one.entry.colour, one.entry.dashes), one.entry.label))
        half = grid[np.searchsorted(share, 0.5)] if share[-1] >= 0.5 else np.inf
        lines.append(f"half of the runs of {one.entry.label} have at most {half:.3g}")
    y = Axis("share of runs with at most this much" if first else "", low=0, high=1.02)
    return Panel(title, Axis(x, "log", decades_only=True), y, marks, words=lines)


def _comparison(title: str, against: str, scores: Sequence[Scores]) -> Panel:
    base = next(one for one in scores if one.policy == against)
    shares = [(_compared(one, base), one) for one in scores if one is not base]
    shares.sort(key=lambda pair: -pair[0].estimate)
    marks: list[Mark] = [Series(np.full(2, 0.5), np.array([-0.6, len(shares) - 0.4]), Look("0.6", "dashed", width=0.8))]
    lines = []
    for place, (share, one) in enumerate(shares):
        level = np.full(2, float(place))
        marks.append(Series(np.array([share.low, share.high]), level, Look(one.entry.colour, width=2)))
        marker_only = Look(one.entry.colour, "none", one.entry.marker, marker_size=5)
        estimate = np.array([share.estimate])
        marks.append(Series(estimate, level[:1], marker_only))
        marks.append(Texts(estimate, level[:1], [one.entry.label], "left" if share.estimate < 0.5 else "right"))
        lines.append(
            f"{one.entry.label} has less with probability {share.estimate:.2f} ({share.low:.2f} to {share.high:.2f})"
        )
    x = Axis(f"probability of less than {base.entry.label}", low=-0.03, high=1.03)
    return Panel(title, x, Axis(low=len(shares) - 0.4, high=-0.6, numbered=False), marks, words=lines)


def _compared(one: Scores, base: Scores) -> Interval:
    return intervals.probability_of_less([one.values[at] for at in base.values], list(base.values.values()), ERROR)
