"""What the arms of a policy react to: the rewards, the generator that it is given, both or neither.

The same generator with other rewards shows whether the arms depend on rewards, the same rewards with other generators
whether they depend on the generator. Each play has a generator of its own, so that the plays of two tables agree but
for what the rewards change.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from bandits.audit.pairs import Pair
from bandits.guarantees import Neighbours
from experiments.audit.game import AuditGame
from experiments.errors import UserError
from experiments.own_code.user_code import blamed

SEEDS, SEARCH_SEEDS, FEW_SEEDS = 200, 40, 4  # of one reaction, of each step of a search, and the least
STEPS = 400_000  # of all plays of one reaction, which have fewer seeds for long horizons
SINGLE, MIXED = 4, 3  # tables in which one arm alone is good, and tables of random rewards
LONGEST = 20_000  # the search for a horizon ends here


@dataclass(frozen=True)
class Reaction:
    """The arms on several tables of rewards, each with the same generators: shape (tables, seeds, horizon)."""

    game: AuditGame
    tables: list[FloatArray]
    arms: IntArray
    again: IntArray  # the plays of the first table once more

    @classmethod
    def of(cls, game: AuditGame) -> "Reaction":
        """Play a policy. Raises `UserError` for what it raises."""
        tables = _tables(game, game.limits)
        seeds = _seeds(SEEDS, len(tables) * game.horizon)
        blocks = [_plays(game, table, seeds) for table in [*tables, tables[0]]]
        return cls(game, tables, np.array(blocks[:-1]), blocks[-1])

    @property
    def made(self) -> int:
        """The number of plays."""
        return (len(self.tables) + 1) * len(self.again)

    @property
    def depends(self) -> bool:
        """Whether other rewards ever changed the arms."""
        return bool((self.arms != self.arms[0]).any())

    @property
    def varies(self) -> bool:
        """Whether another generator ever changed the arms."""
        return bool((self.arms != self.arms[:, :1]).any())

    @property
    def repeats(self) -> bool:
        """Whether the same rewards and the same generator always led to the same arms."""
        return bool((self.again == self.arms[0]).all())

    def is_that_of(self, policy: Any) -> bool:
        """Whether another policy has the same arms with the same rewards and generators."""
        other, seeds = self.game.of(policy), len(self.again)
        return all(
            (_plays(other, table, seeds) == arms).all() for table, arms in zip(self.tables, self.arms, strict=True)
        )

    def changing_pair(self, neighbours: Neighbours) -> Pair | None:
        """Two neighbouring tables with other arms; None if the arms vary with the generator, or with nothing.

        Between two tables with other arms one reward after the other is changed; somewhere the arms must change.
        """
        changed = (self.arms[:, 0] != self.arms[0, 0]).any(axis=1)
        if self.varies or not self.repeats or not changed.any():
            return None
        first, last = self.tables[0], self.tables[int(np.argmax(changed))]
        steps = first.shape[1] if neighbours is Neighbours.ONE_LOSS_VECTOR else first.size
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            arms = _play(self.game, _between(first, last, middle, steps), 0)
            low, high = (middle, high) if (arms[0] == self.arms[0, 0]).all() else (low, middle)
        pair = _between(first, last, low, steps), _between(first, last, high, steps)
        arm, place = np.argwhere(pair[0] != pair[1])[0]
        change = f"from {pair[0][arm, place]:g} to {pair[1][arm, place]:g}"
        what = f"losses of step {place + 1}" if steps != first.size else f"reward {place + 1} of arm {arm + 1} {change}"
        return Pair(pair, f"{what}; the arms never vary with the generator, and this change changes them")


def least_horizon(game: AuditGame) -> int | None:
    """As `horizon_that_reacts`, from the horizon of the game on, which may react already."""
    return game.horizon if _depends(game, game.limits) else horizon_that_reacts(game)


def horizon_that_reacts(game: AuditGame) -> int | None:
    """A horizon, the least one by bisection, at which rewards change the arms; None up to `LONGEST`, or at an error.

    Rewards are those of the game at its own horizon.
    """
    limits = game.limits

    def depends(steps: int) -> bool:
        return _depends(game.at(steps), limits)

    low, high = game.horizon, 2 * game.horizon
    try:
        while not depends(high):
            low, high = high, 2 * high
            if high > LONGEST:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if depends(middle) else (middle, high)
    except (ParameterError, UserError):
        return None
    return high


def _depends(game: AuditGame, limits: tuple[float, float]) -> bool:
    """As `Reaction.depends`; the first play that a table changes ends it."""
    first, *others = tables = _tables(game, limits)
    for seed in range(_seeds(SEARCH_SEEDS, len(tables) * game.horizon)):
        before = _play(game, first, seed)
        if any((_play(game, table, seed) != before).any() for table in others):
            return True
    return False


def _seeds(most: int, steps: int) -> int:
    """The number of plays of each table, if one of each takes so many steps together."""
    return max(FEW_SEEDS, min(most, STEPS // steps))


def _tables(game: AuditGame, limits: tuple[float, float]) -> list[FloatArray]:
    """All rewards low, all high, one arm alone good, and random ones."""
    (low, high), shape = limits, (game.arms, game.horizon)
    tables = [np.full(shape, value) for value in limits]
    for arm in range(min(game.arms, SINGLE)):
        tables.append(np.full(shape, low))
        tables[-1][arm] = high
    rng = np.random.default_rng(game.arms)  # the same in every audit
    return tables + [rng.choice([low, high], shape) for _ in range(MIXED)]


def _between(first: FloatArray, last: FloatArray, number: int, steps: int) -> FloatArray:
    """The first table with the first `number` of its rewards, or of its steps, as in the last."""
    if steps != first.size:
        return np.hstack([last[:, :number], first[:, number:]])
    return np.concatenate([last.ravel()[:number], first.ravel()[number:]]).reshape(first.shape)


def _plays(game: AuditGame, table: FloatArray, seeds: int) -> IntArray:
    """A play for each of some generators, shape (seeds, horizon); the same generators whatever the parameters."""
    return np.concatenate([_play(game, table, seed) for seed in range(seeds)])


def _play(game: AuditGame, table: FloatArray, seed: int) -> IntArray:
    """One play with the generator of a seed, shape (1, horizon)."""
    with blamed(game.policy.name):
        return game.played(table, 1, game.generator(f"reaction {game.policy.name}", seed))
