"""Simulated regret of bandit policies and policies under full information."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from bandits import Instance, ParameterError, regret
from bandits.arrays import IntArray
from bandits.environments.full_information import FullInformation
from bandits.learner import Environment, Learner
from bandits.policies.base import Policy
from bandits.policies.full_information import FullInformationPolicy
from bandits.seeds import stream
from experiments.cells.base import Cell, Quantity, Rows, RunValues, Schema, check_curves


def _final_regret(cell: Cell, rows: Rows) -> RunValues:
    """Pseudo-regret at the horizon."""
    return np.asarray(rows["regret"][:, -1])


def regret_ratio(cell: Cell, rows: Rows) -> RunValues:
    """Regret x epsilon / log K: bounded where the rate is log(K) / epsilon."""
    return np.asarray(_final_regret(cell, rows) * cell.columns["epsilon"] / math.log(cell.arms))


def identification_samples(cell: Cell, rows: Rows) -> RunValues:
    """Pulls until an elimination policy had one arm left; for all runs at once what `identification` says of each."""
    return np.asarray(rows["pulls"].sum(axis=1) - _lead(rows["pulls"]))


def _wrong_arm(cell: Cell, rows: Rows) -> RunValues:
    """Whether an elimination policy was left with an arm that is not the best, or with more than one."""
    gaps, pulls = cell.instance.gaps, rows["pulls"]  # type: ignore[attr-defined]
    return np.asarray((_lead(pulls) == 0) | (gaps[pulls.argmax(axis=1)] > 0))


def _lead(pulls: IntArray) -> IntArray:
    """By how much the arm that was left leads in each run, 0 where several arms were left; shape (runs,)."""
    ordered = np.sort(pulls, axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    return np.asarray(np.where(lead > 1, lead, 0))


def best_arm_behind(cell: Cell, rows: Rows) -> RunValues:
    """Whether some other arm was pulled at least two times more than every best arm."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(rows["pulls"][:, gaps == 0].max(axis=1) < rows["pulls"].max(axis=1) - 1)


def suboptimal_pulls(cell: Cell, rows: Rows) -> RunValues:
    """Pulls of all suboptimal arms together."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(rows["pulls"][:, gaps > 0].sum(axis=1))


def nash_regret(cell: Cell, rows: Rows) -> RunValues:
    """Nash regret (Barman, Khan, Maiti and Sawarni 2023), mu* - (product over steps of E mu_{I_t})^(1/T), as a mean.

    Regret at checkpoints gives the mean of E mu_{I_t} over the steps between two of them, but for the error of a mean
    over runs. Between checkpoints E mu_{I_t} is taken to be that mean: exact where every step is recorded, else too
    small, as the logarithm is concave. With one checkpoint it is regret / T; `nash_regret_most` is never too small.
    Means below 1e-16 of the best are lost in regret and count as 0.

    It belongs to all runs together. The value of a run is its first-order share: values have Nash regret as their mean,
    and its standard error (delta method). Raises `ParameterError` where a mean is not known or below 0.
    """
    best = _best_mean(cell)
    steps = np.diff(rows["t"], axis=1, prepend=0)
    earned = np.maximum(best - np.diff(rows["regret"], axis=1, prepend=0.0) / steps, 0.0)
    means, weights = earned.mean(axis=0), steps[0] / steps[0].sum()
    if (means == 0).any():
        return np.full(len(earned), best)
    geometric = math.exp(weights @ np.log(means))
    return np.asarray(best - geometric * (1 + (earned / means - 1) @ weights))


def nash_regret_most(cell: Cell, rows: Rows) -> RunValues:
    """An upper bound on Nash regret from final pulls: mu* - e^(mean over runs and steps of log mu_{I_t}), as a mean.

    log E mu >= E log mu at every step. Values of runs are as in `nash_regret`. Raises `ParameterError` likewise.
    """
    best = _best_mean(cell)
    shares = rows["pulls"] / rows["pulls"].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(cell.instance.mean_rewards)  # type: ignore[attr-defined]
    used = np.where(shares > 0, shares * np.where(shares > 0, logs, 0.0), 0.0).sum(axis=1)
    if np.isneginf(used).any():
        return np.full(len(used), best)
    return np.asarray(best - math.exp(used.mean()) * (1 + used - used.mean()))


def _best_mean(cell: Cell) -> float:
    means = getattr(cell.instance, "mean_rewards", None)
    if means is None or (np.asarray(means) < 0).any():
        raise ParameterError("value", f"Nash regret is for arms with means of at least 0, not {cell.instance.name}")
    return float(np.max(means))


OF_REGRET = {  # of every kind that records regret against time
    "regret": Quantity("mean regret at the horizon", _final_regret),
    "regret_ratio": Quantity("regret × ε / log K", regret_ratio),
}


@dataclass(frozen=True)
class RegretCell(Cell):
    """Simulated regret: pseudo-regret at checkpoints, and final pulls of every arm (or group of equal arms).

    Where the order of the arms matters to the policy, every run has them in a random order (`Learner.order_matters`).

    Raises `ParameterError` also if the horizon is shorter than one pull of every arm of a bandit, and if the arms would
    need an order that the instance cannot give them.
    """

    record: ClassVar[str] = "regret"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "t": pa.list_(pa.int64()),  # checkpoints
        "regret": pa.list_(pa.float64()),  # pseudo-regret at each checkpoint
        "pulls": pa.list_(pa.int64()),  # final pulls
    }
    headline: ClassVar[str] = "regret"
    title: ClassVar[str] = "Regret at the horizon"
    quantities: ClassVar[dict[str, Quantity]] = {
        **OF_REGRET,
        "identification_samples": Quantity("mean pulls until one arm is left", identification_samples),
        "wrong_arm": Quantity("share of runs with a wrong arm", _wrong_arm),
        "best_arm_behind": Quantity("share of runs with the best arm behind", best_arm_behind),
        "suboptimal_pulls": Quantity("mean pulls of suboptimal arms", suboptimal_pulls),
        "nash_regret": Quantity("mean Nash regret", nash_regret),
        "nash_regret_most": Quantity("mean Nash regret, at most", nash_regret_most),
    }
    tables: ClassVar[dict[str, Schema]] = {"curves": Schema(("t", "regret")), "pulls": Schema(("pulls",), "arm")}

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.instance, Instance) and self.horizon < self.arms:
            raise ParameterError("horizon", f"must be at least the number of arms, {self.arms}, got {self.horizon}")
        if self.policy.order_matters:
            self.instance.in_order(np.arange(self.arms))

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        learns = isinstance(policy, Policy | FullInformationPolicy) and isinstance(instance, policy.faces)
        return learns and not exact

    def replicate(self, replication: int) -> dict[str, Any]:
        instance = cast(Instance | FullInformation, self.instance)
        policy = cast(Policy | FullInformationPolicy, self.policy)
        checkpoints = self.checkpoints.copy()  # a policy may change its own
        rng = stream(self.identity, replication)
        order = rng.permutation(self.arms) if policy.order_matters else None
        faced = instance if order is None else instance.in_order(order)
        pulls = policy.simulate(faced, self.horizon, checkpoints, rng)  # type: ignore[arg-type]  # `faces` was checked
        check_pulls(pulls, checkpoints, len(instance.gaps))
        pulls = pulls if order is None else pulls[:, np.argsort(order)]
        return {"t": checkpoints, "regret": regret(pulls, instance.gaps), "pulls": pulls[-1]}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        check_curves(rows)
        if (rows["pulls"].sum(axis=1) != footer["columns"]["horizon"]).any():
            raise ValueError("its pulls do not add up to the horizon")


def check_pulls(pulls: Any, checkpoints: IntArray, arms: int) -> None:
    """Raise `ValueError` unless `pulls` is what `Policy.simulate` promises."""
    shape = (len(checkpoints), arms)
    if not isinstance(pulls, np.ndarray) or pulls.shape != shape or not np.issubdtype(pulls.dtype, np.integer):
        got = f"{pulls.dtype} of shape {pulls.shape}" if isinstance(pulls, np.ndarray) else type(pulls).__name__
        raise ValueError(f"simulate must return whole numbers of shape (checkpoints, arms) = {shape}, got {got}")
    if (pulls[:1] < 0).any() or (pulls[1:] < pulls[:-1]).any() or (pulls.sum(axis=1) != checkpoints).any():
        raise ValueError("the pulls that simulate returns must not decrease and must add up to the step at checkpoints")
