"""Stored cells, one or several: their replications, and the quantities that can be measured from them."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from experiments.cells import KINDS, QUANTITIES, Cell, Rows, RunValues
from experiments.errors import nearest


@dataclass(frozen=True)
class Replications:
    """Replications of a cell: just simulated, or stored; stored ones have the numbers 0, 1, ...

    Attributes
    ----------
    rows: an array for each of the cell's `fields`, whose first axis is the replication.
    footer: metadata of the cell. Of a file: record, key, identity, revisions, columns, caveats, source (the digest of a
        user's class), config, seed_entropy and runs (where and when its replications were simulated). Of a block that
        was just simulated: record, key, columns and origin.
    log: `replication`, the number of each, if they are not 0, 1, ..., and the processor `seconds` that each took, if it
        is not stored yet.
    """

    rows: Rows
    footer: dict[str, Any]
    log: Rows = field(default_factory=dict, kw_only=True)

    @property
    def replications(self) -> int:
        return len(next(iter(self.rows.values())))

    @property
    def numbers(self) -> IntArray:
        """The numbers of the replications, shape (replications,)."""
        return self.log["replication"] if "replication" in self.log else np.arange(self.replications)

    @property
    def seconds(self) -> FloatArray:
        """The processor time that each replication took, shape (replications,); if not stored yet."""
        return self.log["seconds"]

    @property
    def origin(self) -> dict[str, Any]:
        """Their provenance, see `experiments.simulate.provenance`; only for replications not stored yet."""
        return cast(dict[str, Any], self.footer["origin"])

    @property
    def record(self) -> str:
        """What a replication leaves behind, the name of the kind of cell."""
        return str(self.footer["record"])

    @property
    def kind(self) -> type[Cell]:
        """The kind of cell with this record."""
        return KINDS[self.record]

    def at(self, places: NDArray[np.int64] | slice) -> Self:
        """The replications at these positions, in this order."""
        rows = {name: values[places] for name, values in self.rows.items()}
        log = {name: values[places] for name, values in {"replication": self.numbers, **self.log}.items()}
        return replace(self, rows=rows, log=log)

    def first(self, replications: int | None) -> Self:
        """The first `replications` of stored ones, or all if None."""
        if replications is None:
            return self
        return replace(self, rows={name: values[:replications] for name, values in self.rows.items()})

    @property
    def t(self) -> IntArray:
        """Checkpoints of a regret curve, shape (checkpoints,)."""
        return cast(IntArray, self.rows["t"][0])

    @property
    def regret(self) -> FloatArray:
        """Pseudo-regret at the checkpoints, shape (replications, checkpoints)."""
        return self.rows["regret"]

    @property
    def pulls(self) -> IntArray:
        """Final pulls, shape (replications, arms)."""
        return self.rows["pulls"]


@dataclass(frozen=True)
class Stored(Replications):
    """A cell and its stored replications.

    `weighted` are the stored weighted runs on which its mean rests (`experiments.evidence.means`); None for none.
    """

    cell: Cell
    weighted: "Stored | None" = field(default=None, kw_only=True)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the cell as in `experiments.load`."""
        return self.cell.columns

    @property
    def record(self) -> str:
        return self.cell.record

    @property
    def exact(self) -> bool:
        """Whether the numbers are computed rather than estimated."""
        return not self.cell.repeatable

    @property
    def headline(self) -> FloatArray:
        """The headline of each replication, the number that sums it up, shape (replications,)."""
        return self.measure(self.cell.headline).astype(float)

    @cached_property
    def start_phase_regret(self) -> float | None:
        """If all steps are a start phase, in which all arms are pulled in turn: horizon times the mean gap. Else None.

        The stored regret of such a cell depends on the order of the arms alone, and can be 0.
        """
        cell = self.cell
        if not isinstance(cell.instance, Instance) or cell.policy.fixed_steps(cell.arms, cell.horizon) < cell.horizon:
            return None
        return cell.horizon * float(np.mean(cell.instance.gaps))

    def measure(self, quantity: str) -> RunValues:
        """The `quantity` of each replication. Raises `ParameterError` if it is not recorded."""
        require_quantity(quantity, "value")
        if quantity not in self.cell.quantities:
            problem = f"{quantity} is not recorded of {self.cell.policy.name} on {self.cell.instance.name}"
            raise ParameterError("value", problem)
        return self.cell.quantities[quantity].measure(self.cell, self.rows)

    def word(self, word: str) -> Any:
        """The value that a `word` in a config stands for in this cell: a column, else a property of the instance.

        So the arguments of a bound are written once for many cells. `rule` is the policy itself, `transcript_epsilon`
        the epsilon that it promises for the whole transcript, infinite without a promise; `promised_rho` and
        `promised_level` are the rho of zCDP and the level that its guarantee implies. Raises `ParameterError`.
        """
        if word == "rule":
            return self.cell.policy
        if word == "promised_rho":
            return self.cell.guarantee.least_rho
        if word == "promised_level":
            return self.cell.guarantee.least_level
        if word == "transcript_epsilon":
            return self.cell.policy.promised_epsilon(self.cell.arms, self.cell.horizon)
        if self.columns.get(word) is not None:
            return self.columns[word]
        instance: Any = self.cell.instance
        if word not in DERIVED:
            raise ParameterError(
                word, f"is neither a number nor a name of one here; {nearest(word, WORDS | self.columns.keys())}"
            )
        try:
            return DERIVED[word](instance)
        except AttributeError:
            raise ParameterError(word, f"is not known of the instance {instance.name}") from None

    def number(self, value: float | str) -> float:
        """The number `value`, or the number that a word stands for. Raises `ParameterError`."""
        stands_for = self.word(value) if isinstance(value, str) else value
        try:
            return float(stands_for)
        except (TypeError, ValueError):
            raise ParameterError(str(value), f"is {stands_for}, not a number") from None


def agree(one: Replications, other: Replications) -> bool:
    """Whether the replications that both have are the same bit by bit."""
    both = min(one.replications, other.replications)
    return all(
        np.array_equal(values[:both], other.rows[name][:both], equal_nan=values.dtype.kind == "f")
        for name, values in one.rows.items()
    )


def meets(columns: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether each column of a cell has the value, or one of the values, that its condition asks for.

    The condition {without: ...} asks for none of its values.
    """
    return all(
        not matches(columns.get(name), wanted["without"])
        if isinstance(wanted, dict) and set(wanted) == {"without"}
        else matches(columns.get(name), wanted)
        for name, wanted in conditions.items()
    )


def matches(value: Any, wanted: Any) -> bool:
    """Whether `value` equals `wanted`, or one of the values in it; numbers are compared to 12 digits."""
    if isinstance(value, list | tuple):
        return isinstance(wanted, Sequence) and len(value) == len(wanted) and all(map(matches, value, wanted))
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        with suppress(OverflowError):  # of a whole number that no float holds
            return math.isclose(value, wanted, rel_tol=1e-12)
    if not isinstance(wanted, str) and isinstance(wanted, Iterable):
        return any(matches(value, option) for option in wanted)
    return bool(value == wanted)


def require_quantity(quantity: str, key: str = "quantity") -> None:
    """Raise `ParameterError` that names `key` unless some kind of cell records the `quantity`."""
    if quantity not in QUANTITIES:
        raise ParameterError(key, f"{quantity} is unknown; {nearest(quantity, QUANTITIES)}")


def _gaps(instance: Any) -> NDArray[np.float64]:
    return np.asarray(instance.gaps[instance.gaps > 0])


DERIVED: dict[str, Callable[[Any], Any]] = {
    "gaps": _gaps,
    "least_gap": lambda instance: float(_gaps(instance).min()),
    "inverse_gap": lambda instance: 1 / float(_gaps(instance).min()),
    "slack": lambda instance: float(_gaps(instance).min()) / 3,
    "suboptimal_arms": lambda instance: len(_gaps(instance)),
    "log_arms": lambda instance: math.log(instance.number_of_arms),
    "moment": lambda instance: instance.moment,
    "means": lambda instance: instance.mean_rewards,
    "losses": lambda instance: instance.losses,
}

WORDS = {
    "rule",
    "transcript_epsilon",
    "promised_rho",
    "promised_level",
    *DERIVED,
}  # in addition to the columns of a cell


_Key = TypeVar("_Key", bound=Hashable)


class Cells(Sequence[Stored]):
    """Stored cells in the order given, each once; of two with the same key the one with more replications is kept."""

    def __init__(self, cells: Iterable[Stored] = ()) -> None:
        self._of_key: dict[str, Stored] = {}
        for stored in cells:
            earlier = self._of_key.get(stored.cell.key)
            if earlier is None or earlier.replications < stored.replications:
                self._of_key[stored.cell.key] = stored
        self._cells = tuple(self._of_key.values())

    @classmethod
    def of(cls, groups: Iterable[Iterable[Stored]]) -> Self:
        """The cells of all groups."""
        return cls(itertools.chain.from_iterable(groups))

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, stored: object) -> bool:
        """Whether this cell is among them, with any number of replications."""
        return isinstance(stored, Stored) and stored.cell.key in self._of_key

    def __iter__(self) -> Iterator[Stored]:
        return iter(self._cells)

    @overload
    def __getitem__(self, place: int) -> Stored: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Stored | Self:
        return type(self)(self._cells[place]) if isinstance(place, slice) else self._cells[place]

    @cached_property
    def columns(self) -> list[str]:
        """The columns that at least one cell has."""
        return list(dict.fromkeys(name for stored in self for name in stored.columns))

    def values(self, name: str) -> list[Any]:
        """The distinct values of a column, over the cells that have it."""
        return list(
            {repr(columns[name]): columns[name] for stored in self if name in (columns := stored.columns)}.values()
        )

    def varying(self) -> list[str]:
        """The columns in which the cells differ; a cell without a column counts as None."""
        columns = [stored.columns for stored in self]
        return [name for name in self.columns if len({repr(cell.get(name)) for cell in columns}) > 1]

    def only(self, test: Callable[[Stored], bool]) -> Self:
        """The cells that pass a test."""
        return type(self)(filter(test, self))

    def where(self, **conditions: Any) -> Self:
        """The cells whose columns meet all conditions: column=value, column=[values], or column={"without": values}."""
        return self.only(lambda stored: meets(stored.columns, conditions))

    def grouped(self, key: Callable[[Stored], _Key]) -> dict[_Key, Self]:
        """The cells grouped by `key`, groups in the order in which their keys first occur."""
        groups: dict[_Key, list[Stored]] = {}
        for stored in self:
            groups.setdefault(key(stored), []).append(stored)
        return {value: type(self)(cells) for value, cells in groups.items()}

    def by(self, *columns: str) -> dict[tuple[Any, ...], Self]:
        """The cells grouped by their values in these columns, None for a cell without the column."""
        return self.grouped(lambda stored: tuple(stored.columns.get(name) for name in columns))

    def measure(self, quantity: str) -> list[RunValues]:
        """The `quantity` of each replication, for each cell. Raises `ParameterError` if a cell does not record it."""
        return [stored.measure(quantity) for stored in self]

    def lacks(self, stored: Stored, name: str) -> bool:
        """Whether column `name` is a parameter of policies only, and the policy of the cell `stored` does not have it.

        A policy without privacy lacks epsilon; a policy without delta in its guarantee or its parameters lacks delta.
        """
        if name not in self._of_policies:
            return False
        guarantee = stored.cell.guarantee
        if name == "epsilon":
            return not guarantee.private
        if name == "delta":
            return not guarantee.private or not (guarantee.delta > 0 or hasattr(stored.cell.policy, "delta"))
        return name not in stored.columns

    @cached_property
    def _of_policies(self) -> set[str]:
        """The columns that are parameters of policies only."""
        names: set[str] = set()
        others: set[str] = set()
        for stored in self:
            own = {item.name for item in dataclasses.fields(stored.cell.policy)}  # type: ignore[arg-type]
            names |= own
            others |= stored.columns.keys() - own
        return {"epsilon", "delta"} | (names - others)
