"""The mean of a number of each run, such as final regret, against a parameter, with fitted slopes and bounds.

kind: sweep
title: above the figure
x: a column, or a word for a property of the instance, such as least_gap
panels: a list of {title: ..., column: value or values}: which cells each panel shows
value: regret (the default, at the horizon) or another quantity of the cells, see experiments/cells/
in_turn: true draws a start phase that is never left, in which the order of arms decides regret, as pulling in turn
scales: [log, log], the scales of x and y, linear or log
curves: columns that distinguish the curves of one policy
overlays: a list of bounds, see scripts/drawing/spec.py
ratios: true adds a row in which the curves of a panel are divided by its first exact one, to tell close curves apart
slopes: a list of {panel, policy, between: [low, high]}, fitted by least squares
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.cells import QUANTITIES, RunValues
from experiments.cells.weighted import plain_runs_suffice
from experiments.errors import UserError, nearest
from experiments.evidence.means import values_of_mean, weighted_runs_of
from experiments.store.stored import WORDS, Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Scale, Series, even_columns, in_rows, labels
from scripts.drawing.legend import COUNTERPART_COLOUR, PALETTE, Entry, colours_of, dashes, legend
from scripts.drawing.numbers import quantity
from scripts.drawing.spec import (
    SYMBOLS,
    Overlay,
    measured,
    overlays,
    read_spec,
    require_columns,
    require_panels,
    require_words,
    shown_in_panel,
)


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind. Raises `UserError` for unknown values."""

    title: str
    x: str
    panels: list[dict[str, Any]]
    value: str = "regret"
    in_turn: bool = False
    curves: list[str] = field(default_factory=list)
    overlays: list[dict[str, Any]] = field(default_factory=list)
    scales: list[str] = field(default_factory=lambda: ["log", "log"])
    ratios: bool = False
    slopes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_panels(self.panels)
        require_words("value", [self.value], QUANTITIES)
        for slope in self.slopes:
            if not (isinstance(slope, dict) and {"panel", "policy", "between"} == set(slope)):
                raise UserError(f"figure.slopes: must be a list of {{panel, policy, between}}, got {slope}")
            ends = slope["between"]
            if not (isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends)):
                raise UserError(f"figure.slopes: between must be two numbers, got {ends}")
            if slope["panel"] not in range(len(self.panels)):
                raise UserError(f"figure.slopes: panel must be in 0..{len(self.panels) - 1}, got {slope['panel']}")
        if len(self.scales) != 2 or not set(self.scales) <= {"linear", "log"}:
            raise UserError(f"figure.scales: must be those of x and y, linear or log each, got {self.scales}")

    def legend(self, cells: Cells, colours: Mapping[str, str]) -> dict[str, Entry]:
        """The entry of the curve of every cell that is drawn, by its key.

        The label gives the columns in `curves`. Without `curves` it is the policy's name in legends if that is the same
        at every x, else its label. Other parameters that vary at one x are added. With `curves` every label has a
        colour of its own.
        """
        require_columns(self.panels, self.curves, cells)
        legends: dict[tuple[Any, ...], set[str]] = {}
        for stored in cells:
            legends.setdefault(self._all_but_x(stored), set()).add(words.legend_name(stored.cell.policy))

        def label_of(stored: Stored, behind: str) -> str:
            return self._label(stored, legends[self._all_but_x(stored)], behind)

        def same(stored: Stored) -> Hashable:
            return _number(self.x, stored, cells), stored.exact

        inside = [shown_in_panel(panel, cells) for panel in self.panels]
        drawn = Cells.of(inside)
        assigned = colours_of((stored.cell.policy for stored in cells), colours)
        entries = legend(drawn, inside, assigned, label_of, same)
        return {key: _own_colour(entry) for key, entry in entries.items()} if self.curves else entries

    def _all_but_x(self, stored: Stored) -> tuple[Any, ...]:
        """A key that is equal for cells whose policies differ in x only."""
        policy = stored.cell.policy
        return (policy.name, *((name, value) for name, value in vars(policy).items() if name != self.x))

    def _label(self, stored: Stored, legends: set[str], behind: str) -> str:
        row = stored.columns
        label = ", ".join(f"{SYMBOLS.get(name, name)} = {_text(row[name])}" for name in self.curves if name in row)
        return label or (next(iter(legends)) if len(legends) == 1 else words.name(stored.cell.policy)) + behind


def _own_colour(entry: Entry) -> Entry:
    number, colour = divmod(entry.among_all, len(PALETTE))
    return replace(entry, colour=PALETTE[colour], within_colour=number)


class _Curve(NamedTuple):
    """The key of a curve. Exact and simulated numbers of one policy share an entry: a line, and markers beside it."""

    entry: Entry
    exact: bool


@dataclass(frozen=True)
class Points:
    """The mean of a quantity at each x with 95 % intervals, shapes (values,); `share` if the quantity is yes or no."""

    cells: Sequence[Stored]
    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    share: bool

    def across(self, first: float, last: float) -> "Points":
        """A horizontal line for a policy without the parameter x (its x is infinite); other points are unchanged."""
        if np.isfinite(self.x).all():
            return self
        mean, low, high = (np.repeat(values, 2) for values in (self.mean, self.low, self.high))
        return Points([*self.cells] * 2, np.array([first, last]), mean, low, high, self.share)

    def divided(self, base: "Points") -> "Points":
        """These points in units of an exact curve, which must have all their x."""
        level = dict(zip(base.x.tolist(), base.mean.tolist(), strict=True))
        units = np.array([level[x] for x in self.x.tolist()])
        return Points(self.cells, self.x, self.mean / units, self.low / units, self.high / units, self.share)

    def slope(self, low: float, high: float) -> intervals.Interval:
        """Least-squares slope of log(mean) in log(x) over [low, high] and its 95 % interval (Student's)."""
        chosen = (self.x >= low * (1 - 1e-9)) & (self.x <= high * (1 + 1e-9))
        if chosen.sum() < 3:
            raise UserError(f"figure.slopes: fewer than 3 values of x lie between {low} and {high}")
        return intervals.slope(self.x[chosen], self.mean[chosen], 0.05)


def points_of(spec: Spec, cells: Cells, colours: Mapping[str, str]) -> list[dict[_Curve, Points]]:
    """The points of every curve in each panel. Raises `UserError`."""
    entries = spec.legend(cells, colours)
    return [_points_of_panel(spec, panel, cells, entries) for panel in spec.panels]


def _points_of_panel(
    spec: Spec, panel: Mapping[str, Any], cells: Cells, entries: Mapping[str, Entry]
) -> dict[_Curve, Points]:
    curves = shown_in_panel(panel, cells).grouped(lambda stored: _Curve(entries[stored.cell.key], stored.exact))
    if not curves:
        raise UserError(f"figure.panels: no cell meets the conditions of the panel {panel}")
    points = {
        curve: _points(spec, of_curve, [_number(spec.x, stored, cells) for stored in of_curve])
        for curve, of_curve in curves.items()
    }
    ends = [end for of_curve in points.values() for end in of_curve.x if math.isfinite(end)]
    if not ends:
        raise UserError(f"figure.x: nothing in the panel {panel} has a value of {spec.x}")
    return {curve: of_curve.across(min(ends), max(ends)) for curve, of_curve in points.items()}


def _points(spec: Spec, cells: Cells, x: Sequence[float]) -> Points:
    order = np.argsort(x, kind="stable")
    ordered = Cells(cells[place] for place in order)
    values = measured(ordered, spec.value)
    values = [_rare(stored, spec.value, own) for stored, own in zip(ordered, values, strict=True)]
    estimates = [intervals.estimate(of_cell, 0.05) for of_cell in values]
    if spec.in_turn and spec.value == "regret":
        in_turn = [stored.start_phase_regret for stored in ordered]
        estimates = [
            estimate if level is None else intervals.exactly(level)
            for estimate, level in zip(estimates, in_turn, strict=True)
        ]
    mean, low, high = np.array(estimates).T
    return Points(ordered, np.array(x)[order], mean, low, high, share=values[0].dtype == bool)


def _rare(stored: Stored, quantity: str, own: RunValues) -> RunValues:
    """The values of the weighted runs on which a mean rests, else its `own`."""
    return own if weighted_runs_of(stored, quantity) is None else values_of_mean(stored, quantity)


def _number(x: str, stored: Stored, cells: Cells) -> float:
    """The value of x of one of the `cells`, infinite for a policy without that parameter. Raises `UserError`."""
    if cells.lacks(stored, x):
        return math.inf
    if x not in stored.columns and x not in WORDS:
        raise UserError(f"figure.x: {x} is not a column; {nearest(x, stored.columns.keys() | WORDS)}")
    value = stored.columns[x] if x in stored.columns else stored.word(x)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(
            f"figure.x: {x} is {value}, not a number, in {stored.cell.policy.name} on {stored.cell.instance.name}"
        )
    return float(value)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each condition: a curve with 95 % intervals for each policy, fitted slopes. Raises `UserError`."""
    spec = read_spec(Spec, config)
    bounds = overlays(spec.overlays, cells)
    points = points_of(spec, cells, colours)
    number_of_labels = len({curve.entry for of_panel in points for curve in of_panel})
    panels = [_panel(spec, number, of_panel, bounds, number_of_labels) for number, of_panel in enumerate(points)]
    rows = in_rows(panels, columns := even_columns(len(panels)))
    if spec.ratios:
        below = [_ratios(panel, of_panel, number_of_labels) for panel, of_panel in zip(panels, points, strict=True)]
        rows = [row for pair in zip(rows, in_rows(below, columns), strict=True) for row in pair]
    drawn = Cells.of(curve.cells for of_panel in points for curve in of_panel.values())
    return Drawing(
        title=spec.title,
        caption=_caption(cells.only(lambda stored: stored in drawn), spec),
        shown=_shown(spec, bounds),
        rows=rows,
        size=(1.2 + 3.2 * columns, 0.4 + 3.2 * len(rows)),
        legend=[] if spec.slopes else labels(panels),
    )


def _panel(
    spec: Spec,
    number: int,
    points: Mapping[_Curve, Points],
    bounds: Sequence[Overlay],
    number_of_labels: int,
) -> Panel:
    entries = dict.fromkeys(curve.entry for curve in points)
    marks = [mark for entry in entries for mark in _marks(points, entry, number_of_labels // 2)]
    marks += [_bound(overlay, place, points.values()) for place, overlay in enumerate(bounds)]
    marks += [_slope(slope, points) for slope in spec.slopes if slope["panel"] == number]
    x_scale, y_scale = cast(list[Scale], spec.scales)
    lines = [
        f"{curve.entry.label}{', exact,' if curve.exact else ''} goes from {quantity(drawn.mean[0])} at {drawn.x[0]:g} "
        f"to {quantity(drawn.mean[-1])} at {drawn.x[-1]:g}"
        for curve, drawn in points.items()
    ]
    return Panel(
        spec.panels[number]["title"],
        Axis(SYMBOLS.get(spec.x, spec.x), x_scale, decades_only=x_scale == "log"),
        Axis(QUANTITIES[spec.value], y_scale, low=0 if y_scale == "linear" else None),
        [mark for mark in marks if len(mark.x)],
        legend="best" if spec.slopes else None,
        words=lines,
    )


def _ratios(panel: Panel, points: Mapping[_Curve, Points], number_of_labels: int) -> Panel:
    """The panel below a `panel`. Raises `UserError` if no curve there is exact, or the first lacks an x of another."""
    exact = [(curve.entry.label, drawn) for curve, drawn in points.items() if curve.exact]
    if not exact:
        raise UserError(f"figure.ratios: no curve of the panel {panel.title} is exact")
    (label, base), *_ = exact
    if not all(set(drawn.x) <= set(base.x) for drawn in points.values()):
        raise UserError(f"figure.ratios: {label} has fewer points than others in the panel {panel.title}")
    divided = {curve: drawn.divided(base) for curve, drawn in points.items()}
    entries = dict.fromkeys(curve.entry for curve in points)
    marks = [mark for entry in entries for mark in _marks(divided, entry, number_of_labels // 2)]
    return Panel(f"divided by {label}", panel.x, Axis("ratio"), marks)


def _marks(points: Mapping[_Curve, Points], entry: Entry, middle: int) -> list[Series]:
    """A line for each label; if it has exact points too, its simulated points are markers without a line."""
    look = Look(entry.colour, entry.dashes)
    exact, simulated = (points.get(_Curve(entry, whether)) for whether in (True, False))
    marks = [] if exact is None else [Series(exact.x, exact.mean, look, entry.label)]
    if simulated is not None:
        beside = replace(look, marker=entry.marker, marker_size=3, dashes="none" if exact is not None else look.dashes)
        aside = 1.05 ** (entry.among_all - middle) if simulated.share else 1.0  # shares often coincide at 0
        own = "" if exact is not None else entry.label
        marks.append(Series(simulated.x * aside, simulated.mean, beside, own, simulated.low, simulated.high))
    return marks


def _bound(overlay: Overlay, place: int, curves: Iterable[Points]) -> Series:
    """The bound as one line, even if it applies to several curves."""
    pairs = {(x, overlay.of(stored)) for curve in curves for x, stored in zip(curve.x, curve.cells, strict=True)}
    x, y = np.array(sorted((x, value) for x, value in pairs if value > 0)).reshape(-1, 2).T  # NaN is not above 0
    return Series(x, y, Look(COUNTERPART_COLOUR, dashes(place), width=0.9), overlay.label)


def curve_of(points: Mapping[_Curve, Points], policy: str) -> tuple[Entry, Points]:
    """The curve of a policy in a panel, of which a slope is fitted. Raises `UserError`."""
    of_policy = {drawn.cells[0].cell.policy.name: (curve.entry, drawn) for curve, drawn in points.items()}
    if policy not in of_policy:
        raise UserError(f"figure.slopes: {policy} is not in the panel; {nearest(policy, of_policy)}")
    return of_policy[policy]


def _slope(slope: Mapping[str, Any], points: Mapping[_Curve, Points]) -> Series:
    (entry, curve), (low, high) = curve_of(points, slope["policy"]), slope["between"]
    exponent, *interval = curve.slope(low, high)
    middle = np.sqrt(low * high)
    level = np.exp(np.interp(np.log(middle), np.log(curve.x), np.log(curve.mean)))
    ends = np.array([low, high])
    look = Look(entry.colour, "dashed", width=1)
    label = f"slope {exponent:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
    return Series(ends, 0.7 * level * (ends / middle) ** exponent, look, label)


def _shown(spec: Spec, bounds: Sequence[Overlay]) -> str:
    x = SYMBOLS.get(spec.x, spec.x)
    sentence = f"{QUANTITIES[spec.value]} against {x}, {words.axes(spec.scales)}; 95 % intervals"
    slopes = [f"{slope['policy']} from {slope['between'][0]:g} to {slope['between'][1]:g}" for slope in spec.slopes]
    sentence += f"; bounds: {', '.join(overlay.label for overlay in bounds)}" if bounds else ""
    return sentence + (f"; slopes fitted by least squares: {', '.join(slopes)}" if slopes else "")


def _caption(cells: Cells, spec: Spec) -> list[str]:
    kind, runs = type(cells[0].cell), words.runs(cells)
    parts = [kind.until(words.horizons(cells)) + (f", {kind.repeated(runs)}" if runs else "; exact")]
    if runs and any(stored.exact for stored in cells):
        parts.append("lines are exact, markers simulated")
    private = {stored.cell.policy.guarantee for stored in cells if stored.cell.policy.guarantee.private}
    parts += [f"scope: {words.listed(sorted({guarantee.scope.value for guarantee in private}))}"] if private else []
    return ["; ".join(parts), *_carried(cells, spec.value), *_caveats(cells, spec)]


def _caveats(cells: Cells, spec: Spec) -> list[str]:
    """The caveats of policies; those of start phases, which differ from point to point, are counted."""
    never: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for stored in cells:
        label = words.name(stored.cell.policy)
        if stored.start_phase_regret is not None:
            never[label] += 1
        else:
            others.update(f"{label}: {caveat}" for caveat in stored.cell.caveats)
    drawn = ", drawn as pulling all arms in turn" if spec.in_turn and spec.value == "regret" else ""
    lines = [f"start phase never left: {_counted(never)}{drawn}"] if never else []
    return [*lines, *(f"{text} ({count} points)" for text, count in others.items())]


def _carried(cells: Cells, value: str) -> list[str]:
    """Which means rest on weighted runs, and which would have to."""
    weighted: Counter[str] = Counter()
    doubted: Counter[str] = Counter()
    for stored in cells.only(lambda rare: not plain_runs_suffice(rare.cell)):
        (doubted if weighted_runs_of(stored, value) is None else weighted)[words.name(stored.cell.policy)] += 1
    signs = {"means from weighted runs": weighted, "rare runs may carry the mean": doubted}
    return [f"{sign}: {_counted(counts)}" for sign, counts in signs.items() if counts]


def _counted(counts: Mapping[str, int]) -> str:
    """As in "8 points of DP-KLUCB and 1 of DP-IMED"."""
    (first, count), *others = counts.items()
    points = "1 point" if count == 1 else f"{count} points"
    return words.listed([f"{points} of {first}", *(f"{other} of {label}" for label, other in others)])
