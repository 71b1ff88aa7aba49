"""A number of each run, as its final regret, against a parameter, with fitted slopes and bounds.

python -m scripts.drawing.sweep       # the slopes of Figures 6 and 7 of Wang and Zhu (2024)
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray
from omegaconf import OmegaConf

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.cells import BaseCell, ExactCell, StoppingCell, WorstProfileCell
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.errors import UserError, nearest
from experiments.frames import RESULTS, stored_cells
from experiments.quantities import QUANTITIES
from experiments.store import Result, Store
from scripts.drawing import style
from scripts.drawing.curves import legend_columns, meets, power_of_ten, read
from scripts.drawing.overlays import OVERLAYS, Overlay
from scripts.drawing.spec import require_columns, require_panels, require_words, values_of

EXPERIMENTS = ("wang2024/fig06", "wang2024/fig07")
SYMBOLS = {"epsilon": "ε", "delta": "δ", "arms": "K", "mean": "μ", "accuracy": "α", "beta": "β", "gap": "Δ"}


@dataclass(frozen=True)
class Spec:
    """What the `figure` of a sweep says, see scripts/figures.py. Raises `UserError` for what it does not know."""

    title: str
    x: str
    panels: list[dict[str, Any]]
    value: str = "regret"
    curves: list[str] = field(default_factory=list)
    overlays: list[str] = field(default_factory=list)
    scales: list[str] = field(default_factory=lambda: ["log", "log"])
    slopes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_panels(self.panels)
        require_words("value", [self.value], QUANTITIES)
        require_words("overlays", self.overlays, OVERLAYS)
        for slope in self.slopes:
            if not (isinstance(slope, dict) and {"panel", "policy", "between"} == set(slope)):
                raise UserError(f"figure.slopes: must be a list of {{panel, policy, between}}, got {slope}")
            if slope["panel"] not in range(len(self.panels)):
                raise UserError(f"figure.slopes: panel must be in 0..{len(self.panels) - 1}, got {slope['panel']}")
        if len(self.scales) != 2 or not set(self.scales) <= {"linear", "log"}:
            raise UserError(f"figure.scales: must be those of x and y, linear or log each, got {self.scales}")

    def told(self, cell: BaseCell) -> str:
        """What `curves` says of a cell."""
        of = cell.columns
        return ", ".join(f"{SYMBOLS.get(name, name)} = {_text(of[name])}" for name in self.curves if name in of)

    def labels(self, cells: Iterable[BaseCell]) -> dict[BaseCell, str]:
        """The label of the curve of every cell: what `curves` says, else the legend where it stays the same along x."""
        kin: dict[tuple[Any, ...], list[BaseCell]] = {}
        for cell in cells:
            parameters = ((name, getattr(cell.policy, name)) for name in vars(cell.policy) if name != self.x)
            kin.setdefault((cell.policy.name, *parameters), []).append(cell)
        named = {}
        for of_kin in kin.values():
            legends = {cell.policy.legend() for cell in of_kin}
            for cell in of_kin:
                named[cell] = self.told(cell) or (legends.copy().pop() if len(legends) == 1 else cell.policy.label)
        return named


def _number(x: str, cell: BaseCell) -> float:
    value = cell.columns[x]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"figure.x: {x} is {value}, no number, in {cell.policy.name} on {cell.instance.name}")
    return float(value)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class Curve(NamedTuple):
    """What tells curves apart. Exact and simulated numbers of the same thing share a label, line and markers."""

    label: str
    exact: bool


@dataclass(frozen=True)
class Points:
    """The mean of a quantity over the values of x, with 95 % intervals: shapes (values,); `share` of yes and no."""

    cells: list[BaseCell]
    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    share: bool

    def across(self, first: float, last: float) -> "Points":
        """A counterpart without a budget, whose x is infinite, as a level line; anything else as it is."""
        if np.isfinite(self.x).all():
            return self
        level = [np.repeat(values, 2) for values in (self.mean, self.low, self.high)]
        return Points(self.cells * 2, np.array([first, last]), *level, share=self.share)

    def slope(self, low: float, high: float) -> tuple[float, float, float]:
        """Least-squares slope of log(mean) in log(x) over [low, high] and its 95 % interval (Student's)."""
        chosen = (self.x >= low * (1 - 1e-9)) & (self.x <= high * (1 + 1e-9))
        if chosen.sum() < 3:
            raise UserError(f"figure.slopes: fewer than 3 values of x lie between {low} and {high}")
        return intervals.slope(self.x[chosen], self.mean[chosen], 0.05)


def points_of(spec: Spec, panel: int, cells: Sequence[tuple[BaseCell, Result]]) -> dict[Curve, Points]:
    """The points of every curve in a panel."""
    found: dict[Curve, list[tuple[float, BaseCell, Result]]] = {}
    require_columns(spec.panels, spec.curves, [cell for cell, _ in cells])
    labels = spec.labels(cell for cell, _ in cells)
    for cell, result in cells:
        if meets(spec.panels[panel], cell):
            if spec.x not in cell.columns:
                raise UserError(f"figure.x: {spec.x} is no column; {nearest(spec.x, cell.columns)}")
            curve = Curve(labels[cell], isinstance(cell, ExactCell))
            found.setdefault(curve, []).append((_number(spec.x, cell), cell, result))
    if not found:
        raise UserError(f"figure.panels: no cell meets the conditions of the panel {spec.panels[panel]}")
    points = {}
    for curve, triples in found.items():
        triples.sort(key=lambda triple: triple[0])
        x = np.array([value for value, _, _ in triples])
        if (np.diff(x) == 0).any():
            raise UserError(
                f"figure.curves: {curve.label} has several cells at {spec.x} = {x[:-1][np.diff(x) == 0][0]:g}"
            )
        values = [values_of(spec.value, cell, result) for _, cell, result in triples]
        measured, share = np.array([estimate(of_cell) for of_cell in values]), values[0].dtype == bool
        points[curve] = Points([cell for _, cell, _ in triples], x, *measured.T, share=share)
    ends = [end for of_curve in points.values() for end in of_curve.x if math.isfinite(end)]
    return {curve: of_curve.across(min(ends), max(ends)) for curve, of_curve in points.items()}


def estimate(values: NDArray[Any]) -> tuple[float, float, float]:
    """Mean and 95 % interval: normal for numbers, Clopper and Pearson's for yes and no."""
    if values.dtype == bool:
        return intervals.share(values, 0.05)
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def draw(config: Mapping[str, Any], cells: Sequence[tuple[BaseCell, Result]]) -> Figure:
    """A panel for each condition: a curve with 95 % intervals for each policy, fitted slopes. Raises `UserError`."""
    spec = read(Spec, config)
    rows = math.ceil(len(spec.panels) / 4)
    columns = math.ceil(len(spec.panels) / rows)
    figure, grid = plt.subplots(rows, columns, figsize=(1.2 + 3.2 * columns, 0.4 + 3.2 * rows), squeeze=False)
    panels = [points_of(spec, number, cells) for number in range(len(spec.panels))]
    looks = looks_of(panels, by_policy=not spec.curves)
    for number, (axes, panel, points) in enumerate(zip(grid.flat, spec.panels, panels, strict=False)):
        _draw_points(axes, points, looks)
        for name in spec.overlays:
            _draw_overlay(axes, OVERLAYS[name], points.values())
        for slope in (slope for slope in spec.slopes if slope["panel"] == number):
            _draw_slope(axes, slope, points)
        x_scale, y_scale = spec.scales
        axes.set(title=panel["title"], xlabel=SYMBOLS.get(spec.x, spec.x), xscale=x_scale, yscale=y_scale)
        if x_scale == "log":
            axes.xaxis.set_minor_formatter(NullFormatter())
        if y_scale == "linear":
            axes.set_ylim(bottom=0)
    _draw_legend(figure, grid.flat[: len(spec.panels)], one=not spec.slopes)
    for axes in grid.flat[len(spec.panels) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel(QUANTITIES[spec.value][0])
    figure.suptitle(f"{spec.title}\n{_caption(cells)}", fontsize=9)
    return figure


@dataclass(frozen=True)
class Look:
    """How a label is drawn in all panels of a figure; `place` is its number among the labels."""

    place: int
    colour: str
    number: int  # among the labels of its colour

    @property
    def line(self) -> dict[str, Any]:
        return {"color": self.colour, "linestyle": style.LINE_STYLES[self.number % len(style.LINE_STYLES)]}

    @property
    def marker(self) -> dict[str, Any]:
        return {"marker": style.MARKERS[self.number % len(style.MARKERS)], "markersize": 3, "capsize": 2}


def looks_of(panels: Sequence[Mapping[Curve, Points]], by_policy: bool) -> dict[str, Look]:
    """A look for every label, of a colour for each policy, or for each label where all are of one policy."""
    cells = {curve.label: points.cells[0] for panel in panels for curve, points in panel.items()}
    seen: Counter[str] = Counter()
    looks = {}
    for place, (label, cell) in enumerate(cells.items()):
        colour = _colour(cell) if by_policy else style.PALETTE[place % len(style.PALETTE)]
        looks[label] = Look(place, colour, seen[colour])
        seen[colour] += 1
    return looks


def _draw_points(axes: Axes, points: Mapping[Curve, Points], looks: Mapping[str, Look]) -> None:
    """A line for each label; markers with intervals, and no line, for simulated points beside exact ones."""
    for label in dict.fromkeys(curve.label for curve in points):
        look = looks[label]
        exact, simulated = (points.get(Curve(label, whether)) for whether in (True, False))
        if exact is not None:
            axes.plot(exact.x, exact.mean, label=label, **look.line)
        if simulated is not None:
            halves = np.maximum([simulated.mean - simulated.low, simulated.high - simulated.mean], 0)
            beside: dict[str, Any] = {"label": label} if exact is None else {"linestyle": "none"}
            aside = 1.05 ** (look.place - len(looks) // 2) if simulated.share else 1.0  # shares often coincide, at 0
            axes.errorbar(simulated.x * aside, simulated.mean, halves, **{**look.line, **look.marker, **beside})


def _colour(cell: BaseCell) -> str:
    return style.colour_of(cell.policy) if cell.policy.guarantee.private else style.COUNTERPART_COLOUR


def _draw_overlay(axes: Axes, overlay: Overlay, curves: Iterable[Points]) -> None:
    """The bound once, however many curves it is about."""
    pairs = {(x, overlay.of(cell)) for curve in curves for x, cell in zip(curve.x, curve.cells, strict=True)}
    known = sorted((x, value) for x, value in pairs if value > 0)  # NaN is not
    if known:
        place = list(OVERLAYS.values()).index(overlay)
        look = {"color": style.COUNTERPART_COLOUR, "linewidth": 0.9}
        axes.plot(*zip(*known, strict=True), label=overlay.label, linestyle=style.LINE_STYLES[place % 4], **look)


def _draw_slope(axes: Axes, slope: Mapping[str, Any], points: Mapping[Curve, Points]) -> None:
    curve = _of_policy(points, slope["policy"])
    low, high = slope["between"]
    exponent, *interval = curve.slope(low, high)
    middle = np.sqrt(low * high)
    level = np.exp(np.interp(np.log(middle), np.log(curve.x), np.log(curve.mean)))
    ends = np.array([low, high])
    label = f"slope {exponent:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
    line = {"color": style.colour(slope["policy"]), "linestyle": "dashed", "linewidth": 1}
    axes.plot(ends, 0.7 * level * (ends / middle) ** exponent, label=label, **line)


def _of_policy(points: Mapping[Curve, Points], policy: str) -> Points:
    found = {curve.cells[0].policy.name: curve for curve in points.values()}
    if policy not in found:
        raise UserError(f"figure.slopes: {policy} is not in the panel; {nearest(policy, found)}")
    return found[policy]


def _draw_legend(figure: Figure, row: Sequence[Axes], one: bool) -> None:
    """One legend below the panels, or one in each where it tells what was fitted there."""
    if not one:
        for axes in row:
            axes.legend(fontsize=7)
        return
    handles = {label: handle for axes in row for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = legend_columns(list(handles), figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.17 * math.ceil(len(handles) / columns))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, handlelength=3)


def _caption(cells: Sequence[tuple[BaseCell, Result]]) -> str:
    horizons = " and ".join(power_of_ten(horizon) for horizon in sorted({cell.horizon for cell, _ in cells}))
    stopping = all(isinstance(cell, StoppingCell) for cell, _ in cells)
    end = f"at most {horizons} samples" if stopping else f"T = {horizons}"
    runs = sorted({result.replications for cell, result in cells if cell.repeatable})
    scope = " and ".join(
        sorted({cell.policy.guarantee.scope.value for cell, _ in cells if cell.policy.guarantee.private})
    )
    caveats = Counter(cell.policy.label for cell, _ in cells if cell.caveats)
    told = "".join(f"\nstart phase never left: {count} points of {label}" for label, count in caveats.items())
    counts = " and ".join(map(str, runs))
    simulated = f", {counts} runs; mean and 95 % interval" if runs else "; exact"
    if all(isinstance(cell, WorstProfileCell) for cell, _ in cells):
        simulated = f", the worst of {counts} searches, each exact"
    both = (
        "; lines are exact, markers simulated" if runs and any(isinstance(cell, ExactCell) for cell, _ in cells) else ""
    )
    return f"{end}{simulated}{both}; scope: {scope}{told}"


def table() -> pd.DataFrame:
    """The fitted slopes of Figures 6 and 7."""
    rows = []
    for name in EXPERIMENTS:
        composer, asked = Composer(), [f"+experiment={name}"]
        config = OmegaConf.to_container(composer.compose(asked).config.figure, resolve=True)
        spec = read(Spec, {key: value for key, value in config.items() if key != "kind"})  # type: ignore[union-attr, misc]
        cells = stored_cells(asked, Store(RESULTS), composer)
        for slope in spec.slopes:
            low, high = slope["between"]
            exponent, *interval = _of_policy(points_of(spec, slope["panel"], cells), slope["policy"]).slope(low, high)
            rows.append(
                {
                    "experiment": name,
                    "panel": spec.panels[slope["panel"]]["title"],
                    "policy": slope["policy"],
                    spec.x: f"{low:g} to {high:g}",
                    "slope": f"{exponent:.2f}",
                    "95 % interval": f"[{interval[0]:.2f}, {interval[1]:.2f}]",
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Entry point of `python -m scripts.drawing.sweep`."""
    print(table().fillna("").to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
