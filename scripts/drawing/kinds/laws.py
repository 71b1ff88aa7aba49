"""Laws of perturbed values before and after one reward changes, and the region that privacy allows for the second.

kind: laws
title: above the figure
law: gauss, beta or truncated_laplace
epsilon: of the budget
delta: of the budget
panels: a list of {title, count, total, mirrored}: F is the law if `total` of `count` rewards are 1 (by default half of
    them), F' the law if one more is 1; `mirrored: false` leaves out the k = floor(count / 8) + 1 of DP-FTPL-Beta
heights: [values], or [values, differences] for a second row that shows differences from F
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from bandits.arrays import FloatArray
from bandits.exponents import grown
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from experiments.errors import UserError, nearest
from experiments.store.stored import Cells
from scripts.drawing.drawing import Axis, Band, Drawing, Look, Mark, Panel, Series, in_rows, labels
from scripts.drawing.numbers import parameter, whole
from scripts.drawing.spec import read_spec, require_words

HEIGHTS = {"values": "distribution function", "differences": "difference from F"}

_Law = Callable[[float, int, bool], Any]  # reward sum, pulls, mirrored -> an object with cdf


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind."""

    title: str
    law: str
    epsilon: float
    delta: float
    panels: list[dict[str, Any]]
    heights: list[str] = field(default_factory=lambda: ["values"])

    def __post_init__(self) -> None:
        require_words("heights", self.heights, HEIGHTS)

    def laws(self) -> _Law:
        """The law of the perturbed value. Raises `UserError`."""

        def gauss(total: float, count: int, mirrored: bool) -> Any:
            return stats.norm(total / count, math.sqrt(2 / count))

        def beta(total: float, count: int, mirrored: bool) -> Any:
            k = count // 8 + 1 if mirrored else 0
            return stats.beta(total + 1 + k, count - total + 1 + k)

        def truncated_laplace(total: float, count: int, mirrored: bool) -> Any:
            return TruncatedLaplace(self.epsilon, self.delta, count, total / count)

        laws: dict[str, _Law] = {"gauss": gauss, "beta": beta, "truncated_laplace": truncated_laplace}
        if self.law not in laws:
            raise UserError(f"figure.law: {self.law} is unknown; {nearest(self.law, laws)}")
        return laws[self.law]


def feasible(cdf: FloatArray, epsilon: float, delta: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest F' that Lemma 8 of Wang and Zhu (2024) allows, applied in both directions."""
    least = np.maximum(math.exp(-epsilon) * (cdf - delta), 1 - grown(1 - cdf, epsilon) - delta)
    largest = np.minimum(grown(cdf, epsilon) + delta, 1 - math.exp(-epsilon) * (1 - cdf - delta))
    return np.clip(least, 0, 1), np.clip(largest, 0, 1)


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each number of pulls: F, F' and the feasible region of F'. Raises `UserError`."""
    spec = read_spec(Spec, config)
    law, columns = spec.laws(), min(3, len(spec.panels))
    panels = [_panel(spec, law, panel, height) for height in spec.heights for panel in spec.panels]
    rows = in_rows(panels, columns)
    budget = f"ε = {spec.epsilon:g}, δ = {spec.delta:g}, one decision"
    return Drawing(
        title=spec.title,
        caption=[budget],
        shown="distribution functions of a perturbed value before and after one reward changed, and where the second "
        "may lie",
        rows=rows,
        size=(3.0 * columns, 0.9 + 2.4 * len(rows)),
        legend=labels(panels),
        spare_legend_rows=1,
        notes={"Law": [f"{spec.law}, {budget}"], "Panels": [_in_words(panel) for panel in spec.panels]},
    )


def _panel(spec: Spec, law: _Law, panel: Mapping[str, Any], height: str) -> Panel:
    count, mirrored = int(panel["count"]), bool(panel.get("mirrored", True))
    total = float(panel.get("total", count / 2))
    before, after = law(total, count, mirrored), law(total + 1, count, mirrored)
    x = np.linspace(*_window(before, after), 801)
    least, largest = feasible(before.cdf(x), spec.epsilon, spec.delta)
    inside = bool(((after.cdf(x) >= least - 1e-12) & (after.cdf(x) <= largest + 1e-12)).all())
    base = before.cdf(x) if height == "differences" else np.zeros_like(x)
    marks: list[Mark] = [
        Band(x, least - base, largest - base, "0.85", label="where F′ may lie"),
        Series(x, before.cdf(x) - base, Look("#0072B2"), "F"),
        Series(x, after.cdf(x) - base, Look("#D55E00", "dashed"), "F′, one more reward is 1"),
    ]
    title = f"{panel['title']}: {'feasible' if inside else 'not feasible'}"
    y = Axis(HEIGHTS[height])
    return Panel(title, Axis("perturbed value x"), y, marks, words=[f"after {whole(count)} pulls"])


def _window(before: Any, after: Any) -> tuple[float, float]:
    """The range of x in which both distribution functions are not yet almost 0 or 1."""
    quantile = [law.inverse if isinstance(law, TruncatedLaplace) else law.ppf for law in (before, after)]
    return float(quantile[0](1e-4)), float(quantile[1](1 - 1e-4))


def _in_words(panel: Mapping[str, Any]) -> str:
    """The title of a panel and its parameters, as text."""
    rest = [f"{name} {parameter(value)}" for name, value in panel.items() if name != "title"]
    return f"{panel['title']}: {', '.join(rest)}"
