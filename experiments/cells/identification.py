"""Best-arm identification: when a policy stopped and which arm it returned."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from bandits import Instance, ParameterError
from bandits.learner import Environment, Learner
from bandits.policies.top_two import Identifier
from bandits.seeds import stream
from experiments.cells.base import Cell, Quantity, Rows, RunValues, Schema, column
from experiments.cells.regret import RegretCell

NO_ARM = -1


def _wrong_arm(cell: Cell, rows: Rows) -> RunValues:
    """Whether the arm that was returned is not the best, or none was."""
    best = np.flatnonzero(cell.instance.gaps == 0)  # type: ignore[attr-defined]
    return np.asarray(~np.isin(rows["arm"], best))


@dataclass(frozen=True)
class IdentificationCell(Cell):
    """A policy that looks for the best arm and stops by itself; the horizon is the most pulls it may take.

    The words of its quantities are those of elimination policies in `RegretCell`, which settle on an arm. A run that
    has not stopped by then returns no arm, -1.
    """

    record: ClassVar[str] = "identification"
    fields: ClassVar[dict[str, pa.DataType]] = {"samples": pa.int64(), "arm": pa.int64()}
    headline: ClassVar[str] = "identification_samples"
    title: ClassVar[str] = "Pulls until the best arm is named"
    unit: ClassVar[str] = "pulls"
    quantities: ClassVar[dict[str, Quantity]] = {
        "identification_samples": Quantity(RegretCell.quantities["identification_samples"].label, column("samples")),
        "wrong_arm": Quantity(RegretCell.quantities["wrong_arm"].label, _wrong_arm),
    }
    tables: ClassVar[dict[str, Schema]] = {"identified": Schema(("samples", "arm"))}

    def __post_init__(self) -> None:
        super().__post_init__()
        least = cast(Identifier, self.policy).least_samples(self.arms)
        if self.horizon < least:
            needed = (
                f"the number of arms, {self.arms}" if least == self.arms else f"{least}, the first batch of every arm"
            )
            raise ParameterError("horizon", f"must be at least {needed}, got {self.horizon}")

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return isinstance(policy, Identifier) and not exact

    def replicate(self, replication: int) -> dict[str, Any]:
        policy, instance = cast(Identifier, self.policy), cast(Instance, self.instance)
        answer = policy.simulate(instance, self.horizon, stream(self.identity, replication))
        return {"samples": answer.samples, "arm": NO_ARM if answer.arm is None else answer.arm}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        unstopped = rows["samples"] == footer["columns"]["horizon"]
        if (rows["samples"] < footer["columns"]["arms"]).any() or ((rows["arm"] == NO_ARM) & ~unstopped).any():
            raise ValueError("its runs are too short for one pull of every arm, or end early without an arm")

    @classmethod
    def until(cls, horizons: str) -> str:
        return f"at most {horizons} pulls"
