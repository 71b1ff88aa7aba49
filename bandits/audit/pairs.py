"""Pairs of neighbouring inputs for arbitrary policies, and a search for the pair that shows the largest difference.

One reward of any arm, at any place, goes from one end of its range to the other, while all others are at the low end,
at the high end, or drawn from both. The plays that choose the pair are not used for the bound, so that the bound keeps
its failure probability.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.guarantees import Neighbours

MOST = 600  # pairs; for more there are too few plays to choose between them
LEAST = 2  # plays of each input before a pair is left out
FEW = 64  # different sequences of arms up to which whole sequences are compared
OTHERS = ("all others the lowest", "all others the highest", "all others drawn from both, once")
_Plays = tuple[IntArray, IntArray]  # arms under both inputs, shapes (runs, horizon)


@dataclass(frozen=True)
class Pair:
    """Two tables of rewards, shapes (arms, horizon), and how they differ, in words."""

    tables: tuple[FloatArray, FloatArray]
    difference: str


def most_pairs(runs: int) -> int:
    """How many pairs `runs` plays of each input can choose between: halving plays each pair about 2 `LEAST` times."""
    return min(MOST, runs // (2 * LEAST))


def pairs(arms: int, horizon: int, neighbours: Neighbours, limits: tuple[float, float], most: int = MOST) -> list[Pair]:
    """Pairs for every arm, every place and three kinds of other rewards.

    Only some places, two at least, where these are more than `most` pairs.
    """
    low, high = limits
    drawn = np.random.default_rng(arms).choice([low, high], (arms, horizon))  # the same in every audit
    inputs = []
    for place in changed_places(horizon, max(2, most // (len(OTHERS) * arms))):
        for arm in range(arms):
            for others, words in zip((low, high, drawn), OTHERS, strict=True):
                first = np.broadcast_to(np.asarray(others, dtype=float), (arms, horizon)).copy()
                second = first.copy()
                if neighbours is Neighbours.ONE_LOSS_VECTOR:
                    first[:, place], second[:, place] = low, high
                    first[arm, place], second[arm, place] = high, low
                    difference = f"losses of step {place + 1}: arm {arm + 1} against all others; {words}"
                else:
                    first[arm, place], second[arm, place] = low, high
                    difference = f"reward {place + 1} of arm {arm + 1} from {low:g} to {high:g}; {words}"
                inputs.append(Pair((first, second), difference))
    return inputs


def changed_places(horizon: int, most: int) -> list[int]:
    """All places before the horizon, from 0, or `most` of them: dense at the beginning, where a reward matters most."""
    if horizon <= most:
        return list(range(horizon))
    return sorted({*range(most // 2), *np.geomspace(most // 2, horizon - 1, most - most // 2).astype(int).tolist()})


def most_telling(candidates: Sequence[Pair], runs: int, play: Callable[[list[int], int, int], list[_Plays]]) -> int:
    """The index of the pair whose plays differ the most, after about `runs` plays of each side in total (halving).

    After each round half of the pairs are left out, and the others are played again: `play(pairs, runs, round)`.
    """
    alive, rounds = list(range(len(candidates))), max(1, math.ceil(math.log2(max(2, len(candidates)))))
    seen: dict[int, _Plays] = {}
    for number in range(rounds):
        more = max(LEAST, runs // (rounds * len(alive)))
        for pair, fresh in zip(alive, play(alive, more, number), strict=True):
            earlier = seen.get(pair)
            seen[pair] = fresh if earlier is None else _joined(earlier, fresh)
        order = sorted(alive, key=lambda pair: -largest_difference(*seen[pair]))
        alive = order[: max(1, len(alive) // 2)]
    return alive[0]


def _joined(earlier: _Plays, fresh: _Plays) -> _Plays:
    return np.concatenate([earlier[0], fresh[0]]), np.concatenate([earlier[1], fresh[1]])


def largest_difference(first: IntArray, second: IntArray) -> float:
    """The difference between plays of two inputs: the largest difference of two frequencies, in standard errors."""
    arms = range(int(max(first.max(), second.max())) + 1)
    features = [[(side == arm).astype(float) for arm in arms] for side in (first, second)]
    columns = [np.concatenate(part, axis=1) for part in features]
    rows, codes = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    if len(rows) <= FEW:
        whole = np.eye(len(rows))[codes.ravel()]
        columns = [np.concatenate(part, axis=1) for part in zip(columns, np.split(whole, [len(first)]), strict=True)]
    means = [part.mean(axis=0) for part in columns]
    shares = (means[0] * len(first) + means[1] * len(second)) / (len(first) + len(second))
    error = np.sqrt((shares * (1 - shares) + 1 / len(first)) * (1 / len(first) + 1 / len(second)))
    return float((np.abs(means[0] - means[1]) / error).max())
