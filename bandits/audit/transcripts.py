"""The exact law of whole sequences of arms, for policies whose decisions depend on the history and on fresh noise.

All tables of rewards 0 or 1 are enumerated. Two conventions say which reward a step sees, and which inputs are
neighbours; they agree for pure epsilon and may differ with delta > 0:

- `stream`: the i-th pull of an arm sees the i-th reward of that arm;
- `table`: step t sees the reward of that step and arm.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import Bounds
from bandits.exponents import FLOOR, grown
from bandits.parameters import ParameterError

LARGEST = 1 << 24  # probabilities that are kept in memory at once
FIRST_SUMS = 9  # reward sums of arm 1 after a start phase that are tried
TINY = 1e-200  # a probability that rounding cannot turn into 0
Decision = Callable[[IntArray, FloatArray], FloatArray]  # of histories: pulls and reward sums of the arms, shapes
# (..., arms), to the probabilities of the arms, of the same shape


class Convention(StrEnum):
    """Which reward of a table a step sees."""

    STREAM = "stream"
    TABLE = "table"


@dataclass(frozen=True)
class Transcripts:
    """The laws of all sequences of arms, for all tables of rewards 0 or 1.

    Attributes
    ----------
    sequences: of arms, shape (sequences, horizon).
    chances: the probability of each sequence under each table, shape (tables, sequences).
    rewards: the meaning of each bit of the number of a table: an arm and its i-th reward or step, counted from 0.
    method: how the probabilities were computed.
    error: of the log ratio of two of them.
    """

    sequences: IntArray
    chances: FloatArray
    rewards: list[tuple[int, int]]
    method: str = "enumeration"
    error: float = 1e-10

    def epsilon(self) -> Bounds:
        """Pure epsilon over all pairs of neighbouring tables."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.chances)
        best, worst = 0.0, (0, 0, 0)
        for bit in range(len(self.rewards)):
            without, with_ = self._neighbours(bit)
            possible = ~(np.isneginf(logs[without]) & np.isneginf(logs[with_]))
            ratio = np.abs(np.subtract(logs[without], logs[with_], where=possible, out=np.zeros(logs[without].shape)))
            place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
            if ratio[place] > best:
                best, worst = float(ratio[place]), (bit, int(without[place[0]]), int(place[1]))
        bit, table, sequence = worst
        witness = f"{self._changed(bit, table)}; arms {''.join(str(arm + 1) for arm in self.sequences[sequence])}"
        return Bounds(math.inf if self._floored else best, best, witness, self.method, self.error)

    def delta(self, epsilon: float) -> Bounds:
        """The smallest delta at `epsilon` over all pairs of neighbouring tables."""
        best, worst = 0.0, (0, 0)
        for bit in range(len(self.rewards)):
            without, with_ = self._neighbours(bit)
            for first, second in ((without, with_), (with_, without)):
                excess = np.maximum(self.chances[first] - grown(self.chances[second], epsilon), 0).sum(axis=1)
                place = int(np.argmax(excess))
                if excess[place] > best:
                    best, worst = float(excess[place]), (bit, int(without[place]))
        witness = f"{self._changed(*worst)}; all sequences more than e^{epsilon:g} times as likely"
        kept = 1.0 if self._floored and epsilon > -math.log(FLOOR) / 2 else best
        return Bounds(kept, best, witness, self.method, self.error)

    @property
    def _floored(self) -> bool:
        """Whether a probability is so small that it is only known to be at most `FLOOR`."""
        return bool(((self.chances > 0) & (self.chances <= FLOOR)).any())

    def epsilon_at(self, delta: float) -> Bounds:
        """The least epsilon at `delta` > 0 over all pairs of neighbouring tables, to nine digits."""
        low, high = 0.0, self.epsilon().kept
        while math.isinf(high) or high - low > 1e-9 * high:
            middle = (low + high) / 2 if math.isfinite(high) else 2 * low + 1
            low, high = (middle, high) if self.delta(middle).shown > delta else (low, middle)
        witness = self.delta(low).witness
        return Bounds(high, low, witness, self.method, 1e-9 * high)

    def _neighbours(self, bit: int) -> tuple[IntArray, IntArray]:
        """The tables in which that reward is 0, and the same tables with it 1."""
        tables = np.arange(len(self.chances))
        without = tables[tables >> bit & 1 == 0]
        return without, without | 1 << bit

    def _changed(self, bit: int, table: int) -> str:
        arms = sorted({arm for arm, _ in self.rewards})
        texts = []
        for arm in arms:
            bits = [place for place, (rewarded, _) in enumerate(self.rewards) if rewarded == arm]
            texts.append("".join("*" if place == bit else str(table >> place & 1) for place in bits))
        return f"rewards {' / '.join(texts)}, * changed"


def transcripts(decision: Decision, arms: int, horizon: int, convention: Convention) -> Transcripts:
    """The laws of the first `horizon` arms. Raises `ParameterError` with the largest horizon that fits in memory.

    The reward of the last step has no effect.
    """
    require_fitting(lambda steps: table_size(arms, steps) <= LARGEST, arms, horizon)
    rewards, tables, sequences = enumerated(arms, horizon)
    number = {reward: bit for bit, reward in enumerate(rewards)}
    grids: dict[tuple[int, ...], FloatArray] = {}
    chances = np.empty((len(tables), len(sequences)))
    for column, sequence in enumerate(sequences):
        pulls = np.zeros(arms, dtype=np.int64)
        sums = np.zeros((arms, len(tables)), dtype=np.int64)
        chance = np.ones(len(tables))
        for step, arm in enumerate(sequence):
            key = tuple(int(count) for count in pulls)
            if key not in grids:
                grids[key] = _grid(decision, pulls)
            own = grids[key][tuple(sums)][:, arm]
            chance = np.where((chance > 0) & (own > 0), np.maximum(chance * own, FLOOR), 0.0)
            if step < horizon - 1:
                bit = number[int(arm), int(pulls[arm]) if convention is Convention.STREAM else step]
                sums[arm] += tables >> bit & 1
                pulls[arm] += 1
        chances[:, column] = chance
    return Transcripts(sequences, chances, rewards)


def require_fitting(fits: Callable[[int], bool], arms: int, horizon: int) -> None:
    """Raise `ParameterError`, with the largest horizon that fits, if this one does not."""
    if not fits(horizon):
        most = max((steps for steps in range(1, horizon) if fits(steps)), default=0)
        raise ParameterError("horizon", f"enumeration with {arms} arms fits up to horizon {most}, got {horizon}")


def enumerated(arms: int, horizon: int) -> tuple[list[tuple[int, int]], IntArray, IntArray]:
    """The rewards of a table, the numbers of all tables, and all sequences of arms, shape (sequences, horizon)."""
    rewards = [(arm, place) for arm in range(arms) for place in range(horizon - 1)]
    sequences = np.array(list(itertools.product(range(arms), repeat=horizon)))
    return rewards, np.arange(1 << len(rewards)), sequences


def explicit_event(decision: Decision, horizon: int, start: int) -> tuple[float, str]:
    """Pure epsilon of one sequence of two arms, a lower bound for horizons beyond enumeration, and its witness.

    After the start phase, or after one pull of arm 1, arm 2 is pulled up to the horizon, or until its probability
    underflows. The first reward of arm 1 is 0 or, under the neighbouring input, 1, which makes arm 2 less likely at
    every step. All rewards of arm 2 are 0; the number of rewards 1 among the others of arm 1 in the start phase is the
    best of those tried. Infinite if arm 2 becomes impossible, which happens with bounded noise.
    """
    tried = np.unique(np.linspace(0, max(start, 1) - 1, FIRST_SUMS).astype(int))
    events = [_one_sequence(decision, horizon, start, int(others)) for others in tried]
    return max(events, key=lambda event: event[0])


def _one_sequence(decision: Decision, horizon: int, start: int, others: int) -> tuple[float, str]:
    """As `explicit_event`, with `others` further rewards 1 of arm 1 in the start phase."""
    pulls = np.array([start, start]) if start else np.array([1, 0])
    first, second = np.array([float(others), 0.0]), np.array([others + 1.0, 0.0])
    steps = np.arange(int(pulls.sum()), horizon)
    pulled = pulls + np.array([0, 1]) * np.arange(len(steps))[:, None]
    likely, unlikely = (decision(pulled, np.tile(sums, (len(steps), 1)))[:, 1] for sums in (first, second))
    never = likely <= FLOOR  # a law of bounded support, or a probability that underflows
    last = int(np.argmax(never)) if never.any() else len(steps)
    with np.errstate(divide="ignore"):
        losses = np.log(likely[:last]) - np.log(unlikely[:last])
    total = float(losses.sum())
    end = f"up to step {steps[last]}" if last < len(steps) and math.isfinite(total) else "up to the end"
    begin = f"{start} pulls of each arm" if start else "arm 1 once"
    rest = f"the other {others} of the start phase 1, those of arm 2 0" if others else "all others 0"
    return total, f"first reward of arm 1 is 0 or 1, {rest}; {begin}, then arm 2 {end}"


def _grid(decision: Decision, pulls: IntArray) -> FloatArray:
    """The law of the next arm for all reward sums after these pulls, shape (pulls[0] + 1, ..., arms)."""
    sums = np.moveaxis(np.indices([int(count) + 1 for count in pulls]), 0, -1)
    return decision(np.broadcast_to(pulls, sums.shape), sums.astype(float))


def table_size(arms: int, horizon: int) -> int:
    """The number of probabilities: of every sequence of arms under every table."""
    tables = 1 << min(arms * (horizon - 1), 200)
    return int(tables * arms**horizon)
