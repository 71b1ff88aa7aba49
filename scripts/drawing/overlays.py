"""Bounds that theorems put beside the numbers of a sweep."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bandits import ParameterError
from bandits.bounds import sajed2019, wu2025
from experiments.cells import BaseCell


def _deterministic(cell: BaseCell) -> bool:
    return getattr(cell.instance, "losses", None) == "deterministic"


def _deterministic_lower_bound(cell: BaseCell) -> float:
    if not _deterministic(cell):
        return math.nan
    return wu2025.deterministic_lower_bound(cell.arms, cell.columns["epsilon"], cell.horizon)


def _deterministic_regret(cell: BaseCell) -> float:
    if not _deterministic(cell) or cell.columns["resample"]:
        return math.nan
    return wu2025.deterministic_regret(cell.arms, cell.columns["epsilon"])


def _stochastic_order(cell: BaseCell) -> float:
    if _deterministic(cell):
        return math.nan
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return wu2025.stochastic_lower_bound_order(cell.arms, float(gaps[gaps > 0].min()), cell.columns["epsilon"])


def _stopping_problem(cell: BaseCell) -> dict[str, float]:
    return {name: cell.columns[name] for name in ("mean", "bound", "epsilon", "accuracy", "beta")}


def _exponential_nas_bound(cell: BaseCell) -> float:
    return sajed2019.dp_exponential_nas_samples(**_stopping_problem(cell))


def _concentrated(cell: BaseCell) -> float:
    rule: Any = cell.policy
    return sajed2019.samples_if_concentrated(rule, cell.columns["mean"], cell.columns["bound"])


def _stopping_lower_bound(cell: BaseCell) -> float:
    return sajed2019.stopping_lower_bound(**_stopping_problem(cell))


def _beta(cell: BaseCell) -> float:
    return float(cell.columns["beta"])


@dataclass(frozen=True)
class Overlay:
    """A bound beside the data: its label, its value for a cell, and the policies that it is about (all if empty)."""

    label: str
    value: Callable[[BaseCell], float]
    policies: tuple[str, ...] = ()

    def of(self, cell: BaseCell) -> float:
        """Its value, NaN for a cell that the theorem says nothing about."""
        if self.policies and cell.policy.name not in self.policies:
            return math.nan
        try:
            return self.value(cell)
        except (ParameterError, TypeError):  # a parameter left at null is of no theorem
            return math.nan


OVERLAYS = {
    "deterministic_lower_bound": Overlay("some instance forces, Theorem 3", _deterministic_lower_bound, ("rnm_ftnl",)),
    "deterministic_regret": Overlay(
        "upper bound (Gumbel, exponential), Theorem 4", _deterministic_regret, ("rnm_ftnl",)
    ),
    "stochastic_order": Overlay("order of the lower bound, constant 1", _stochastic_order, ("rnm_ftnl",)),
    "exponential_nas_bound": Overlay("upper bound, Theorem 3.3", _exponential_nas_bound, ("dp_exponential_nas",)),
    "concentrated": Overlay("its proof before simplification", _concentrated, ("dp_exponential_nas",)),
    "stopping_lower_bound": Overlay("lower bound, Theorem 3.4", _stopping_lower_bound, ("dp_exponential_nas",)),
    "beta": Overlay("β, the most that is promised", _beta),
}
