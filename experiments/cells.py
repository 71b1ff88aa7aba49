"""What is planned, run and stored as one, and what each replication of it leaves behind."""

import dataclasses
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bandits import Instance, ParameterError, checkpoint_grid, regret
from bandits.arrays import IntArray
from bandits.environments.full_information import FullInformation
from bandits.environments.streams import Stream
from bandits.exact.regret import LONGEST
from bandits.exact.worst_profiles import WorstProfile
from bandits.learner import Environment, Learner
from bandits.policies.base import Policy
from bandits.policies.full_information import RNMFTNL, FullInformationPolicy
from bandits.policies.stopping_rules import MOST_SAMPLES, StoppingRule
from bandits.seeds import stream

RECORDED = 200
Rows = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class BaseCell(ABC):
    """Instance x policy (its budget among its parameters) x horizon; a subclass says what is recorded of it.

    `recorded` is about how many checkpoints are kept of a curve; it changes no other number.

    Raises `ParameterError` if the policy cannot learn from the instance, or refuses it, and for a horizon
    below 1 or beyond the `longest` of its kind.

    Attributes
    ----------
    record: the word for what a replication leaves behind; "regret" is left out of identities and footers.
    fields: its columns in a results file, beside `replication`; those in `optional` may be missing, as NaN.
    repeatable: whether another replication would tell anything new.
    """

    instance: Environment
    policy: Learner[Any]
    horizon: int
    recorded: int = RECORDED

    record: ClassVar[str]
    fields: ClassVar[dict[str, pa.DataType]]
    optional: ClassVar[frozenset[str]] = frozenset()
    repeatable: ClassVar[bool] = True
    longest: ClassVar[int] = 2**62  # steps are counted in 64 bits

    def __post_init__(self) -> None:
        self._check_horizon()
        if not isinstance(self.instance, self.policy.faces):
            raise ParameterError(
                "instance",
                f"{self.policy.name} learns from {self.policy.faces.feedback}, "
                f"and {self.instance.name} gives {self.instance.feedback}",
            )
        self.policy.check(self.instance)

    def _check_horizon(self) -> None:
        if not 1 <= self.horizon <= self.longest:
            raise ParameterError("horizon", f"must be a whole number in 1..{self.longest}, got {self.horizon}")

    @abstractmethod
    def replicate(self, replication: int) -> dict[str, Any]:
        """The row of one replication, a value for each of `fields`; depends on nothing but the cell and its number."""

    @staticmethod
    @abstractmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        """Raise `ValueError` if stored `rows` cannot be those of the cell that their `footer` describes."""

    @staticmethod
    @abstractmethod
    def headline(rows: Rows) -> NDArray[Any]:
        """What is compared of each replication where bits may differ, as between two platforms."""

    @property
    def arms(self) -> int:
        return self.instance.number_of_arms

    @property
    def checkpoints(self) -> IntArray:
        """The steps at which regret is recorded."""
        return checkpoint_grid(self.horizon, self.recorded)

    @cached_property
    def identity(self) -> str:
        """What the cell is, as canonical JSON, parameters at their default left out. Seeds follow from it."""
        content = {"instance": _describe(self.instance), "policy": _describe(self.policy), "horizon": self.horizon}
        kind = {} if self.record == "regret" else {"record": self.record}
        return json.dumps(content | kind, sort_keys=True)

    @cached_property
    def key(self) -> str:
        """What its stored numbers are filed under: the identity and the revisions of instance and policy."""
        kept = "" if self.recorded == RECORDED else f" recorded {self.recorded}"
        text = (
            f"{self.identity}{kept} instance revision {self.instance.revision} policy revision {self.policy.revision}"
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def columns(self) -> dict[str, Any]:
        """What `experiments.load` tells about the cell in every row; epsilon is infinite without privacy."""
        guarantee = self.policy.guarantee
        return {
            **_parameters(self.instance),
            **_parameters(self.policy),
            "instance": self.instance.name,
            "arms": self.arms,
            "policy": self.policy.name,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "scope": guarantee.scope.value,
            "horizon": self.horizon,
            **({} if self.record == "regret" else {"record": self.record}),
        }

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why a theorem does not apply here, for whoever reads the results."""
        return self.policy.caveats(self.instance, self.horizon)


@dataclass(frozen=True)
class Cell(BaseCell):
    """Simulated regret: pseudo-regret at checkpoints, and final pulls of every arm (or group of equal arms).

    Raises `ParameterError` also if the horizon is shorter than one pull of every arm of a bandit.
    """

    record: ClassVar[str] = "regret"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "t": pa.list_(pa.int64()),  # checkpoints
        "regret": pa.list_(pa.float64()),  # pseudo-regret at each checkpoint
        "pulls": pa.list_(pa.int64()),  # final pulls
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.instance, Instance) and self.horizon < self.arms:
            raise ParameterError("horizon", f"must be at least the number of arms, {self.arms}, got {self.horizon}")

    def replicate(self, replication: int) -> dict[str, Any]:
        instance = cast(Instance | FullInformation, self.instance)
        policy = cast(Policy | FullInformationPolicy, self.policy)
        checkpoints = self.checkpoints
        pulls = policy.simulate(instance, self.horizon, checkpoints, stream(self.identity, replication))  # type: ignore[arg-type]  # `faces` was checked
        check_pulls(pulls, checkpoints, len(instance.gaps))
        return {"t": checkpoints, "regret": regret(pulls, instance.gaps), "pulls": pulls[-1]}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        _check_curves(rows)
        if (rows["pulls"].sum(axis=1) != footer["columns"]["horizon"]).any():
            raise ValueError("its pulls do not add up to the horizon")

    @staticmethod
    def headline(rows: Rows) -> NDArray[Any]:
        return rows["regret"][:, -1]


@dataclass(frozen=True)
class ExactCell(BaseCell):
    """Expected regret at checkpoints, computed rather than simulated; one row says all."""

    record: ClassVar[str] = "exact"
    fields: ClassVar[dict[str, pa.DataType]] = {name: Cell.fields[name] for name in ("t", "regret")}
    repeatable: ClassVar[bool] = False
    longest: ClassVar[int] = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, RNMFTNL):
            raise ParameterError(
                "exact", f"the expected regret of {self.policy.name} has no known form; leave it false"
            )
        self.policy.losses_seen(cast(FullInformation, self.instance))

    def replicate(self, replication: int) -> dict[str, Any]:
        policy, instance = cast(RNMFTNL, self.policy), cast(FullInformation, self.instance)
        return {"t": self.checkpoints, "regret": policy.expected_regret(instance, self.checkpoints)}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:  # noqa: ARG004
        _check_curves(rows)

    @staticmethod
    def headline(rows: Rows) -> NDArray[Any]:
        return rows["regret"]


@dataclass(frozen=True)
class StoppingCell(BaseCell):
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
    longest: ClassVar[int] = MOST_SAMPLES

    def replicate(self, replication: int) -> dict[str, Any]:
        rule, stream_ = cast(StoppingRule, self.policy), cast(Stream, self.instance)
        outcome = rule.simulate(stream_, self.horizon, stream(self.identity, replication))
        estimate = math.nan if outcome.estimate is None else outcome.estimate
        return {"samples": outcome.samples, "expired": outcome.expired, "estimate": estimate}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:  # noqa: ARG004
        if (np.isnan(rows["estimate"]) != rows["expired"]).any():
            raise ValueError("its estimates are not missing exactly where the rule expired")

    @staticmethod
    def headline(rows: Rows) -> NDArray[Any]:
        return rows["samples"]


@dataclass(frozen=True)
class WorstProfileCell(BaseCell):
    """A search for the worst gap profile; a replication is a search of its own, from other first guesses.

    It leaves the profile's suboptimal gaps and counts, the expected regret there, and how many profiles it tried.
    """

    record: ClassVar[str] = "worst_profile"
    fields: ClassVar[dict[str, pa.DataType]] = {
        "worst_regret": pa.float64(),
        "gaps": pa.list_(pa.float64()),
        "counts": pa.list_(pa.int64()),
        "tried": pa.int64(),
    }
    longest: ClassVar[int] = LONGEST

    def __post_init__(self) -> None:
        if not isinstance(self.policy, RNMFTNL):
            raise ParameterError("policy", f"{self.policy.name} has no known expected regret to search with")
        self._check_horizon()

    def replicate(self, replication: int) -> dict[str, Any]:
        instance, policy = cast(WorstProfile, self.instance), cast(RNMFTNL, self.policy)
        profile, regret, tried = instance.search(policy, self.horizon, stream(self.identity, replication))
        gaps, counts = profile.suboptimal_gaps, profile.suboptimal_counts
        return {"worst_regret": regret, "gaps": gaps, "counts": counts, "tried": tried}

    @staticmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        if (rows["counts"].sum(axis=1) != footer["columns"]["arms"] - 1).any():
            raise ValueError("its profiles do not have the arms of the cell")

    @staticmethod
    def headline(rows: Rows) -> NDArray[Any]:
        return rows["worst_regret"]


KINDS: dict[str, type[BaseCell]] = {kind.record: kind for kind in (Cell, ExactCell, StoppingCell, WorstProfileCell)}


def _check_curves(rows: Rows) -> None:
    t = rows["t"]
    if (t != t[0]).any() or t.shape != rows["regret"].shape:
        raise ValueError("its replications are not each at the same checkpoints")


def check_pulls(pulls: Any, checkpoints: IntArray, arms: int) -> None:
    """Raise `ValueError` unless `pulls` is what `Policy.simulate` promises."""
    shape = (len(checkpoints), arms)
    if not isinstance(pulls, np.ndarray) or pulls.shape != shape or not np.issubdtype(pulls.dtype, np.integer):
        told = f"{pulls.dtype} of shape {pulls.shape}" if isinstance(pulls, np.ndarray) else type(pulls).__name__
        raise ValueError(f"simulate must return whole numbers of shape (checkpoints, arms) = {shape}, got {told}")
    if (np.diff(pulls, axis=0, prepend=0) < 0).any() or (pulls.sum(axis=1) != checkpoints).any():
        raise ValueError("the pulls that simulate returns must not decrease and must add up to the step at checkpoints")


def is_part(value: Any) -> bool:
    """Whether a field's value is a described thing by itself, as the inner instance or the gap profile."""
    return dataclasses.is_dataclass(value) and hasattr(value, "name")


def _parameters(part: Any) -> dict[str, Any]:
    """The fields of `part`; of a part within it the name, and its own fields besides."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if is_part(value):
            values |= {**_parameters(value), item.name: value.name}
        else:
            values[item.name] = value
    return values


def _describe(part: Any) -> dict[str, Any]:
    """Name and parameters; the top-level package keeps a user's `dp_se` apart from ours."""
    package = type(part).__module__.partition(".")[0]
    values = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if value != item.default:
            values[item.name] = _describe(value) if is_part(value) else value
    return {"class": f"{package}:{part.name}", **values}
