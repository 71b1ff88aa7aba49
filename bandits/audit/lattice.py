"""Lower bounds over a whole run of two arms from one pair of neighbouring inputs, for horizons beyond enumeration.

If all rewards except one are 0, a decision depends only on the pulls (i, j) of both arms. So a run is a walk on a
lattice, computed under both inputs at once. Runs that reach the same pulls with similar likelihood ratios are merged
into one outcome, and their probabilities are added under each input. Merging outcomes loses information, so that the
result is a valid lower bound for any width of the bins (data processing).
"""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.transcripts import Decision
from bandits.exponents import grown

LARGEST_LOSS = 60.0  # log ratios beyond it share the outermost bins
LARGEST_EPSILON = 600.0  # e^epsilon does not overflow
BINS = 480
_Walk = tuple[FloatArray, FloatArray]  # probabilities by place and bin under both inputs, shapes (pulls of arm 1, bins)


@dataclass(frozen=True)
class TwoLaws:
    """The probabilities of merged runs under two neighbouring inputs, shapes (outcomes,)."""

    first: FloatArray
    second: FloatArray

    def delta(self, epsilon: float) -> float:
        """The delta at `epsilon` between the two laws, the larger of both directions."""
        pairs = (self.first, self.second), (self.second, self.first)
        return max(float(np.maximum(p - grown(q, epsilon), 0).sum()) for p, q in pairs)

    def epsilon(self, delta: float) -> float:
        """The least epsilon that these laws allow at `delta` > 0, rounded down, and at most `LARGEST_EPSILON`."""
        if self.delta(LARGEST_EPSILON) > delta:
            return LARGEST_EPSILON
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, LARGEST_EPSILON
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low


def run_laws(decision: Decision, horizon: int, start: int) -> TwoLaws:
    """Both laws of the first `horizon` arms: all rewards are 0, except the first of arm 1 under the second input.

    The start phase, `start` pulls of each arm, is the same under both inputs.
    """
    pulls = np.array([start, start])
    walk: _Walk = np.zeros((1, BINS)), np.zeros((1, BINS))
    for chances in walk:
        chances[0, BINS // 2] = 1.0
    for step in range(horizon - 2 * start):
        first = np.arange(step + 1)
        places = pulls + np.stack([first, step - first], axis=1)
        changed = np.stack([places[:, 0] > 0, 0 * first], axis=1).astype(float)
        walk = _step(walk, [decision(places, np.zeros(changed.shape)), decision(places, changed)])
    return TwoLaws(walk[0].ravel(), walk[1].ravel())


def _step(walk: _Walk, laws: list[FloatArray]) -> _Walk:
    """One more pull of either arm: probabilities move to the next place, and into the bin of their new ratio."""
    places = len(walk[0])
    size = (places + 1) * BINS
    after = [np.zeros(size), np.zeros(size)]
    for arm in (0, 1):
        moved = [chances * law[:, arm, None] for chances, law in zip(walk, laws, strict=True)]
        rows = np.arange(places)[:, None] + (1 if arm == 0 else 0)
        target = (rows * BINS + _bins(*moved)).ravel()
        for total, chances in zip(after, moved, strict=True):
            total += np.bincount(target, weights=chances.ravel(), minlength=size)
    first, second = (total.reshape(places + 1, BINS) for total in after)
    return first, second


def _bins(first: FloatArray, second: FloatArray) -> IntArray:
    """The bin of the log ratio of two probabilities; the outermost hold all larger ratios, even infinite ones."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.nan_to_num(np.log(first) - np.log(second), nan=0.0, posinf=np.inf, neginf=-np.inf)
    scaled = (np.clip(loss, -LARGEST_LOSS, LARGEST_LOSS) / LARGEST_LOSS + 1) / 2 * (BINS - 1)
    return np.asarray(np.rint(scaled), dtype=np.int64)
