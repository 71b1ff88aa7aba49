"""How the pulls of a suboptimal arm grow as its gap shrinks: fitted exponents beside printed ones.

    python -m scripts.drawing.rates        # the table

Pulls move in steps, a whole epoch at a time, as the gap shrinks; over an octave of the gap that is one
step. The exponent is therefore the mean of log2(pulls at gap/2 / pulls at gap) over all such pairs of
the grid, and its 95 % interval is Student's over these pairs. (A least-squares slope over few steps
would be biased by where the grid begins and ends.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.cells import Cell
from experiments.config.command_line import exit_on_user_error
from experiments.config.compose import Composer
from experiments.frames import RESULTS, stored_cells
from experiments.store import Result, Store
from scripts.drawing import style
from scripts.drawing.curves import power_of_ten, read

EXPERIMENT = "tao2022/rates"


@dataclass(frozen=True)
class Spec:
    """What the `figure` of an experiment on rates says."""

    title: str


@dataclass(frozen=True)
class Rate:
    """Pulls of the second of two arms over a grid of gaps, for one policy and one v.

    Attributes
    ----------
    gaps, pulls: of the second arm, pulls averaged over replications, shape (gaps,).
    exponent, low, high: slope of log(pulls) in log(1 / gap) and its 95 % interval.
    """

    policy: str
    label: str
    v: float
    gaps: FloatArray
    pulls: FloatArray
    exponent: float
    low: float
    high: float

    @property
    def printed(self) -> float:
        """The exponent of pulls that the printed regret, of order gap^(-1/v), means."""
        return (1 + self.v) / self.v

    @property
    def consistent(self) -> float:
        """The exponent that the epoch lengths have: twice the printed one under local privacy."""
        return 2 * self.printed if self.policy == "ldprse" else self.printed


def fit(cells: Sequence[tuple[Cell, Result]]) -> list[Rate]:
    """One rate for each policy and v among the cells of two arms."""
    points: dict[tuple[str, str, float], list[tuple[float, float]]] = {}
    for cell, result in cells:
        key = (cell.policy.name, cell.policy.legend(), cell.columns["v"])
        points.setdefault(key, []).append((float(cell.instance.gaps[1]), float(result.pulls[:, 1].mean())))
    rates = []
    for (policy, label, v), pairs in points.items():
        gaps, pulls = np.array(sorted(pairs)).T
        rates.append(Rate(policy, label, v, gaps, pulls, *intervals.growth_by_octave(1 / gaps, pulls, 0.05)))
    return rates


def draw(config: Mapping[str, Any], cells: Sequence[tuple[Cell, Result]]) -> Figure:
    """A panel for each policy: measured pulls, fitted slope, and lines of the printed and the consistent slope."""
    spec = read(Spec, config)
    rates = fit(cells)
    policies = list(dict.fromkeys(rate.policy for rate in rates))
    figure, grid = plt.subplots(1, len(policies), figsize=(1.2 + 3.4 * len(policies), 3.6), squeeze=False)
    for axes, policy in zip(grid[0], policies, strict=True):
        for rate, line_style in zip([r for r in rates if r.policy == policy], style.LINE_STYLES, strict=False):
            colour = style.colour(policy)
            label = f"v = {rate.v:g}: slope {rate.exponent:.2f} [{rate.low:.2f}, {rate.high:.2f}]"
            axes.loglog(1 / rate.gaps, rate.pulls, "o", color=colour, markersize=3)
            _slope(axes, rate, rate.exponent, color=colour, linestyle=line_style, label=label)
            printed = f"printed rate, slope {rate.printed:.2f}"
            _slope(axes, rate, rate.printed, color=style.COUNTERPART_COLOUR, linestyle=line_style, label=printed)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set(title=next(rate.label for rate in rates if rate.policy == policy), xlabel="1 / gap")
        axes.legend(loc="upper left", fontsize=7)
    grid[0][0].set_ylabel("mean pulls of the suboptimal arm")
    runs = sorted({result.replications for _, result in cells})
    budgets = ", ".join(
        f"{cell.policy.legend()}: ε = {cell.columns['epsilon']:g}, T = {power_of_ten(cell.horizon)}"
        for cell in _one_of_each(cells)
    )
    figure.suptitle(f"{spec.title}\n{budgets}; {' and '.join(map(str, runs))} runs", fontsize=9)
    return figure


def _one_of_each(cells: Sequence[tuple[Cell, Result]]) -> list[Cell]:
    return list({cell.policy.name: cell for cell, _ in cells}.values())


def _slope(axes: Any, rate: Rate, exponent: float, **look: Any) -> None:
    """A line of the given slope through the middle of the measured points."""
    x = -np.log(rate.gaps)
    axes.loglog(np.exp(x), np.exp(np.log(rate.pulls).mean() + exponent * (x - x.mean())), linewidth=1.2, **look)


def table(rates: Sequence[Rate]) -> pd.DataFrame:
    """Table 1 of Tao et al. (2022), upper bounds for heavy tails, with measured exponents of the pulls."""
    return pd.DataFrame(
        {
            "model": "epsilon-LDP" if rate.policy == "ldprse" else "epsilon-DP",
            "policy": rate.label,
            "v": rate.v,
            "printed regret": f"sum of gap^(-{1 / rate.v:.3g})",
            "printed pulls": f"gap^-{rate.printed:.3g}",
            "epoch lengths": f"gap^-{rate.consistent:.3g}",
            "measured": f"{rate.exponent:.2f}",
            "95 % interval": f"[{rate.low:.2f}, {rate.high:.2f}]",
        }
        for rate in rates
    )


def main() -> None:
    """Entry point of `python -m scripts.drawing.rates`."""
    cells = stored_cells([f"+experiment={EXPERIMENT}"], Store(RESULTS), Composer())
    print(table(fit(cells)).to_string(index=False))


if __name__ == "__main__":
    exit_on_user_error(main)
