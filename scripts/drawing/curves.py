"""Regret against time: panels of mean curves with bands."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bandits.arrays import FloatArray
from experiments.cells import BaseCell, ExactCell
from experiments.errors import UserError, nearest
from experiments.frames import matches
from experiments.store import Result
from scripts.drawing import style
from scripts.drawing.spec import require_columns, require_panels, require_words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BANDS = {
    "sd": "one standard deviation",
    "quarter_sd": "a quarter of a standard deviation",
    "ci95": "95 % interval of the mean",
    "quantiles": "5 % to 95 % of the runs",
    "runs": "every run as a thin line",
}
SCALES = ("linear", "log")
SpecType = TypeVar("SpecType", bound="DataclassInstance")


@dataclass(frozen=True)
class Spec:
    """What an experiment's `figure` says, see scripts/figures.py. Raises `UserError` for what it does not know."""

    title: str
    panels: list[dict[str, Any]]
    band: str = "ci95"
    scales: list[str] = field(default_factory=lambda: list(SCALES))

    def __post_init__(self) -> None:
        require_panels(self.panels)
        if self.band not in BANDS:
            raise UserError(f"figure.band: {self.band} is unknown; {nearest(self.band, BANDS)}")
        require_words("scales", self.scales, SCALES)


@dataclass(frozen=True)
class Curve:
    """The stored replications of a cell."""

    cell: BaseCell
    result: Result

    @property
    def private(self) -> bool:
        return self.cell.policy.guarantee.private

    @property
    def label(self) -> str:
        guarantee = self.cell.policy.guarantee
        if isinstance(self.cell, ExactCell):
            return "expectation, computed exactly"
        if not guarantee.private:
            return f"{self.cell.policy.legend()}, not private"
        budget = f"ε = {guarantee.epsilon:g}" + (f", δ = {guarantee.delta:.3g}" if guarantee.delta else "")
        return f"{self.cell.policy.legend()}, {budget}, {guarantee.scope.value}"


def meets(panel: Mapping[str, Any], cell: BaseCell) -> bool:
    """Whether the panel's conditions hold; a policy without privacy meets any condition on the budget."""
    columns, private = cell.columns, cell.policy.guarantee.private
    return all(
        matches(columns.get(name), wanted)
        for name, wanted in panel.items()
        if name != "title" and (private or name not in ("epsilon", "delta"))
    )


def draw(figure_config: Mapping[str, Any], cells: Sequence[tuple[BaseCell, Result]]) -> Figure:
    """A row of panels for every scale; each curve is a mean with its band. Raises `UserError`."""
    spec = read(Spec, figure_config)
    curves = [Curve(*pair) for pair in cells]
    rows, columns = len(spec.scales), len(spec.panels)
    figure, grid = plt.subplots(rows, columns, figsize=(1.2 + 2.9 * columns, 1.5 + 2.3 * rows), squeeze=False)
    require_columns(spec.panels, [], [curve.cell for curve in curves])
    if not all("regret" in curve.result.rows for curve in curves):
        raise UserError("figure.kind: curves needs regret against time, which these cells do not record; try sweep")
    line_styles = _line_styles(curves)
    one_horizon = len({curve.cell.horizon for curve in curves}) == 1
    for row, scale in zip(grid, spec.scales, strict=True):
        row[0].set_ylabel("mean pseudo-regret")
        for axes, panel in zip(row, spec.panels, strict=True):
            shown = [curve for curve in curves if meets(panel, curve.cell)]
            if not shown:
                raise UserError(f"figure.panels: no curve meets the conditions of the panel {panel}")
            for curve in shown:
                _draw_curve(axes, curve, spec.band, line_styles)
            axes.set(xscale=scale, yscale=scale)
            if scale == "log":
                _show_last_decades(axes, max(curve.cell.horizon for curve in shown))
            if axes in grid[0]:
                axes.set_title(panel["title"] + ("" if one_horizon else f", T = {horizons(shown)}"))
    for bottom in grid[-1]:
        bottom.set_xlabel("step t")
    handles = {label: line for axes in grid.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    ordered = [curve.label for curve in curves if curve.label in handles]
    labels = list(dict.fromkeys(ordered))
    per_row = legend_columns(labels, figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.17 * max(0, math.ceil(len(labels) / per_row) - 3))
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=per_row,
        handlelength=3,
    )
    figure.suptitle(f"{spec.title}\n{_caption(spec, curves)}", fontsize=9)
    return figure


def _draw_curve(axes: Axes, curve: Curve, band: str, line_styles: dict[str, Any]) -> None:
    t, regret = curve.result.t, curve.result.regret
    mean, runs = regret.mean(axis=0), len(regret)
    if isinstance(curve.cell, ExactCell):
        axes.plot(t, mean, label=curve.label, color="black", linestyle="dotted", linewidth=0.9, zorder=4)
        return
    look: dict[str, Any] = (
        {"color": style.colour_of(curve.cell.policy)}
        if curve.private
        else {"color": style.COUNTERPART_COLOUR, "linewidth": 0.9, "zorder": 1}
    )
    axes.plot(t, mean, label=curve.label, linestyle=line_styles[curve.label], **look)
    if band == "runs":
        axes.plot(t, regret.T, color=look["color"], alpha=0.25, linewidth=0.4, zorder=0.5)
    elif runs > 1:
        axes.fill_between(t, *band_of(regret, band), color=look["color"], alpha=0.2, linewidth=0)


def band_of(regret: FloatArray, band: str) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end of the shading, shapes (checkpoints,), from at least two runs (runs, checkpoints)."""
    if band == "quantiles":
        low, high = np.quantile(regret, [0.05, 0.95], axis=0)
        return low, high
    mean, sd = regret.mean(axis=0), regret.std(axis=0, ddof=1)
    half = {"sd": sd, "quarter_sd": sd / 4, "ci95": 1.96 * sd / math.sqrt(len(regret))}[band]
    return np.maximum(mean - half, 0), mean + half


def legend_columns(labels: Sequence[str], width: float) -> int:
    """How many columns of the longest label fit into `width` inches, three at most."""
    longest = 0.6 + 0.062 * max(len(label) for label in labels)
    return max(1, min(3, int(width / longest)))


def _show_last_decades(axes: Axes, horizon: int, decades: int = 5) -> None:
    """Leave out the first steps, in which every policy tries every arm in turn."""
    first = horizon / 10**decades
    shown = [line.get_ydata()[line.get_xdata() >= first] for line in axes.get_lines()]
    lowest = min((values[values > 0].min() for values in shown if (values > 0).any()), default=None)
    axes.set_xlim(first, 1.3 * horizon)
    if lowest is not None:
        axes.set_ylim(bottom=lowest / 1.5)


def _line_styles(curves: Sequence[Curve]) -> dict[str, Any]:
    """Among the curves of one colour, each label has its own line style."""
    labels: dict[str, list[str]] = {}
    for curve in (curve for curve in curves if not isinstance(curve.cell, ExactCell)):
        same_colour = labels.setdefault(style.colour_of(curve.cell.policy) if curve.private else "", [])
        if curve.label not in same_colour:
            same_colour.append(curve.label)
    return {
        label: style.LINE_STYLES[place % len(style.LINE_STYLES)]
        for same_colour in labels.values()
        for place, label in enumerate(same_colour)
    }


def _caption(spec: Spec, curves: Sequence[Curve]) -> str:
    runs = sorted({curve.result.replications for curve in curves if curve.cell.repeatable})
    caveats = sorted({f"{curve.label}: {caveat}" for curve in curves for caveat in curve.cell.caveats})
    return "\n".join(
        [f"T = {horizons(curves)}, {' and '.join(map(str, runs))} runs; mean and {BANDS[spec.band]}", *caveats]
    )


def horizons(curves: Sequence[Curve]) -> str:
    """The horizons of `curves` as mathematical text."""
    return " and ".join(power_of_ten(horizon) for horizon in sorted({curve.cell.horizon for curve in curves}))


def power_of_ten(number: int) -> str:
    """`number` as mathematical text, as in 5 x 10^7; 2^20 where it is a power of two."""
    if number >= 1024 and number.bit_count() == 1:
        return f"$2^{{{number.bit_length() - 1}}}$"
    exponent = math.floor(math.log10(number))
    factor = number / 10**exponent
    return f"$10^{{{exponent}}}$" if factor == 1 else f"${factor:g}\\cdot10^{{{exponent}}}$"


def read(spec: type[SpecType], config: Mapping[str, Any]) -> SpecType:
    """The dataclass `spec` from the keys of a `figure`. Raises `UserError` for unknown or missing keys."""
    known = {item.name: item for item in dataclasses.fields(spec)}
    for key in config:
        if key not in known:
            raise UserError(f"figure.{key}: unknown; {nearest(key, known)}")
    for name, item in known.items():
        if name not in config and item.default is item.default_factory is dataclasses.MISSING:
            raise UserError(f"figure.{name}: missing")
    return spec(**config)
