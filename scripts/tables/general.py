"""Tables that work for any experiment."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bandits.arrays import FloatArray
from experiments.cells import QUANTITIES
from experiments.cells.regret import RegretCell
from experiments.cells.weighted import WeightedCell
from experiments.config.plan import Plan
from experiments.errors import UserError
from experiments.evidence.means import effective_runs, mean_of, top_share, values_of_mean
from experiments.intervals import ROUNDING, Interval, exactly
from experiments.store import Store, stored_cells
from experiments.store.stored import Cells, Stored
from scripts.drawing.figure import figure_of
from scripts.drawing.kinds import rates, sweep
from scripts.drawing.numbers import span
from scripts.drawing.spec import read_spec
from scripts.tables.table import ERROR, Table, mean_with_interval

_Row = Mapping[str, Any]


def final_regret(planned: Plan) -> Table:
    """Regret at the horizon of every cell, and the number of runs in which a best arm was pulled more than others."""
    cells = _with_regret(planned)
    names = _distinguishing(cells)
    return Table.of(_final_regret(stored, names) for stored in cells)


def spread(planned: Plan) -> Table:
    """Distribution of regret at the horizon in every cell: rare bad runs change the mean but not the median.

    "top 1 %" is the share of the sum of the stored runs that the largest 1 % of them hold.
    """
    cells = _with_regret(planned)
    names = _distinguishing(cells)
    return Table.of(_spread(stored, names) for stored in cells)


def rare_runs(planned: Plan) -> Table:
    """Means from weighted runs, beside those of the plain runs of the same cells that are stored.

    "worth" is the effective number of weighted runs, "weight" their mean weight, 1 in expectation.
    """
    cells = stored_cells(planned).only(lambda stored: isinstance(stored.cell, WeightedCell))
    if not cells:
        raise UserError(f"{planned.experiment}: none of its cells has weighted runs")
    names = _distinguishing(cells)
    return Table.of(_rare_runs(stored, names, Store.of(planned)) for stored in cells)


def _rare_runs(stored: Stored, names: Sequence[str], store: Store) -> _Row:
    cell = stored.cell
    plain = store.read(RegretCell(cell.instance, cell.policy, cell.horizon, recorded=1))
    return {
        **_shown(stored),
        **{name: stored.columns.get(name, "") for name in names},
        "mean": mean_with_interval(stored.headline),
        "worth": round(effective_runs(stored)),
        "weight": mean_with_interval(stored.measure("mean_weight")),
        "plain": "" if plain is None else mean_with_interval(plain.headline),
        "top 1 %": "" if plain is None else _percent(top_share(plain.headline)),
    }


def _with_regret(planned: Plan) -> Cells:
    cells = stored_cells(planned).only(lambda stored: "regret" in stored.cell.quantities)
    cells = cells.only(lambda stored: not isinstance(stored.cell, WeightedCell))
    if not cells:
        raise UserError(f"{planned.experiment}: none of its cells records regret")
    return cells


def _spread(stored: Stored, names: Sequence[str]) -> _Row:
    final = stored.measure("regret").astype(float)
    return {
        **_shown(stored),
        **{name: stored.columns.get(name, "") for name in names},
        "runs": len(final),
        "mean": mean_with_interval(values_of_mean(stored, "regret")),
        "top 1 %": _percent(top_share(final)),
        "rests on": mean_of(stored, ERROR, "regret").method.value,
        "median": exactly(float(np.median(final))),
        "99 % of runs": exactly(float(np.quantile(final, 0.99))),
        "largest": exactly(float(final.max())),
    }


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def _final_regret(stored: Stored, names: Sequence[str]) -> _Row:
    final = stored.measure("regret")
    return {
        **_shown(stored),
        **{name: stored.columns.get(name, "") for name in names},
        "mean": mean_with_interval(values_of_mean(stored, "regret")),
        "sd": exactly(_deviation(final)),
        "best arm leads": "–" if stored.exact else _best_leads(stored),
    }


def _deviation(values: FloatArray) -> float:
    """The standard deviation of runs, 0 if they differ by rounding alone; NaN for a single run."""
    if len(values) < 2:
        return math.nan
    return 0.0 if np.ptp(values) <= ROUNDING * np.abs(values).max() else float(values.std(ddof=1))


def _best_leads(stored: Stored) -> str:
    """In how many runs some best arm has more pulls than every other arm; arms with equal pulls lead nobody."""
    best: Any = stored.cell.instance.gaps == 0  # type: ignore[attr-defined]
    if best.all():
        return "–"
    led = stored.pulls[:, best].max(axis=1) > stored.pulls[:, ~best].max(axis=1)
    return f"{np.count_nonzero(led)} of {len(led)}"


def _shown(stored: Stored) -> dict[str, Any]:
    columns = stored.columns
    alike = {name: columns[name] for name in ("instance", "arms", "epsilon", "delta", "horizon")}
    return {"policy": stored.cell.policy.legend(), **alike}


def _distinguishing(cells: Cells) -> list[str]:
    """The further columns that distinguish cells whose rows would look the same."""
    alike = cells.grouped(lambda stored: repr(_shown(stored))).values()
    return list(dict.fromkeys(name for cells in alike for name in cells.varying() if name in cells[0].columns))


def slopes(planned: Plan) -> Table:
    """Every slope that the figure fits, computed in the same way."""
    figure = figure_of(planned.composed) or {}
    kind = figure.pop("kind", "curves")
    cells = stored_cells(planned) if kind in ("sweep", "rates") else Cells()
    rows = list(_of_sweep(read_spec(sweep.Spec, figure), cells) if kind == "sweep" else _of_rates(cells))
    if not rows:
        raise UserError(f"{planned.experiment}: its figure fits no slope")
    return Table.of(rows)


def _of_sweep(spec: sweep.Spec, cells: Cells) -> Iterator[_Row]:
    panels = sweep.points_of(spec, cells, {}) if spec.slopes else []
    for slope in spec.slopes:
        policy, between = slope["policy"], slope["between"]
        yield {
            "panel": spec.panels[slope["panel"]]["title"],
            "policy": policy,
            "of": QUANTITIES[spec.value],
            "against": spec.x,
            "from": span(between),
            "slope": sweep.curve_of(panels[slope["panel"]], policy)[1].slope(*between),
        }


def _of_rates(cells: Cells) -> Iterator[_Row]:
    for rate in rates.fit(cells):
        yield {
            "panel": f"{rate.label}, v = {rate.v:g}",
            "policy": rate.policy,
            "of": "mean pulls of the suboptimal arm",
            "against": "1 / gap",
            "from": span(1 / rate.gaps),
            "slope": Interval(rate.exponent, rate.low, rate.high),
        }
