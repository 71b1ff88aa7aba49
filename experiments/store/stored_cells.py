"""Several stored cells, for figures, tables, claims and reports: filter, group and measure them."""

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar, overload

from experiments.cells import Values
from experiments.store.stored import Stored, meets

Key = TypeVar("Key", bound=Hashable)


class Cells(Sequence[Stored]):
    """Stored cells in the order given, each once; of two with the same key the one with more replications is kept."""

    def __init__(self, cells: Iterable[Stored] = ()) -> None:
        self._of_key: dict[str, Stored] = {}
        for stored in cells:
            known = self._of_key.get(stored.cell.key)
            if known is None or known.replications < stored.replications:
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
        return list({repr(of[name]): of[name] for stored in self if name in (of := stored.columns)}.values())

    def varying(self) -> list[str]:
        """The columns in which the cells differ; a cell without a column counts as None."""
        columns = [stored.columns for stored in self]
        return [name for name in self.columns if len({repr(of.get(name)) for of in columns}) > 1]

    def only(self, test: Callable[[Stored], bool]) -> Self:
        """The cells that pass a test."""
        return type(self)(filter(test, self))

    def where(self, **conditions: Any) -> Self:
        """The cells whose columns meet all conditions: column=value, column=[values], or column={"without": values}."""
        return self.only(lambda stored: meets(stored.columns, conditions))

    def grouped(self, key: Callable[[Stored], Key]) -> dict[Key, Self]:
        """The cells grouped by `key`, groups in the order in which their keys first occur."""
        found: dict[Key, list[Stored]] = {}
        for stored in self:
            found.setdefault(key(stored), []).append(stored)
        return {of: type(self)(cells) for of, cells in found.items()}

    def by(self, *columns: str) -> dict[tuple[Any, ...], Self]:
        """The cells grouped by their values in these columns, None for a cell without the column."""
        return self.grouped(lambda stored: tuple(stored.columns.get(name) for name in columns))

    def measure(self, quantity: str) -> list[Values]:
        """The `quantity` of each replication, for each cell. Raises `ParameterError` if a cell does not record it."""
        return [stored.measure(quantity) for stored in self]

    def lacks(self, stored: Stored, name: str) -> bool:
        """Whether column `name` is a parameter of policies only, and the policy of the cell `stored` does not have it.

        A policy without privacy lacks epsilon; a policy without delta in its guarantee or its parameters lacks delta.
        """
        if name not in self._of_policies:
            return False
        guarantee = stored.cell.policy.guarantee
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
