"""Estimates of how long a replication of a cell takes, from the stored times of similar cells."""

import math
from collections import defaultdict
from statistics import median

from experiments.cells import Cell
from experiments.store.index import Index


class Costs:
    """Typical seconds of a replication in stored cells, by policy and number of arms, then by horizon."""

    def __init__(self, index: Index) -> None:
        self._known: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        columns = [index.column(name) for name in ("policy", "arms", "horizon")]
        for row, seconds in enumerate(index.seconds):
            if not math.isnan(seconds) and all(of.codes[row] >= 0 for of in columns):
                policy, arms, horizon = (of.values[of.codes[row]] for of in columns)
                self._known[policy, arms][horizon].append(float(seconds))

    def of(self, cell: Cell) -> float | None:
        """Estimated seconds of a replication of `cell`; None if no cell of its policy and number of arms is stored.

        The median seconds at the nearest stored horizon, times (horizon / nearest)^p. The power p is that with which
        seconds grow from the smallest to the largest stored horizon, limited to [0, 1]. With only one stored horizon
        p = 1, which overestimates policies whose cost does not grow with the horizon.
        """
        known = self._known.get((cell.policy.name, cell.arms))
        if not known:
            return None
        nearest = min(known, key=lambda horizon: abs(math.log(horizon / cell.horizon)))
        return median(known[nearest]) * math.pow(cell.horizon / nearest, _growth(known))


def _growth(known: dict[int, list[float]]) -> float:
    """The power of the horizon with which seconds grow, in [0, 1]."""
    least, largest = min(known), max(known)
    before, after = median(known[least]), median(known[largest])
    if least == largest or min(before, after) <= 0:
        return 1.0
    return min(1.0, max(0.0, math.log(after / before) / math.log(largest / least)))
