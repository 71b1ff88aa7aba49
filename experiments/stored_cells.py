"""Several stored cells, as figures, tables, claims and reports take them: chosen, grouped and compared."""

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar, overload

from experiments.cells import Values
from experiments.stored import Stored, meets

Key = TypeVar("Key", bound=Hashable)


class Cells(Sequence[Stored]):
    """Stored cells in the order given, each once: of two with the same key that with the most replications."""

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
        """Whether this cell is among them, with however many replications."""
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
        """The columns that some cell has."""
        return list(dict.fromkeys(name for stored in self for name in stored.columns))

    def values(self, name: str) -> list[Any]:
        """The different values of a column, of the cells that have it."""
        return list({repr(of[name]): of[name] for stored in self if name in (of := stored.columns)}.values())

    def varying(self) -> list[str]:
        """The columns in which the cells differ; to be without one differs from every value but None."""
        columns = [stored.columns for stored in self]
        return [name for name in self.columns if len({repr(of.get(name)) for of in columns}) > 1]

    def only(self, test: Callable[[Stored], bool]) -> Self:
        """The cells that pass a test."""
        return type(self)(filter(test, self))

    def where(self, **conditions: Any) -> Self:
        """The cells whose columns meet all conditions: a value, any of several, or none of those {without: ...}."""
        return self.only(lambda stored: meets(stored.columns, conditions))

    def grouped(self, key: Callable[[Stored], Key]) -> dict[Key, Self]:
        """The cells with equal keys, in the order in which keys come first."""
        found: dict[Key, list[Stored]] = {}
        for stored in self:
            found.setdefault(key(stored), []).append(stored)
        return {of: type(self)(cells) for of, cells in found.items()}

    def by(self, *columns: str) -> dict[tuple[Any, ...], Self]:
        """The cells with equal values in these columns, None for a cell without one."""
        return self.grouped(lambda stored: tuple(stored.columns.get(name) for name in columns))

    def measure(self, quantity: str) -> list[Values]:
        """The `quantity` of each replication of each cell. Raises `ParameterError` where nothing of it is recorded."""
        return [stored.measure(quantity) for stored in self]

    def lacks(self, stored: Stored, name: str) -> bool:
        """Whether a column is a parameter of policies alone, and the policy of the cell `stored` has none of that name.

        Without privacy there is no epsilon, and where nothing can be spent, no delta.
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
        """Columns that say something of policies alone."""
        names: set[str] = set()
        others: set[str] = set()
        for stored in self:
            own = {item.name for item in dataclasses.fields(stored.cell.policy)}  # type: ignore[arg-type]
            names |= own
            others |= stored.columns.keys() - own
        return {"epsilon", "delta"} | (names - others)
