"""Final regret against a parameter, log-log, with fitted slopes.

python -m scripts.sweeps       # the slopes of Figures 6 and 7 of Wang and Zhu (2024)
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from omegaconf import OmegaConf
from scipy import stats

from bandits.types import FloatArray
from experiments.command_line import exit_on_user_error
from experiments.compose import Composer
from experiments.errors import UserError
from experiments.frames import RESULTS, matches, stored_cells
from experiments.plan import Cell
from experiments.store import Result, Store
from scripts import style
from scripts.curves import power_of_ten, read

EXPERIMENTS = ("wang2024/fig06", "wang2024/fig07")
SYMBOLS = {"epsilon": "ε", "delta": "δ"}


@dataclass(frozen=True)
class Spec:
    """What the `figure` of a sweep says: `x` is a column, `slopes` are {panel, policy, between: [low, high]}."""

    title: str
    x: str
    panels: list[dict[str, Any]]
    slopes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Points:
    """Mean final regret of one policy over the values of x: shapes (values,)."""

    cell: Cell
    x: FloatArray
    mean: FloatArray
    half: FloatArray

    def slope(self, low: float, high: float) -> tuple[float, float, float]:
        """Least-squares slope of log(mean) in log(x) over [low, high] and its 95 % interval (Student's)."""
        chosen = (self.x >= low * (1 - 1e-9)) & (self.x <= high * (1 + 1e-9))
        if chosen.sum() < 3:
            raise UserError(f"figure.slopes: fewer than 3 values of x lie between {low} and {high}")
        line = stats.linregress(np.log(self.x[chosen]), np.log(self.mean[chosen]))
        half = float(stats.t.ppf(0.975, chosen.sum() - 2)) * line.stderr
        return line.slope, line.slope - half, line.slope + half


def points_of(spec: Spec, panel: int, cells: Sequence[tuple[Cell, Result]]) -> dict[str, Points]:
    """The points of every policy in a panel."""
    wanted = {name: value for name, value in spec.panels[panel].items() if name != "title"}
    found: dict[str, list[tuple[float, FloatArray]]] = {}
    policies: dict[str, Cell] = {}
    for cell, result in cells:
        if all(matches(cell.columns.get(name), value) for name, value in wanted.items()):
            found.setdefault(cell.policy.name, []).append((float(cell.columns[spec.x]), result.regret[:, -1]))
            policies[cell.policy.name] = cell
    if not found:
        raise UserError(f"figure.panels: no cell meets the conditions of the panel {spec.panels[panel]}")
    points = {}
    for policy, pairs in found.items():
        pairs.sort(key=lambda pair: pair[0])
        final = [regret for _, regret in pairs]
        half = np.array(
            [1.96 * regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else 0 for regret in final]
        )
        x = np.array([value for value, _ in pairs])
        points[policy] = Points(policies[policy], x, np.array([regret.mean() for regret in final]), half)
    return points


def draw(config: Mapping[str, Any], cells: Sequence[tuple[Cell, Result]]) -> Figure:
    """A panel for each condition: a curve with 95 % intervals for each policy, fitted slopes. Raises `UserError`."""
    spec = read(Spec, config)
    columns = len(spec.panels)
    figure, grid = plt.subplots(1, columns, figsize=(1.2 + 3.2 * columns, 3.6), squeeze=False)
    for number, (axes, panel) in enumerate(zip(grid[0], spec.panels, strict=True)):
        points = points_of(spec, number, cells)
        for policy, curve in points.items():
            look: dict[str, Any] = {"color": style.colour(policy), "marker": "o", "markersize": 3}
            axes.errorbar(curve.x, curve.mean, curve.half, label=curve.cell.policy.label, capsize=2, **look)
        for slope in (slope for slope in spec.slopes if slope["panel"] == number):
            low, high = slope["between"]
            exponent, *interval = points[slope["policy"]].slope(low, high)
            middle = np.sqrt(low * high)
            level = np.exp(
                np.interp(np.log(middle), np.log(points[slope["policy"]].x), np.log(points[slope["policy"]].mean))
            )
            ends = np.array([low, high])
            label = f"slope {exponent:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
            line = {"color": style.colour(slope["policy"]), "linestyle": "dashed", "linewidth": 1}
            axes.plot(ends, 0.7 * level * (ends / middle) ** exponent, label=label, **line)
        axes.set(title=panel["title"], xlabel=SYMBOLS.get(spec.x, spec.x), xscale="log", yscale="log")
        axes.legend(fontsize=7)
    grid[0][0].set_ylabel("mean regret at the horizon")
    horizons = " and ".join(power_of_ten(horizon) for horizon in sorted({cell.horizon for cell, _ in cells}))
    runs = " and ".join(str(count) for count in sorted({result.replications for _, result in cells}))
    scope = " and ".join(sorted({cell.policy.guarantee.scope.value for cell, _ in cells}))
    caveats = Counter(cell.policy.label for cell, _ in cells if cell.caveats)
    told = "".join(f"\nstart phase never left: {count} points of {label}" for label, count in caveats.items())
    figure.suptitle(
        f"{spec.title}\nT = {horizons}, {runs} runs; mean and 95 % interval; scope: {scope}{told}", fontsize=9
    )
    return figure


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
            exponent, *interval = points_of(spec, slope["panel"], cells)[slope["policy"]].slope(low, high)
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
    """Entry point of `python -m scripts.sweeps`."""
    print(table().fillna("").to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
