"""Expected regret by computation instead of simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import pyarrow as pa

from bandits import ParameterError
from bandits.environments.full_information import FullInformation
from bandits.environments.streams import Stream
from bandits.exact.regret import LONGEST
from bandits.learner import Environment, Learner
from bandits.policies.full_information import RNMFTNL
from experiments.cells.base import Cell, Quantity, Rows, Schema, check_curves
from experiments.cells.regret import OF_REGRET, RegretCell


@dataclass(frozen=True)
class ExactCell(Cell):
    """Expected regret at checkpoints, computed rather than simulated, in a single row."""

    record: ClassVar[str] = "exact"
    fields: ClassVar[dict[str, pa.DataType]] = {name: RegretCell.fields[name] for name in ("t", "regret")}
    repeatable: ClassVar[bool] = False
    headline: ClassVar[str] = "regret"
    title: ClassVar[str] = RegretCell.title
    quantities: ClassVar[dict[str, Quantity]] = OF_REGRET
    tables: ClassVar[dict[str, Schema]] = {"curves": RegretCell.tables["curves"]}
    longest: ClassVar[int] = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, RNMFTNL):
            raise ParameterError(
                "exact", f"the expected regret of {self.policy.name} has no known form; leave it false"
            )
        self.policy.losses_seen(cast(FullInformation, self.instance))

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return exact and isinstance(instance, policy.faces) and not isinstance(instance, Stream)

    def replicate(self, replication: int) -> dict[str, Any]:
        policy, instance = cast(RNMFTNL, self.policy), cast(FullInformation, self.instance)
        return {"t": self.checkpoints, "regret": policy.expected_regret(instance, self.checkpoints)}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        check_curves(rows)
