"""Laws of perturbed values before and after one reward changes, and where the second may lie."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from bandits.arrays import FloatArray
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from experiments.cells import Cell
from experiments.errors import UserError, nearest
from experiments.store import Result
from scripts.drawing.curves import read

Law = Callable[[float, int, bool], Any]  # reward sum, pulls, mirrored -> an object with cdf


@dataclass(frozen=True)
class Spec:
    """What the `figure` says: the law, the budget, and panels {title, count, total, mirrored}.

    Each panel shows F after `total` of `count` rewards were 1 (half of them unless given) and F' after
    one more was; `mirrored: false` leaves out the k = floor(count / 8) + 1 of DP-FTPL-Beta.
    """

    title: str
    law: str
    epsilon: float
    delta: float
    panels: list[dict[str, Any]]

    def laws(self) -> Law:
        """The law of the perturbed value. Raises `UserError`."""

        def gauss(total: float, count: int, mirrored: bool) -> Any:
            return stats.norm(total / count, math.sqrt(2 / count))

        def beta(total: float, count: int, mirrored: bool) -> Any:
            k = count // 8 + 1 if mirrored else 0
            return stats.beta(total + 1 + k, count - total + 1 + k)

        def truncated_laplace(total: float, count: int, mirrored: bool) -> Any:
            return TruncatedLaplace(self.epsilon, self.delta, count, total / count)

        laws: dict[str, Law] = {"gauss": gauss, "beta": beta, "truncated_laplace": truncated_laplace}
        if self.law not in laws:
            raise UserError(f"figure.law: {self.law} is unknown; {nearest(self.law, laws)}")
        return laws[self.law]


def feasible(cdf: FloatArray, epsilon: float, delta: float) -> tuple[FloatArray, FloatArray]:
    """Least and largest F' that the condition of Lemma 8 of Wang and Zhu (2024) allows, in both directions."""
    growth = math.exp(epsilon)
    least = np.maximum((cdf - delta) / growth, 1 - growth * (1 - cdf) - delta)
    largest = np.minimum(growth * cdf + delta, 1 - (1 - cdf - delta) / growth)
    return np.clip(least, 0, 1), np.clip(largest, 0, 1)


def draw(config: Mapping[str, Any], cells: Sequence[tuple[Cell, Result]]) -> Figure:
    """A panel for each number of pulls: F, F' and the feasible region of F'. Raises `UserError`."""
    spec = read(Spec, config)
    law = spec.laws()
    columns = min(3, len(spec.panels))
    rows = math.ceil(len(spec.panels) / columns)
    figure, grid = plt.subplots(rows, columns, figsize=(3.0 * columns, 0.9 + 2.4 * rows), squeeze=False)
    for axes, panel in zip(grid.flat, spec.panels, strict=True):
        count, mirrored = int(panel["count"]), bool(panel.get("mirrored", True))
        total = float(panel.get("total", count / 2))
        before, after = law(total, count, mirrored), law(total + 1, count, mirrored)
        x = np.linspace(*_window(before, after), 801)
        least, largest = feasible(before.cdf(x), spec.epsilon, spec.delta)
        axes.fill_between(x, least, largest, color="0.85", linewidth=0, label="where F′ may lie")
        axes.plot(x, before.cdf(x), color="#0072B2", label="F")
        inside = bool(((after.cdf(x) >= least - 1e-12) & (after.cdf(x) <= largest + 1e-12)).all())
        axes.plot(x, after.cdf(x), color="#D55E00", linestyle="dashed", label="F′, one more reward is 1")
        axes.set(title=f"{panel['title']}: {'feasible' if inside else 'not feasible'}", xlabel="perturbed value x")
    for row in grid:
        row[0].set_ylabel("distribution function")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.suptitle(f"{spec.title}\nε = {spec.epsilon:g}, δ = {spec.delta:g}, one decision", fontsize=9)
    return figure


def _window(before: Any, after: Any) -> tuple[float, float]:
    """Where both distribution functions are neither 0 nor 1."""
    quantile = [law.inverse if isinstance(law, TruncatedLaplace) else law.ppf for law in (before, after)]
    return float(quantile[0](1e-4)), float(quantile[1](1 - 1e-4))
