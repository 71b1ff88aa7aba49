"""What a run can be asked: a number, or yes or no, for each replication of a cell."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits import ParameterError
from bandits.policies.identification import identification
from experiments.cells import BaseCell
from experiments.store import Result

Values = NDArray[Any]


def regret(cell: BaseCell, result: Result) -> Values:
    """Pseudo-regret at the horizon."""
    return np.asarray(result.regret[:, -1])


def regret_ratio(cell: BaseCell, result: Result) -> Values:
    """Regret x epsilon / log K: bounded where the rate is log(K) / epsilon."""
    return np.asarray(regret(cell, result) * cell.columns["epsilon"] / math.log(cell.arms))


def worst_regret(cell: BaseCell, result: Result) -> Values:
    """Expected regret on the worst profile that any of the searches found: one number."""
    return np.asarray(result.rows["worst_regret"].max(keepdims=True))


def worst_ratio(cell: BaseCell, result: Result) -> Values:
    """Regret x epsilon / log K on the worst profile found."""
    return np.asarray(worst_regret(cell, result) * cell.columns["epsilon"] / math.log(cell.arms))


def samples(cell: BaseCell, result: Result) -> Values:
    """Samples that a stopping rule took; all that it may where it did not halt."""
    return np.asarray(result.rows["samples"])


def off_by_more(cell: BaseCell, result: Result) -> Values:
    """Whether the estimate of a stopping rule is off by more than accuracy x |mean|, or missing as the rule expired."""
    mean, accuracy = cell.columns["mean"], cell.columns["accuracy"]
    within = np.abs(result.rows["estimate"] - mean) <= accuracy * abs(mean)  # NaN is not
    return np.asarray(~within)


def expired(cell: BaseCell, result: Result) -> Values:
    """Whether a stopping rule took all samples that it may without halting."""
    return np.asarray(result.rows["expired"])


def identification_samples(cell: BaseCell, result: Result) -> Values:
    """Pulls until an elimination policy had one arm left."""
    return np.array([identification(pulls).samples for pulls in result.pulls])


def wrong_arm(cell: BaseCell, result: Result) -> Values:
    """Whether an elimination policy was left with an arm that is not the best, or with more than one."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    found = [identification(pulls).arm for pulls in result.pulls]
    return np.array([arm is None or gaps[arm] > 0 for arm in found])


def best_arm_behind(cell: BaseCell, result: Result) -> Values:
    """Whether some other arm was pulled at least two times more than every best arm."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(result.pulls[:, gaps == 0].max(axis=1) < result.pulls.max(axis=1) - 1)


def suboptimal_pulls(cell: BaseCell, result: Result) -> Values:
    """Pulls of all suboptimal arms together."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(result.pulls[:, gaps > 0].sum(axis=1))


QUANTITIES: dict[str, tuple[str, Callable[[BaseCell, Result], Values]]] = {
    "regret": ("mean regret at the horizon", regret),
    "regret_ratio": ("regret × ε / log K", regret_ratio),
    "worst_regret": ("regret, the worst found", worst_regret),
    "worst_ratio": ("regret × ε / log K, the worst found", worst_ratio),
    "samples": ("mean samples", samples),
    "off_by_more": ("share of estimates off by more than α|μ|", off_by_more),
    "expired": ("share of runs that did not halt", expired),
    "identification_samples": ("mean pulls until one arm is left", identification_samples),
    "wrong_arm": ("share of runs with a wrong arm", wrong_arm),
    "best_arm_behind": ("share of runs with the best arm behind", best_arm_behind),
    "suboptimal_pulls": ("mean pulls of suboptimal arms", suboptimal_pulls),
}


def measure(quantity: str, cell: BaseCell, result: Result) -> Values:
    """The `quantity` of each replication. Raises `ParameterError` where nothing of it is recorded."""
    try:
        return QUANTITIES[quantity][1](cell, result)
    except (KeyError, AttributeError):
        raise ParameterError(
            "value", f"{quantity} is not recorded of {cell.policy.name} on {cell.instance.name}"
        ) from None
