"""What a replication of a cell may take, from what like cells took that are stored."""

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
        """Seconds of a replication of a cell, None where nothing is known.

        Those of the stored cells of the same policy and number of arms at the nearest horizon, times the power of the
        horizon with which they grow from the least to the largest that is stored, between 0 and 1; 1 if there is but
        one, which overrates policies whose cost does not grow.
        """
        known = self._known.get((cell.policy.name, cell.arms))
        if not known:
            return None
        nearest = min(known, key=lambda horizon: abs(math.log(horizon / cell.horizon)))
        return median(known[nearest]) * math.pow(cell.horizon / nearest, _growth(known))


def _growth(known: dict[int, list[float]]) -> float:
    """The power of the horizon with which seconds grow."""
    least, largest = min(known), max(known)
    before, after = median(known[least]), median(known[largest])
    if least == largest or min(before, after) <= 0:
        return 1.0
    return min(1.0, max(0.0, math.log(after / before) / math.log(largest / least)))
