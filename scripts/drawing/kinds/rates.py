"""How the pulls of a suboptimal arm grow as its gap shrinks: fitted exponents, and those that the paper prints.

kind: rates
title: above the figure

As the gap shrinks, pulls grow in steps of a whole epoch, one step each time the gap is halved. The exponent is
therefore the mean of log2(pulls at gap/2 / pulls at gap) over all such pairs of the grid, with Student's 95 % interval
over these pairs. (A least-squares slope over a few steps would depend on where the grid begins and ends.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandits.arrays import FloatArray
from experiments import intervals
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.drawing import Axis, Drawing, Look, Panel, Series, in_rows
from scripts.drawing.legend import COUNTERPART_COLOUR, Entry, dashes, legend
from scripts.drawing.spec import read_spec


@dataclass(frozen=True)
class Spec:
    """The keys of a figure of this kind."""

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
        """The exponent of pulls that follows from the printed regret, of order gap^(-1/v)."""
        return (1 + self.v) / self.v

    @property
    def consistent(self) -> float:
        """The exponent that follows from the epoch lengths: twice the printed one under local privacy."""
        return 2 * self.printed if self.policy == "ldprse" else self.printed


def fit(cells: Cells) -> list[Rate]:
    """One rate for each v, policy and other parameter that varies, from cells with two arms."""
    entries = _legend(cells, {})
    rates = []
    for (label, v), along in cells.grouped(lambda cell: (entries[cell.cell.key].label, cell.columns["v"])).items():
        gaps, pulls = np.array(sorted((_gap(stored), float(stored.pulls[:, 1].mean())) for stored in along)).T
        exponent = intervals.growth_by_octave(1 / gaps, pulls, 0.05)
        rates.append(Rate(along[0].cell.policy.name, label, v, gaps, pulls, *exponent))
    return rates


def _legend(cells: Cells, colours: Mapping[str, str]) -> dict[str, Entry]:
    return legend(cells, [cells], colours, words.legend_of, lambda stored: (stored.columns["v"], _gap(stored)))


def _gap(stored: Stored) -> float:
    """The gap of the second arm."""
    return float(stored.cell.instance.gaps[1])  # type: ignore[attr-defined]


def describe(config: Mapping[str, Any], cells: Cells, colours: Mapping[str, str]) -> Drawing:
    """A panel for each policy (and other parameters that vary): measured pulls, fitted slopes and printed slopes."""
    spec = read_spec(Spec, config)
    rates = fit(cells)
    entries = dict.fromkeys(_legend(cells, colours).values())
    panels = [_panel([rate for rate in rates if rate.label == entry.label], entry.colour) for entry in entries]
    budgets = ", ".join(
        f"{words.legend_name(stored.cell.policy)}: ε = {stored.columns['epsilon']:g}, T = {words.horizons([stored])}"
        for stored in (of_policy[0] for of_policy in cells.by("policy").values())
    )
    return Drawing(
        title=spec.title,
        caption=[f"{budgets}; {words.runs(cells)} runs"],
        shown="mean pulls of the suboptimal arm against 1 / gap, logarithmic axes; fitted slopes with 95 % intervals",
        rows=in_rows(panels, len(panels)),
        size=(1.2 + 3.4 * len(panels), 3.6),
    )


def _panel(rates: Sequence[Rate], colour: str) -> Panel:
    marks, lines = [], []
    for number, rate in enumerate(rates):
        label = f"v = {rate.v:g}: slope {rate.exponent:.2f} [{rate.low:.2f}, {rate.high:.2f}]"
        marks += [
            Series(1 / rate.gaps, rate.pulls, Look(colour, "none", "o", marker_size=3)),
            _slope(rate, rate.exponent, Look(colour, dashes(number), width=1.2), label),
            _slope(
                rate,
                rate.printed,
                Look(COUNTERPART_COLOUR, dashes(number), width=1.2),
                f"printed rate, slope {rate.printed:.2f}",
            ),
        ]
        lines.append(f"v = {rate.v:g}: slope {rate.exponent:.2f}, 95 % interval {rate.low:.2f} to {rate.high:.2f}")
    x = Axis("1 / gap", "log", decades_only=True)
    y = Axis("mean pulls of the suboptimal arm", "log")
    return Panel(rates[0].label, x, y, marks, legend="upper left", words=lines)


def _slope(rate: Rate, exponent: float, look: Look, label: str) -> Series:
    """A line of the given slope through the middle of the measured points."""
    x = -np.log(rate.gaps)
    return Series(np.exp(x), np.exp(np.log(rate.pulls).mean() + exponent * (x - x.mean())), look, label)
