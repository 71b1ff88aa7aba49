"""Cells, the units that are planned, run and stored, and what each kind of cell defines."""

import dataclasses
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bandits import Guarantee, ParameterError, checkpoint_grid
from bandits.arrays import IntArray
from bandits.learner import Environment, Learner
from experiments.own_code.own_source import code_of
from experiments.own_code.user_code import is_built_in

RECORDED = 200
ROUNDING = 1e-9  # of the largest regret: what sums may lose
NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")

# Columns of tables that are no parameters: those of every cell, in the order of tables; those that storing and loading
# add, `code` a digest of the source of a user's classes; and all of them.
COLUMNS = ("instance", "arms", "policy", "epsilon", "delta", "scope", "horizon")
CODE, CELL_KEY, REPLICATIONS = ADDED = ("code", "cell", "replications")
NO_PARAMETERS = frozenset({*COLUMNS, "record", "random_seed", "key", *ADDED})

Rows = Mapping[str, NDArray[Any]]
RunValues = NDArray[Any]  # a number, or yes or no, for each replication


class Quantity(NamedTuple):
    """A quantity of a run: the label of its mean on an axis or in a table, and its value for each replication.

    The label begins with "mean" for a number, and with "share of runs" or the like for yes or no.
    """

    label: str
    measure: Callable[[Any, Rows], RunValues]


class Schema(NamedTuple):
    """The schema of a table: a row for each replication, or for each item if the `fields` are lists.

    Attributes
    ----------
    fields: the columns of a results file that are in the table.
    place: the name of a column with the position of each item, 0, 1, ...; None for no such column.
    """

    fields: tuple[str, ...]
    place: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return ("replication", *(() if self.place is None else (self.place,)), *self.fields)

    def rows(self, stored: Rows) -> dict[str, NDArray[Any]]:
        """The columns of the table, from the columns of a results file."""
        first = stored[self.fields[0]]
        count, places = len(first), first[:1].size if first.ndim > 1 else 1
        numbered = {} if self.place is None else {self.place: np.tile(np.arange(places), count)}
        values = {name: stored[name].ravel() for name in self.fields}
        return {"replication": np.repeat(np.arange(count, dtype=np.int32), places), **numbered, **values}


@dataclass(frozen=True)
class Cell(ABC):
    """Instance x policy (with its budget) x horizon; each subclass is a kind of cell.

    A kind defines the record that a replication leaves behind, and all that tables, figures and checks need to know of
    it, in one file of this package. `recorded` is about how many checkpoints of a curve are kept; it changes no other
    number. With a `seed` other than 0 it has other random numbers; results with such are never published.

    Raises `ParameterError` if the policy cannot learn from the instance, or refuses it, and for a horizon
    below 1 or beyond the `longest` of its kind.

    Attributes
    ----------
    record: the name of what a replication leaves behind; "regret" is left out of identities.
    fields: its columns in a results file, besides `replication`; those in `optional` may be missing, as NaN.
    repeatable: whether another replication gives new information; if not, the numbers are computed exactly.
    resolution: the absolute difference of computed numbers that another processor may make.
    spread: the relative difference of a searched headline that another processor may make; 0 without a search.
    headline: the quantity that sums up a run in tables and checks; `title` is the title of a table of it.
    unit: the unit of the horizon.
    quantities: the quantities of a run, by their names in configs.
    tables: the tables of `experiments.load`, by their names; `experiments.run` returns the first.
    """

    instance: Environment
    policy: Learner[Any]
    horizon: int
    recorded: int = RECORDED
    seed: int = 0

    record: ClassVar[str]
    fields: ClassVar[dict[str, pa.DataType]]
    optional: ClassVar[frozenset[str]] = frozenset()
    repeatable: ClassVar[bool] = True
    resolution: ClassVar[float] = 0.0
    spread: ClassVar[float] = 0.0
    headline: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str] = "steps"
    quantities: ClassVar[dict[str, Quantity]]
    tables: ClassVar[dict[str, Schema]] = {}
    longest: ClassVar[int] = 2**62  # steps are counted in 64 bits

    def __post_init__(self) -> None:
        self._check_own()
        if not isinstance(self.instance, self.policy.faces):
            raise ParameterError("instance", mismatch(self.instance, self.policy))
        self.policy.check(self.instance)

    def _check_own(self) -> None:
        """The checks of each part alone, as of names, which become names of files. Raises `ParameterError`."""
        for part, name in (("instance", self.instance.name), ("policy", self.policy.name)):
            if not (isinstance(name, str) and NAME.fullmatch(name)):
                raise ParameterError(part, f"{name!r} is not a name: lower-case letters, digits and _, 100 at most")
        if not 1 <= self.horizon <= self.longest:
            raise ParameterError("horizon", f"must be a whole number in 1..{self.longest}, got {self.horizon}")

    @classmethod
    @abstractmethod
    def records(cls, instance: Environment, policy: Learner[Any], exact: bool) -> bool:
        """Whether this is the kind of cell for `policy` on `instance`, simulated, or computed if `exact`."""

    @abstractmethod
    def replicate(self, replication: int) -> dict[str, Any]:
        """The row of one replication, a value for each of `fields`; a pure function of the cell and the number."""

    @staticmethod
    @abstractmethod
    def check(rows: Rows, footer: Mapping[str, Any]) -> None:
        """Raise `ValueError` if stored `rows` cannot be those of the cell that their `footer` describes."""

    def implied(self, rows: Rows) -> Rows:
        """The columns that follow from other columns of `rows`, computed again; none for most kinds."""
        return {}

    @classmethod
    def until(cls, horizons: str) -> str:
        """The words of a caption for where runs end, from the horizons as text."""
        return f"T = {horizons}"

    @classmethod
    def repeated(cls, runs: str) -> str:
        """The words of a caption for what a point stands for, from the numbers of runs as text."""
        return f"{runs} runs; mean and 95 % interval"

    @property
    def arms(self) -> int:
        return self.instance.number_of_arms

    @cached_property
    def checkpoints(self) -> IntArray:
        """The steps at which regret is recorded; not to be changed."""
        return checkpoint_grid(self.horizon, self.recorded)

    @cached_property
    def identity(self) -> str:
        """What the cell is, as canonical JSON, parameters at their default left out. Seeds follow from it."""
        content = {"instance": _describe(self.instance), "policy": _describe(self.policy), "horizon": self.horizon}
        kind = {} if self.record == "regret" else {"record": self.record}
        seed = {"seed": self.seed} if self.seed else {}
        return json.dumps(content | kind | seed, sort_keys=True)

    @cached_property
    def own(self) -> tuple[type[Any], ...]:
        """The classes from outside this repository among those of the policy, the instance and their parts."""
        parts = [*parts_of(self.policy), *parts_of(self.instance)]
        classes = dict.fromkeys(map(type, parts))
        return tuple(cls for cls in classes if not is_built_in(cls))

    @cached_property
    def code(self) -> str | None:
        """A digest of the files that its `own` classes may depend on; None if it has none, or they are in no file."""
        return code_of(self.own) if self.own else None

    @cached_property
    def key(self) -> str:
        """The key of its stored numbers: a hash of the identity, the revisions of instance and policy, and `recorded`.

        For classes from outside this repository also of the `code`: other source is another cell, with the same seeds.
        """
        kept = "" if self.recorded == RECORDED else f" recorded {self.recorded}"
        text = (
            f"{self.identity}{kept} instance revision {self.instance.revision} policy revision {self.policy.revision}"
            f"{f' code {self.code}' if self.code else ''}"
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the policy, once: that of Gaussian noise takes an integral."""
        return self.policy.guarantee

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Its parameters and others in `NO_PARAMETERS`, in every row of `load`; epsilon is infinite without privacy."""
        guarantee = self.guarantee
        return {
            **parameters_of(self.instance),
            **parameters_of(self.policy),
            "instance": self.instance.name,
            "arms": self.arms,
            "policy": self.policy.name,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "scope": guarantee.scope.value,
            "horizon": self.horizon,
            "record": self.record,
            **({"random_seed": self.seed} if self.seed else {}),
        }

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why a theorem does not apply to this cell, as a warning for readers of the results."""
        return self.policy.caveats(self.instance, self.horizon)


def mismatch(instance: Environment, policy: Learner[Any]) -> str:
    """Why `policy` cannot learn from `instance`."""
    return f"{policy.name} learns from {policy.faces.feedback}, and {instance.name} gives {instance.feedback}"


def check_curves(rows: Rows) -> None:
    """Raise `ValueError` unless replications are at the same checkpoints, and regret is finite and never decreases."""
    t = rows["t"]
    if (t != t[0]).any() or t.shape != rows["regret"].shape:
        raise ValueError("its replications have different checkpoints")
    check_finite(rows, "regret")
    steps = rows["regret"][:, 1:] - rows["regret"][:, :-1]
    if (steps >= 0).all():
        return
    rounding = ROUNDING * np.abs(rows["regret"]).max(axis=1, initial=1.0, keepdims=True)
    if (steps < -rounding).any():
        raise ValueError("its pseudo-regret decreases")


def check_finite(rows: Rows, name: str) -> None:
    """Raise `ValueError` where `name` is infinite or not a number."""
    if not np.isfinite(rows[name]).all():
        raise ValueError(f"its {name} is not a finite number everywhere")


def column(name: str) -> Callable[[Cell, Rows], RunValues]:
    """The quantity that is stored in the field `name`."""
    return lambda _, rows: np.asarray(rows[name])


def is_part(value: Any) -> bool:
    """Whether the value of a field is itself a dataclass with a name, as an inner instance or a gap profile."""
    return dataclasses.is_dataclass(value) and hasattr(value, "name")


def parts_of(part: Any) -> Iterator[Any]:
    """An instance or policy, and all parts within it."""
    yield part
    for item in dataclasses.fields(part):
        if is_part(getattr(part, item.name)):
            yield from parts_of(getattr(part, item.name))


def parameters_of(part: Any) -> dict[str, Any]:
    """The fields of `part` with their values; for a part within it the name, and its own fields too."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if is_part(value):
            values |= {**parameters_of(value), item.name: value.name}
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
