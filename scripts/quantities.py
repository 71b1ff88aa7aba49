"""What a sweep can show: numbers of each replication, and bounds that theorems put beside them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits import ParameterError, stopping_bounds
from bandits.bounds import wu2025
from bandits.identification import identification
from experiments.cells import BaseCell
from experiments.store import Result

Values = NDArray[Any]


def regret(cell: BaseCell, result: Result) -> Values:
    """Pseudo-regret at the horizon."""
    return result.regret[:, -1]


def regret_ratio(cell: BaseCell, result: Result) -> Values:
    """Regret x epsilon / log K: bounded where the rate is log(K) / epsilon."""
    return regret(cell, result) * cell.columns["epsilon"] / math.log(cell.arms)


def worst_ratio(cell: BaseCell, result: Result) -> Values:
    """The same on the worst profile that any of the searches found."""
    worst = result.rows["worst_regret"].max(keepdims=True)
    return worst * cell.columns["epsilon"] / math.log(cell.arms)


def samples(cell: BaseCell, result: Result) -> Values:
    """Samples that a stopping rule took; all that it may where it did not halt."""
    return result.rows["samples"]


def off_by_more(cell: BaseCell, result: Result) -> Values:
    """Whether the estimate of a stopping rule is off by more than accuracy x |mean|; an expired rule has none."""
    mean, accuracy = cell.columns["mean"], cell.columns["accuracy"]
    return np.abs(result.rows["estimate"] - mean) > accuracy * abs(mean)


def expired(cell: BaseCell, result: Result) -> Values:
    """Whether a stopping rule took all samples that it may without halting."""
    return result.rows["expired"]


def identification_samples(cell: BaseCell, result: Result) -> Values:
    """Pulls until an elimination policy had one arm left."""
    return np.array([identification(pulls).samples for pulls in result.pulls])


def wrong_arm(cell: BaseCell, result: Result) -> Values:
    """Whether an elimination policy was left with an arm that is not the best, or with more than one."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    found = [identification(pulls).arm for pulls in result.pulls]
    return np.array([arm is None or gaps[arm] > 0 for arm in found])


QUANTITIES: dict[str, tuple[str, Callable[[BaseCell, Result], Values]]] = {
    "regret": ("mean regret at the horizon", regret),
    "regret_ratio": ("regret × ε / log K", regret_ratio),
    "worst_ratio": ("regret × ε / log K, the worst found", worst_ratio),
    "samples": ("mean samples", samples),
    "off_by_more": ("share of estimates off by more than α|μ|", off_by_more),
    "expired": ("share of runs that did not halt", expired),
    "identification_samples": ("mean pulls until one arm is left", identification_samples),
    "wrong_arm": ("share of runs with a wrong arm", wrong_arm),
}


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
    return stopping_bounds.dp_exponential_nas_samples(**_stopping_problem(cell))


def _concentrated(cell: BaseCell) -> float:
    rule: Any = cell.policy
    return stopping_bounds.samples_if_concentrated(rule, cell.columns["mean"], cell.columns["bound"])


def _stopping_lower_bound(cell: BaseCell) -> float:
    return stopping_bounds.private_lower_bound(**_stopping_problem(cell))


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
        except ParameterError:
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
