"""Mean regret that rare runs carry, from weighted runs (importance sampling, `bandits.rare_runs`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from bandits import ParameterError
from bandits.environments.bernoulli import BernoulliInstance
from bandits.learner import Environment, Learner
from bandits.policies.batched_index import ZCDPKLUCB, PrivateDivergence
from bandits.rare_runs import TRUE_SHARE, Tilts, tilts_for, weighted_runs
from bandits.seeds import stream
from experiments.cells.base import RECORDED, ROUNDING, Cell, Quantity, Rows, RunValues, Schema, check_finite, column
from experiments.cells.regret import RegretCell

BLOCK = 1000  # weighted runs of a replication
LONG = 10**9  # the horizon from which on no number of plain runs shows the mean of a policy that keeps its sums


def effective(cell: Cell, rows: Rows) -> RunValues:
    """Effective runs of each replication: the square of the sum of weight x regret over the sum of its squares."""
    return np.asarray(BLOCK * rows["regret"] ** 2 / rows["squares"])


@dataclass(frozen=True)
class WeightedCell(Cell):
    """Weighted runs of DP-KLUCB, DP-IMED or zCDP-KLUCB on Bernoulli arms; a replication is the mean over `BLOCK` runs.

    `regret` is the mean of weight x pseudo-regret at the horizon: unbiased, so that the mean over replications is.
    `weight` is the mean weight, 1 in expectation, and `squares` the mean of (weight x regret)^2.
    Where the order of the arms matters to the policy (`Learner.order_matters`), every block has them in a random one.

    Raises `ParameterError` for other policies and instances, and if `recorded` is set: no curve is recorded.
    """

    record: ClassVar[str] = "weighted"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "regret": pa.float64(),
        "weight": pa.float64(),
        "squares": pa.float64(),
    }
    headline: ClassVar[str] = "regret"
    title: ClassVar[str] = "Mean regret at the horizon, from weighted runs"
    quantities: ClassVar[dict[str, Quantity]] = {
        "regret": Quantity(RegretCell.quantities["regret"].label, column("regret")),
        "mean_weight": Quantity("mean weight of a run", column("weight")),
        "effective_runs": Quantity(f"mean effective runs of {BLOCK}", effective),
    }
    tables: ClassVar[dict[str, Schema]] = {"weighted": Schema(("regret", "weight", "squares"))}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_be_weighted(self.instance, self.policy):
            pair = f"{self.policy.name} on {self.instance.name}"
            raise ParameterError(
                "weighted", f"is for DP-KLUCB, DP-IMED and zCDP-KLUCB on Bernoulli arms, not {pair}; leave it false"
            )
        if self.recorded != RECORDED:
            raise ParameterError("recorded", "has no meaning where runs are weighted; leave it out")
        if self.horizon < self.arms:
            raise ParameterError("horizon", f"must be at least the number of arms, {self.arms}, got {self.horizon}")

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return False  # chosen by the key `weighted`

    def replicate(self, replication: int) -> dict[str, Any]:
        rule, rng = cast(PrivateDivergence | ZCDPKLUCB, self.policy).rule, stream(self.identity, replication)
        means = cast(BernoulliInstance, self.instance).mean_rewards
        if self.policy.order_matters:  # one random order for a block, whose mean is unbiased all the same
            means = rng.permutation(means)
        runs = weighted_runs(means, self.horizon, rule, self.tilts, BLOCK, rng)
        terms = runs.weights * runs.regret
        return {"regret": runs.mean, "weight": float(runs.weights.mean()), "squares": float((terms**2).mean())}

    @cached_property
    def tilts(self) -> Tilts:
        """The tilted laws from which runs are drawn; finding them takes longer than a block of runs."""
        rule = cast(PrivateDivergence | ZCDPKLUCB, self.policy).rule
        return tilts_for(cast(BernoulliInstance, self.instance).mean_rewards, self.horizon, rule)

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        for name in ("regret", "weight", "squares"):
            check_finite(rows, name)
        regret, weight = rows["regret"], rows["weight"]
        possible = (regret >= 0) & (weight > 0) & (weight <= 1 / TRUE_SHARE + ROUNDING)
        if not (possible & (rows["squares"] >= regret**2 * (1 - ROUNDING))).all():
            raise ValueError("its weights are no likelihood ratios, or its mean square is below its squared mean")

    @classmethod
    def repeated(cls, runs: str) -> str:
        return f"{runs} blocks of {BLOCK} weighted runs; mean and 95 % interval (Student's, approximate)"


def can_be_weighted(instance: Environment, policy: Learner[Any]) -> bool:
    """Whether runs of the policy on the instance can be weighted."""
    return isinstance(instance, BernoulliInstance) and isinstance(policy, PrivateDivergence | ZCDPKLUCB)


def plain_runs_suffice(cell: Cell) -> bool:
    """Whether plain runs can show the mean regret of this cell, by what is known before they are seen."""
    return (
        not cell.repeatable or isinstance(cell, WeightedCell) or not (cell.policy.keeps_sums and cell.horizon >= LONG)
    )


def weighted_of(cell: Cell) -> WeightedCell | None:
    """The cell of weighted runs that the mean regret of `cell` rests on; None if plain runs suffice or none can be."""
    if plain_runs_suffice(cell) or not can_be_weighted(cell.instance, cell.policy):
        return None
    return WeightedCell(cell.instance, cell.policy, cell.horizon, seed=cell.seed)
