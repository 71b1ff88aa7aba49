"""The privacy loss of whole runs, between two bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import pyarrow as pa

from bandits import ParameterError
from bandits.environments.neighbours import NeighbouringRewards
from bandits.learner import Environment, Learner
from bandits.policies.base import Policy
from bandits.policies.perturbed_leader import PerturbedLeader
from experiments.cells.base import Cell, Quantity, Rows, column


@dataclass(frozen=True)
class PrivacyCell(Cell):
    """An upper and a lower bound on the epsilon of the transcript, at the delta of the instance; infinite for none."""

    record: ClassVar[str] = "privacy"
    fields: ClassVar[dict[str, pa.DataType]] = {"epsilon_kept": pa.float64(), "epsilon_shown": pa.float64()}
    repeatable: ClassVar[bool] = False
    resolution: ClassVar[float] = 2e-9  # epsilon at a delta is found by bisection, down to 1e-9
    headline: ClassVar[str] = "epsilon_shown"
    title: ClassVar[str] = "Epsilon that the transcript shows"
    quantities: ClassVar[dict[str, Quantity]] = {
        "epsilon_kept": Quantity("ε of the transcript, at most", column("epsilon_kept")),
        "epsilon_shown": Quantity("ε of the transcript, at least", column("epsilon_shown")),
    }
    longest: ClassVar[int] = 10**5  # decisions whose laws are integrated one by one

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy):
            raise ParameterError("policy", f"{self.policy.name} is not a bandit policy; rewards are changed here")
        if type(self.policy).ledger is Learner.ledger and not isinstance(self.policy, PerturbedLeader):
            raise ParameterError("policy", f"{self.policy.name} has no ledger, from which its transcript is bounded")
        self._check_own()

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return isinstance(instance, NeighbouringRewards) and not exact

    def replicate(self, replication: int) -> dict[str, Any]:
        at_delta = cast(NeighbouringRewards, self.instance).at_delta
        bounds = self.policy.transcript_epsilon(self.arms, self.horizon, at_delta)
        return {"epsilon_kept": bounds.kept, "epsilon_shown": bounds.shown}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        kept, shown = rows["epsilon_kept"], rows["epsilon_shown"]
        if not ((shown >= 0) & (shown <= kept * (1 + 1e-9))).all():  # so that NaN is refused
            raise ValueError("its lower bound is above its upper bound, or not a number")

    @property
    def caveats(self) -> tuple[str, ...]:
        return ()  # they are about regret
