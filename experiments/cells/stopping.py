"""Stopping rules on a stream: when they halted and what they estimated."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from bandits.environments.streams import Stream
from bandits.learner import Environment, Learner
from bandits.policies.stopping_rules import MOST_SAMPLES, StoppingRule
from bandits.seeds import stream
from experiments.cells.base import Cell, Quantity, Rows, RunValues, Schema, column


def off_by_more(cell: Cell, rows: Rows) -> RunValues:
    """Whether the estimate of a stopping rule is off by more than accuracy x |mean|, or missing as the rule expired."""
    mean, accuracy = cell.columns["mean"], cell.columns["accuracy"]
    within = np.abs(rows["estimate"] - mean) <= accuracy * abs(mean)  # NaN is not
    return np.asarray(~within)


@dataclass(frozen=True)
class StoppingCell(Cell):
    """A stopping rule on a stream: when it halted and what it estimated; the horizon is the most samples it may take.

    A rule that has not halted by then is `expired` and has no estimate.
    """

    record: ClassVar[str] = "stopping"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "samples": pa.int64(),
        "expired": pa.bool_(),
        "estimate": pa.float64(),
    }
    optional: ClassVar[frozenset[str]] = frozenset(["estimate"])
    headline: ClassVar[str] = "samples"
    title: ClassVar[str] = "Samples until the rule halts"
    unit: ClassVar[str] = "samples"
    quantities: ClassVar[dict[str, Quantity]] = {
        "samples": Quantity("mean samples", column("samples")),
        "off_by_more": Quantity("share of estimates off by more than α|μ|", off_by_more),
        "expired": Quantity("share of runs that did not halt", column("expired")),
    }
    tables: ClassVar[dict[str, Schema]] = {"outcomes": Schema(("samples", "expired", "estimate"))}
    longest: ClassVar[int] = MOST_SAMPLES

    @classmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        return isinstance(policy, StoppingRule) and not exact

    def replicate(self, replication: int) -> dict[str, Any]:
        rule, stream_ = cast(StoppingRule, self.policy), cast(Stream, self.instance)
        halt = rule.simulate(stream_, self.horizon, stream(self.identity, replication))
        estimate = math.nan if halt.estimate is None else halt.estimate
        return {"samples": halt.samples, "expired": halt.expired, "estimate": estimate}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        if (np.isnan(rows["estimate"]) != rows["expired"]).any():
            raise ValueError("its estimates must be missing exactly where the rule expired")

    @classmethod
    def until(cls, horizons: str) -> str:
        return f"at most {horizons} samples"
