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
from experiments.cells.base import Cell, Quantity, Rows, Schema, Values, check_curves


def _final_regret(cell: Cell, rows: Rows) -> Values:
    """Pseudo-regret at the horizon."""
    return np.asarray(rows["regret"][:, -1])


def regret_ratio(cell: Cell, rows: Rows) -> Values:
    """Regret x epsilon / log K: bounded where the rate is log(K) / epsilon."""
    return np.asarray(_final_regret(cell, rows) * cell.columns["epsilon"] / math.log(cell.arms))


def identification_samples(cell: Cell, rows: Rows) -> Values:
    """Pulls until an elimination policy had one arm left; for all runs at once what `identification` says of each."""
    return np.asarray(rows["pulls"].sum(axis=1) - _lead(rows["pulls"]))


def _wrong_arm(cell: Cell, rows: Rows) -> Values:
    """Whether an elimination policy was left with an arm that is not the best, or with more than one."""
    gaps, pulls = cell.instance.gaps, rows["pulls"]  # type: ignore[attr-defined]
    return np.asarray((_lead(pulls) == 0) | (gaps[pulls.argmax(axis=1)] > 0))


def _lead(pulls: IntArray) -> IntArray:
    """By how much the arm that was left leads in each run, 0 where several arms were left; shape (runs,)."""
    ordered = np.sort(pulls, axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    return np.asarray(np.where(lead > 1, lead, 0))


def best_arm_behind(cell: Cell, rows: Rows) -> Values:
    """Whether some other arm was pulled at least two times more than every best arm."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(rows["pulls"][:, gaps == 0].max(axis=1) < rows["pulls"].max(axis=1) - 1)


def suboptimal_pulls(cell: Cell, rows: Rows) -> Values:
    """Pulls of all suboptimal arms together."""
    gaps = cell.instance.gaps  # type: ignore[attr-defined]
    return np.asarray(rows["pulls"][:, gaps > 0].sum(axis=1))


def nash_regret(cell: Cell, rows: Rows) -> Values:
    """The best mean less the geometric mean over all steps of the means of the arms pulled, of each run.

    Nash regret (Barman, Khan, Maiti and Sawarni 2023) has expected means at each step in the geometric mean, which
    final pulls do not say; it is at most the best mean less e^(the mean over runs of the logarithm of ours).

    Raises `ParameterError` where a mean is not known or below 0.
    """
    means = getattr(cell.instance, "mean_rewards", None)
    if means is None or (np.asarray(means) < 0).any():
        raise ParameterError("value", f"nash_regret is for arms with means of at least 0, not {cell.instance.name}")
    shares = rows["pulls"] / rows["pulls"].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(means)
    used = np.where(shares > 0, shares * np.where(shares > 0, logs, 0.0), 0.0)
    return np.asarray(np.max(means) - np.exp(used.sum(axis=1)))


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
        "nash_regret": Quantity("mean Nash regret of a run", nash_regret),
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

    def simulated_steps(self, rows: Rows) -> int:
        return self.horizon * len(rows["t"])


def check_pulls(pulls: Any, checkpoints: IntArray, arms: int) -> None:
    """Raise `ValueError` unless `pulls` is what `Policy.simulate` promises."""
    shape = (len(checkpoints), arms)
    if not isinstance(pulls, np.ndarray) or pulls.shape != shape or not np.issubdtype(pulls.dtype, np.integer):
        got = f"{pulls.dtype} of shape {pulls.shape}" if isinstance(pulls, np.ndarray) else type(pulls).__name__
        raise ValueError(f"simulate must return whole numbers of shape (checkpoints, arms) = {shape}, got {got}")
    if (pulls[:1] < 0).any() or (pulls[1:] < pulls[:-1]).any() or (pulls.sum(axis=1) != checkpoints).any():
        raise ValueError("the pulls that simulate returns must not decrease and must add up to the step at checkpoints")
