"""Stored replications of a cell, and the quantities that can be measured from them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from experiments.cells import KINDS, QUANTITIES, Cell, Rows, Values
from experiments.cells.regret import RegretCell
from experiments.errors import nearest


@dataclass(frozen=True)
class Replications:
    """Replications of a cell: just simulated, in a piece, or stored; stored ones have the numbers 0, 1, ...

    Attributes
    ----------
    rows: an array for each of the cell's `fields`, whose first axis is the replication.
    footer: metadata and provenance of the cell, see `experiments.simulate.block.footer_of_block` and
        `experiments.simulate.Job.stored_now`.
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
        """What a replication leaves behind, the name of the kind of cell; regret if the footer does not have it."""
        return str(self.footer.get("record", RegretCell.record))

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
        return replace(self, rows={name: values[:replications] for name, values in self.rows.items()})

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """All of `several` together, each replication once, in the order of their numbers, with the first's footer."""
        first = several[0]
        rows = {name: np.concatenate([one.rows[name] for one in several]) for name in first.rows}
        log = {name: np.concatenate([one.log[name] for one in several]) for name in first.log}
        _, places = np.unique(log["replication"], return_index=True)
        return replace(first, rows=rows, log=log).at(places)

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

    `weighted` are the stored weighted runs on which its mean regret rests, see `experiments.means`; None for none.
    """

    cell: Cell
    weighted: "Stored | None" = field(default=None, kw_only=True)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of the cell as in `experiments.load`, with its record."""
        return {**self.cell.columns, "record": self.cell.record}

    @property
    def exact(self) -> bool:
        """Whether the numbers are computed rather than estimated."""
        return not self.cell.repeatable

    @property
    def headline(self) -> FloatArray:
        """The headline of each replication, the number that sums it up, shape (replications,)."""
        return self.measure(self.cell.headline).astype(float)

    @cached_property
    def in_turn(self) -> float | None:
        """Regret of pulling all arms in turn, for a cell whose regret says which arm comes first, and nothing else.

        That is one whose start phase was never left: the best arm comes first on most instances, so that its stored
        regret can be 0. None for all other cells.
        """
        cell = self.cell
        if not isinstance(cell.instance, Instance) or cell.policy.fixed_steps(cell.arms, cell.horizon) < cell.horizon:
            return None
        return cell.horizon * float(np.mean(cell.instance.gaps))

    @property
    def unit(self) -> str:
        """The unit of the horizon."""
        return self.cell.unit

    def measure(self, quantity: str) -> Values:
        """The `quantity` of each replication. Raises `ParameterError` if it is not recorded."""
        require_quantity(quantity, "value")
        if quantity not in self.cell.quantities:
            problem = f"{quantity} is not recorded of {self.cell.policy.name} on {self.cell.instance.name}"
            raise ParameterError("value", problem)
        return self.cell.quantities[quantity].measure(self.cell, self.rows)

    def word(self, word: str) -> Any:
        """The value that a `word` in a config stands for in this cell: a column, else a property of the instance.

        So the arguments of a bound are written once for many cells. `rule` is the policy itself, `transcript_epsilon`
        the epsilon that it promises for the whole transcript, infinite without a promise. Raises `ParameterError`.
        """
        if word == "rule":
            return self.cell.policy
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


def meets(columns: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether each column of a cell has the value, or one of the values, that its condition asks for.

    The condition {without: ...} asks for none of its values.
    """
    return all(
        not matches(columns.get(name), wanted["without"])
        if isinstance(wanted, Mapping) and set(wanted) == {"without"}
        else matches(columns.get(name), wanted)
        for name, wanted in conditions.items()
    )


def matches(value: Any, wanted: Any) -> bool:
    """Whether `value` equals `wanted`, or one of the values in it; numbers are compared to 12 digits."""
    if isinstance(value, list | tuple):
        return isinstance(wanted, Sequence) and len(value) == len(wanted) and all(map(matches, value, wanted))
    if isinstance(wanted, Iterable) and not isinstance(wanted, str):
        return any(matches(value, option) for option in wanted)
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return math.isclose(value, wanted, rel_tol=1e-12)
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

WORDS = {"rule", "transcript_epsilon", *DERIVED}  # in addition to the columns of a cell
