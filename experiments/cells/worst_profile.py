"""Searches for the gap profile on which a policy has the most regret."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from bandits import ParameterError
from bandits.environments.gap_profiles import Free
from bandits.exact.regret import LONGEST
from bandits.exact.worst_profiles import WorstProfile
from bandits.learner import Environment, Learner
from bandits.policies.full_information import RNMFTNL
from bandits.seeds import stream
from experiments.cells.base import Cell, Quantity, Rows, RunValues, check_finite


def worst_regret(cell: Cell, rows: Rows) -> RunValues:
    """Expected regret on the worst profile that any of the searches found: one number."""
    return np.asarray(rows["worst_regret"].max(keepdims=True))


def worst_ratio(cell: Cell, rows: Rows) -> RunValues:
    """Regret x epsilon / log K on the worst profile found."""
    return np.asarray(worst_regret(cell, rows) * cell.columns["epsilon"] / math.log(cell.arms))


def found_regret(cell: Cell, rows: Rows) -> RunValues:
    """Expected regret on the worst profile that each search found."""
    return np.asarray(rows["worst_regret"])


@dataclass(frozen=True)
class WorstProfileCell(Cell):
    """A search for the worst gap profile; each replication is an independent search from other starting points.

    It records the suboptimal gaps and counts of the profile, the expected regret on it, and how many profiles it tried.
    """

    record: ClassVar[str] = "worst_profile"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "worst_regret": pa.float64(),
        "gaps": pa.list_(pa.float64()),
        "counts": pa.list_(pa.int64()),
        "tried": pa.int64(),
    }
    spread: ClassVar[float] = 0.01  # the three stored searches of a cell agree to 0.002
    headline: ClassVar[str] = "found_regret"
    title: ClassVar[str] = "Regret on the worst profile found"
    quantities: ClassVar[dict[str, Quantity]] = {
        "worst_regret": Quantity("regret, the worst found", worst_regret),
        "worst_ratio": Quantity("regret × ε / log K, the worst found", worst_ratio),
        "found_regret": Quantity("mean regret on the worst profile of a search", found_regret),
    }
    longest: ClassVar[int] = LONGEST

    def __post_init__(self) -> None:
        if not isinstance(self.policy, RNMFTNL):
            raise ParameterError("policy", f"{self.policy.name} has no known expected regret to search with")
        self._check_own()

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return isinstance(instance, WorstProfile) and not exact

    def replicate(self, replication: int) -> dict[str, Any]:
        instance, policy = cast(WorstProfile, self.instance), cast(RNMFTNL, self.policy)
        profile, regret, tried = instance.search(policy, self.horizon, stream(self.identity, replication))
        gaps, counts = profile.suboptimal_gaps, profile.suboptimal_counts
        return {"worst_regret": regret, "gaps": gaps, "counts": counts, "tried": tried}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        if (rows["counts"].sum(axis=1) != footer["columns"]["arms"] - 1).any():
            raise ValueError("its profiles do not have the arms of the cell")
        for name in ("worst_regret", "gaps"):
            check_finite(rows, name)

    def implied(self, rows: Rows) -> Rows:
        """Expected regret on the stored profiles."""
        instance, policy = cast(WorstProfile, self.instance), cast(RNMFTNL, self.policy)
        profiles = [
            Free(tuple(map(float, gaps)), tuple(map(int, counts)))
            for gaps, counts in zip(rows["gaps"], rows["counts"], strict=True)
        ]
        return {"worst_regret": np.array([instance.regret(profile, policy, self.horizon) for profile in profiles])}

    @classmethod
    def repeated(cls, runs: str) -> str:
        return f"the worst of {runs} searches, each exact"
