"""Plays of a policy on two neighbouring tables of rewards, fanned out over processes."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from bandits.audit.events import View, chosen_view, first_look
from bandits.audit.ledger import Domain
from bandits.audit.pairs import BETWEEN, ENDS, Pair, most_pairs, most_telling, pairs
from bandits.audit.sampled import neighbouring_tables, played, require_playable
from bandits.audit.transcripts import Convention
from bandits.learner import Learner
from bandits.policies.base import Policy
from bandits.policies.given_moments import GivenMoments
from experiments.audit.reaction import Reaction, generator
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.own_code.user_code import blamed, is_own
from experiments.progress import Progress
from experiments.simulate.worker import prepare

FINALISTS = 3  # pairs of inputs that are played more often before one is chosen
BLOCK = 500  # plays of a task; fixed, so that the numbers do not depend on the number of workers


@dataclass(frozen=True)
class Plays:
    """The arms of plays on each of two neighbouring inputs, shapes (runs, horizon), and the inputs in words.

    `made` is the number of all plays, with those that chose the inputs and what is seen of a play, the `view`; without
    one that is the whole sequence of arms.
    """

    arms: tuple[IntArray, IntArray]
    inputs: str
    made: int
    view: View | None = None


def plays(
    policy: Learner[Any],
    arms: int,
    horizon: int,
    domain: Domain,
    convention: Convention,
    runs: int,
    workers: int,
    noise: float = 1.0,
) -> Plays:
    """`runs` plays on each of two neighbouring tables. Raises `ParameterError`.

    Every block has its own random stream, which follows from the policy, the table and the number of the block. For a
    policy of this repository the inputs are those that its theorem is about. A class of the user may lose privacy on
    any inputs, which may be seen in any event: other plays, half as many and for each of the `FINALISTS` a quarter,
    search for the pair of inputs and the view of a play that show the most. If the arms of either never
    vary with the rng, the inputs are a pair that changes them, if there is one. `noise` multiplies the noise, see
    `bandits.audit.planted`.
    """
    require_playable(policy)
    limits = limits_of(policy, arms, horizon, domain)
    player = _Player(policy, convention, workers, f"audit {policy!r} {arms} {horizon} {convention}", noise)
    neighbours = policy.guarantee.neighbours
    chosen = Reaction.of(policy, arms, horizon, limits, convention, noise).changing_pair(neighbours)
    if chosen is not None:
        return Plays(player.both(chosen.tables, runs, player.identity), chosen.difference, player.made)
    if not is_of_user(policy):
        tables = neighbouring_tables(arms, horizon, neighbours, limits)
        return Plays(player.both(tables, runs, player.identity), "", player.made)
    kinds = ENDS if domain is Domain.BINARY else (*ENDS, *BETWEEN)
    able = pairs(arms, horizon, neighbours, limits, most_pairs(runs // 2), kinds)
    look = partial(first_look, arms=arms, claimed=policy.guarantee)
    best = most_telling(able, runs // 2, partial(player.looked_at, able), look, FINALISTS)
    finals = [
        chosen_view(
            *player.both(able[pair].tables, max(2, runs // 4), f"{player.identity} final {pair}"),
            arms,
            policy.guarantee,
        )
        for pair in best
    ]
    first = max(range(len(best)), key=lambda place: finals[place][0])
    pair = able[best[first]]
    return Plays(player.both(pair.tables, runs, player.identity), pair.difference, player.made, finals[first][1])


def is_of_user(policy: Any) -> bool:
    """Whether a policy, or the one that `GivenMoments` plays, is a class of the user."""
    return is_own(policy.policy if isinstance(policy, GivenMoments) else policy)


def limits_of(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> tuple[float, float]:
    """The lowest and the highest reward that the policy accepts, of losses 0 and 1."""
    return policy.reward_limits(arms, horizon, domain) if isinstance(policy, Policy) else (0.0, 1.0)


@dataclass
class _Player:
    """Plays one policy in several processes."""

    policy: Any
    convention: Convention
    workers: int
    identity: str
    noise: float
    made: int = 0  # plays

    def both(self, tables: tuple[FloatArray, FloatArray], runs: int, identity: str) -> tuple[IntArray, IntArray]:
        """`runs` plays on each of the two tables."""
        blocks = [(side, begin) for side in (0, 1) for begin in range(0, runs, BLOCK)]
        tasks = [
            (tables[side], min(BLOCK, runs - begin), f"{identity} {side}", begin // BLOCK) for side, begin in blocks
        ]
        samples: tuple[list[IntArray], list[IntArray]] = [], []
        with Progress("playing", {"runs": 2 * runs}) as progress:
            for (side, _), block in zip(blocks, self._played(tasks), strict=True):
                samples[side].append(progress.after(block, runs=len(block)))
        return np.concatenate(samples[0]), np.concatenate(samples[1])

    def looked_at(self, of_pairs: Sequence[Pair], wanted: list[int], runs: int, number: int) -> list[tuple[Any, Any]]:
        """`runs` plays on both tables of the `wanted` pairs, in round `number` of a search."""
        tasks = [
            (of_pairs[pair].tables[side], runs, f"{self.identity} pair {pair} {side}", number)
            for pair in wanted
            for side in (0, 1)
        ]
        blocks = list(self._played(tasks))
        return list(zip(blocks[::2], blocks[1::2], strict=True))

    def _played(self, tasks: Sequence[tuple[FloatArray, int, str, int]]) -> Iterator[IntArray]:
        calls = (delayed(_block)(os.getpid(), self.policy, *task, self.convention, self.noise) for task in tasks)
        with closing(in_parallel(calls, self.workers)) as blocks:
            for block in blocks:
                if isinstance(block, Exception):
                    raise block
                self.made += len(block)
                yield block


def _block(
    parent: int,
    policy: Any,
    table: FloatArray,
    runs: int,
    identity: str,
    number: int,
    convention: Convention,
    noise: float = 1.0,
) -> IntArray | Exception:
    """Some plays, or why a policy could not make them."""
    prepare(parent)
    try:
        with blamed(policy.name) if is_of_user(policy) else nullcontext():
            return played(policy, table, runs, generator(identity, number, noise), convention)
    except (ParameterError, UserError) as error:
        return error
