"""Pairs of neighbouring inputs for arbitrary policies, and a search for the pairs that show the most.

One reward of any arm, at any place, goes from one end of its range to the other, while all others are at the low end,
at the high end, or drawn from both; where rewards between the ends are allowed, the reward and the others are such
rewards as well. The plays that choose the pair are not used for the bound, so that the bound keeps its failure
probability.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.guarantees import Neighbours

MOST = 600  # pairs; for more there are too few plays to choose between them
LEAST = 2  # plays of each input before a pair is left out
LOW, HIGH = "the lowest", "the highest"
DRAWN, MIDDLE, INSIDE = "drawn from both, once", "in the middle", "drawn from all between, once"
ENDS = tuple((LOW, HIGH, others) for others in (LOW, HIGH, DRAWN))  # a reward from, to, and all others
BETWEEN = (
    *((LOW, MIDDLE, LOW), (MIDDLE, HIGH, HIGH), (LOW, INSIDE, DRAWN)),
    *((LOW, HIGH, MIDDLE), (LOW, HIGH, INSIDE), (LOW, MIDDLE, INSIDE), (MIDDLE, HIGH, INSIDE)),
)
_Plays = tuple[IntArray, IntArray]  # arms under both inputs, shapes (runs, horizon)


@dataclass(frozen=True)
class Pair:
    """Two tables of rewards, shapes (arms, horizon), and how they differ, in words."""

    tables: tuple[FloatArray, FloatArray]
    difference: str


def most_pairs(runs: int) -> int:
    """How many pairs `runs` plays of each input can choose between: halving plays each pair about 2 `LEAST` times."""
    return min(MOST, runs // (2 * LEAST))


def pairs(
    arms: int,
    horizon: int,
    neighbours: Neighbours,
    limits: tuple[float, float],
    most: int = MOST,
    kinds: Sequence[tuple[str, str, str]] = ENDS,
) -> list[Pair]:
    """Pairs for every arm, every place and some kinds of changes and of other rewards.

    Only some places, two at least, where these are more than `most` pairs.
    """
    rewards = rewards_of(arms, horizon, limits)
    inputs = []
    for place in changed_places(horizon, max(2, most // (len(kinds) * arms))):
        for arm in range(arms):
            for low, high, others in kinds:
                first = rewards[others].copy()
                second = first.copy()
                ends = float(rewards[low][arm, place]), float(rewards[high][arm, place])
                words = f"all others {others}"
                if neighbours is Neighbours.ONE_LOSS_VECTOR:
                    first[:, place], second[:, place] = ends
                    second[arm, place], first[arm, place] = ends
                    difference = f"losses of step {place + 1}: arm {arm + 1} against all others; {words}"
                else:
                    first[arm, place], second[arm, place] = ends
                    difference = f"reward {place + 1} of arm {arm + 1} from {ends[0]:.3g} to {ends[1]:.3g}; {words}"
                inputs.append(Pair((first, second), difference))
    return inputs


def rewards_of(arms: int, horizon: int, limits: tuple[float, float]) -> dict[str, FloatArray]:
    """Tables of rewards of each kind, shape (arms, horizon), the same in every audit."""
    low, high = limits
    values = {LOW: low, MIDDLE: (low + high) / 2, HIGH: high}
    return {
        **{kind: np.full((arms, horizon), value, dtype=float) for kind, value in values.items()},
        DRAWN: np.random.default_rng(arms).choice([low, high], (arms, horizon)),
        INSIDE: np.random.default_rng(arms).uniform(low, high, (arms, horizon)),
    }


def changed_places(horizon: int, most: int) -> list[int]:
    """All places before the horizon, from 0, or `most` of them: dense at the beginning, where a reward matters most."""
    if horizon <= most:
        return list(range(horizon))
    return sorted({*range(most // 2), *np.geomspace(most // 2, horizon - 1, most - most // 2).astype(int).tolist()})


def most_telling(
    candidates: Sequence[Pair],
    runs: int,
    play: Callable[[list[int], int, int], list[_Plays]],
    worth: Callable[[IntArray, IntArray], float],
    wanted: int = 1,
) -> list[int]:
    """The indices of the `wanted` pairs whose plays are worth the most, the best first.

    After about `runs` plays of each side in total (halving): after each round half of the pairs are left out, and the
    others are played again: `play(pairs, runs, round)`.
    """
    alive, rounds = list(range(len(candidates))), max(1, math.ceil(math.log2(max(2, len(candidates) / wanted))))
    seen: dict[int, _Plays] = {}
    for number in range(rounds):
        more = max(LEAST, runs // (rounds * len(alive)))
        for pair, fresh in zip(alive, play(alive, more, number), strict=True):
            earlier = seen.get(pair)
            seen[pair] = fresh if earlier is None else _joined(earlier, fresh)
        order = sorted(alive, key=lambda pair: -worth(*seen[pair]))
        alive = order[: max(wanted, len(alive) // 2)]
    return alive[:wanted]


def _joined(earlier: _Plays, fresh: _Plays) -> _Plays:
    return np.concatenate([earlier[0], fresh[0]]), np.concatenate([earlier[1], fresh[1]])
