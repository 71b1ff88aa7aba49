"""How a number of each run, as its final regret, is spread: boxes or empirical distribution functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bandits.arrays import FloatArray
from experiments.cells import BaseCell
from experiments.errors import UserError
from experiments.quantities import QUANTITIES
from experiments.store import Result
from scripts.drawing import style
from scripts.drawing.curves import SCALES, Curve, horizons, legend_columns, meets, read
from scripts.drawing.spec import require_columns, require_panels, require_words, values_of

SHOWS = ("box", "ecdf")


@dataclass(frozen=True)
class Spec:
    """What the `figure` of a distribution says, see scripts/figures.py. Raises `UserError` for what is unknown."""

    title: str
    panels: list[dict[str, Any]]
    value: str = "regret"
    shows: str = "box"
    scale: str = "linear"

    def __post_init__(self) -> None:
        require_panels(self.panels)
        for name, known in (("value", QUANTITIES), ("shows", SHOWS), ("scale", SCALES)):
            require_words(name, [getattr(self, name)], known)

    @property
    def axis(self) -> str:
        """What is measured of each run; the words of a sweep speak of its mean."""
        return QUANTITIES[self.value][0].removeprefix("mean ")


@dataclass(frozen=True)
class Sample:
    """The value of every run of a cell."""

    curve: Curve
    values: FloatArray


def samples_of(spec: Spec, panel: Mapping[str, Any], cells: Sequence[tuple[BaseCell, Result]]) -> list[Sample]:
    """The samples that a panel shows. Raises `UserError` where there are none."""
    chosen = [(cell, result) for cell, result in cells if cell.repeatable and meets(panel, cell)]
    if not chosen:
        raise UserError(f"figure.panels: no repeated cell meets the conditions of the panel {panel}")
    return [Sample(Curve(*pair), np.asarray(values_of(spec.value, *pair), dtype=float)) for pair in chosen]


def draw(config: Mapping[str, Any], cells: Sequence[tuple[BaseCell, Result]]) -> Figure:
    """A panel for each condition, a box or a step curve for each cell. Raises `UserError`."""
    spec = read(Spec, config)
    require_columns(spec.panels, [], [cell for cell, _ in cells])
    shown = [samples_of(spec, panel, cells) for panel in spec.panels]
    most = max(map(len, shown))
    height = 1.4 + 0.3 * most if spec.shows == "box" else 3.4
    figure, grid = plt.subplots(1, len(shown), figsize=(1.4 + 3.0 * len(shown), height), squeeze=False)
    for axes, panel, samples in zip(grid[0], spec.panels, shown, strict=True):
        looks = _looks(samples)
        for place, (sample, look) in enumerate(zip(samples, looks, strict=True)):
            if spec.shows == "box":
                _draw_box(axes, sample, place, look)
            else:
                axes.ecdf(sample.values, label=sample.curve.label, color=look["color"], linestyle=look["linestyle"])
        axes.set(title=panel["title"], xlabel=spec.axis, xscale=spec.scale)
        if spec.scale == "log" and np.divide(*reversed(axes.get_xlim())) > 10:
            axes.xaxis.set_minor_formatter(NullFormatter())
        if spec.shows == "box":
            axes.set(yticks=[], ylim=(most - 0.4, -0.6))
    if spec.shows == "ecdf":
        grid[0][0].set_ylabel("share of runs with at most this much")
    handles = {label: line for axes in grid[0] for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = legend_columns(list(handles), figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.17 * -(-len(handles) // columns))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, handlelength=3)
    figure.suptitle(f"{spec.title}\n{_caption(spec, [sample for panel in shown for sample in panel])}", fontsize=9)
    return figure


def _looks(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """The colour of the policy; line styles and markers tell apart what shares one."""
    seen: dict[str, int] = {}
    looks = []
    for sample in samples:
        curve = sample.curve
        colour = style.colour_of(curve.cell.policy) if curve.private else style.COUNTERPART_COLOUR
        number = seen[colour] = seen.get(colour, -1) + 1
        line, marker = style.LINE_STYLES[number % len(style.LINE_STYLES)], style.MARKERS[number % len(style.MARKERS)]
        looks.append({"color": colour, "linestyle": line, "marker": marker})
    return looks


def _draw_box(axes: Axes, sample: Sample, place: int, look: Mapping[str, Any]) -> None:
    """Whiskers from 5 % to 95 %, a box over the middle half, the median as a marker, every run as a dot."""
    low, first, median, third, high = np.quantile(sample.values, [0.05, 0.25, 0.5, 0.75, 0.95])
    colour = look["color"]
    axes.plot([low, high], [place, place], color=colour, linewidth=1)
    axes.plot([first, third], [place, place], color=colour, linewidth=7, alpha=0.35, solid_capstyle="butt")
    axes.plot(sample.values, np.full(len(sample.values), place + 0.25), "|", color=colour, alpha=0.4, markersize=3)
    axes.plot(
        median, place, color=colour, linestyle="none", marker=look["marker"], markersize=4, label=sample.curve.label
    )


def _caption(spec: Spec, samples: Sequence[Sample]) -> str:
    runs = sorted({len(sample.values) for sample in samples})
    end = f"T = {horizons([sample.curve for sample in samples])}, {' and '.join(map(str, runs))} runs"
    return f"{end}; whiskers 5 % to 95 %, box 25 % to 75 %, marker: median" if spec.shows == "box" else end
