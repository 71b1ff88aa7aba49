"""Estimates of how long a replication of a cell takes, from the times of similar cells."""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from statistics import median
from typing import NamedTuple, Self

from experiments.cells import Cell
from experiments.errors import UserError
from experiments.store.index import Index


class SimilarCells(NamedTuple):
    """Cells with the same policy, number of arms and horizon, whose replications take about the same time."""

    policy: str
    arms: int
    horizon: int

    @classmethod
    def of(cls, cell: Cell) -> Self:
        return cls(cell.policy.name, cell.arms, cell.horizon)


class Costs:
    """Typical seconds of a replication: in stored cells, and as measured since.

    `read` gives the index of stored cells when it is first needed. If it cannot be read, nothing stored is known.
    """

    def __init__(self, read: Callable[[], Index]) -> None:
        self._read = read
        self._measured: dict[SimilarCells, tuple[float, int]] = {}  # seconds of how many replications

    def measure(self, cell: Cell, replications: int, seconds: float) -> None:
        """Note that `replications` of `cell` took `seconds` together."""
        before, count = self._measured.get(like := SimilarCells.of(cell), (0.0, 0))
        self._measured[like] = before + seconds, count + replications

    def measured(self, like: SimilarCells) -> float | None:
        """Mean seconds of a replication as measured, None if there is none yet."""
        seconds, count = self._measured.get(like, (0.0, 0))
        return seconds / count if count else None

    def of(self, cell: Cell) -> float | None:
        """Estimated seconds of a replication of `cell`; None if nothing is known of its policy.

        The median of similar cells that are stored, else the mean of those that were measured. If no cell of this
        horizon is known, the seconds at the nearest known horizon, times (horizon / nearest)^p. The power p is that
        with which seconds grow from the smallest to the largest known horizon, limited to [0, 1]. If one horizon is
        known, p is 1, or 0 if the policy says that its time does not grow with the horizon. If no cell with as many
        arms is known, those with the nearest number of arms are taken for similar.
        """
        asked = SimilarCells.of(cell)
        if not (known := self._known(asked)):
            return None
        nearest = min(known, key=lambda horizon: abs(math.log(horizon / asked.horizon)))
        power = _growth(known) if len(known) > 1 else float(cell.policy.time_grows)
        return known[nearest] * math.pow(asked.horizon / nearest, power)

    def _known(self, asked: SimilarCells) -> dict[int, float]:
        """Seconds by horizon of the same policy, with the nearest number of arms."""
        found: dict[int, dict[int, float]] = defaultdict(dict)  # by number of arms
        for like in self._measured:
            if like.policy == asked.policy and (seconds := self.measured(like)) is not None:
                found[like.arms][like.horizon] = seconds
        for arms, times in self._stored.get(asked.policy, {}).items():
            found[arms] |= times
        return found[min(found, key=lambda arms: abs(math.log(arms / asked.arms)))] if found else {}

    @cached_property
    def _stored(self) -> dict[str, dict[int, dict[int, float]]]:
        """Median seconds of stored cells, by policy, number of arms and horizon."""
        try:
            index = self._read()
        except (OSError, UserError):
            return {}
        found: dict[SimilarCells, list[float]] = defaultdict(list)
        columns = [index.column(name) for name in SimilarCells._fields]
        for row, seconds in enumerate(index.seconds):
            if not math.isnan(seconds) and all(of.codes[row] >= 0 for of in columns):
                found[SimilarCells(*(of.values[of.codes[row]] for of in columns))].append(float(seconds))
        stored: dict[str, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        for like, times in found.items():
            stored[like.policy][like.arms][like.horizon] = median(times)
        return stored


def _growth(known: dict[int, float]) -> float:
    """The power of the horizon with which seconds grow, in [0, 1]; `known` are seconds by horizon, of at least two."""
    least, largest = min(known), max(known)
    if min(known[least], known[largest]) <= 0:
        return 1.0
    return min(1.0, max(0.0, math.log(known[largest] / known[least]) / math.log(largest / least)))
