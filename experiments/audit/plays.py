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
from bandits.audit.sampled import neighbouring_tables, require_playable
from experiments.audit.game import AuditGame
from experiments.audit.reaction import Reaction
from experiments.errors import UserError
from experiments.own_code.fan_out import delayed, in_parallel
from experiments.own_code.user_code import blamed
from experiments.progress import Progress
from experiments.simulate.worker import prepare

FINALISTS = 3  # pairs of inputs that are played more often before one is chosen
FINAL = 10**6  # the number of the round in which they are
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


def plays(game: AuditGame, runs: int, workers: int) -> Plays:
    """`runs` plays on each of two neighbouring tables. Raises `ParameterError`.

    Every block has its own random stream, which follows from the policy, the table and the number of the block. For a
    policy of this repository the inputs are those that its theorem is about. A class of the user may lose privacy on
    any inputs, which may show in any event: other plays, at first half as many, search for the pair of inputs and the
    view of a play that show the most. If the arms of either never vary with the rng, the inputs are a pair that changes
    them, if there is one.
    """
    require_playable(game.policy)
    player = _Player(game, workers)
    size, neighbours = (game.arms, game.horizon), game.policy.guarantee.neighbours
    chosen, view = Reaction.of(game).changing_pair(neighbours), None
    if chosen is None and not game.own:
        return Plays(player.both(neighbouring_tables(*size, neighbours, game.limits), runs), "", player.made)
    if chosen is None:
        chosen, view = _searched(player, runs)
    return Plays(player.both(chosen.tables, runs), chosen.difference, player.made, view)


def _searched(player: "_Player", runs: int) -> tuple[Pair, View]:
    """The pair of inputs and the view that show the most, of about half of `runs` plays of all pairs on each side.

    The best of these, `FINALISTS`, are played a quarter of `runs` more on each side.
    """
    game, claimed = player.game, player.game.policy.guarantee
    kinds = ENDS if game.domain is Domain.BINARY else (*ENDS, *BETWEEN)
    able = pairs(game.arms, game.horizon, claimed.neighbours, game.limits, most_pairs(runs // 2), kinds)
    look = partial(first_look, arms=game.arms, claimed=claimed)
    finals = []
    for pair in most_telling(able, runs // 2, partial(player.looked_at, able), look, FINALISTS):
        ((first, second),) = player.looked_at(able, [pair], max(2, runs // 4), FINAL)
        finals.append((*chosen_view(first, second, game.arms, claimed), able[pair]))
    _, view, chosen = max(finals, key=lambda final: final[0])
    return chosen, view


@dataclass
class _Player:
    """Plays one policy in several processes."""

    game: AuditGame
    workers: int
    made: int = 0  # plays

    def both(self, tables: tuple[FloatArray, FloatArray], runs: int) -> tuple[IntArray, IntArray]:
        """`runs` plays on each of the two tables."""
        blocks = [(side, begin) for side in (0, 1) for begin in range(0, runs, BLOCK)]
        tasks = [
            (tables[side], min(BLOCK, runs - begin), f"{self.game.identity} {side}", begin // BLOCK)
            for side, begin in blocks
        ]
        samples: tuple[list[IntArray], list[IntArray]] = [], []
        with Progress("playing", {"runs": 2 * runs}) as progress:
            for (side, _), block in zip(blocks, self._played(tasks), strict=True):
                samples[side].append(progress.after(block, runs=len(block)))
        return np.concatenate(samples[0]), np.concatenate(samples[1])

    def looked_at(self, of_pairs: Sequence[Pair], wanted: list[int], runs: int, number: int) -> list[tuple[Any, Any]]:
        """`runs` plays on both tables of the `wanted` pairs, in round `number` of a search."""
        tasks = [
            (of_pairs[pair].tables[side], runs, f"{self.game.identity} pair {pair} {side}", number)
            for pair in wanted
            for side in (0, 1)
        ]
        blocks = list(self._played(tasks))
        return list(zip(blocks[::2], blocks[1::2], strict=True))

    def _played(self, tasks: Sequence[tuple[FloatArray, int, str, int]]) -> Iterator[IntArray]:
        calls = (delayed(_block)(os.getpid(), self.game, *task) for task in tasks)
        with closing(in_parallel(calls, self.workers)) as blocks:
            for block in blocks:
                if isinstance(block, Exception):
                    raise block
                self.made += len(block)
                yield block


def _block(
    parent: int, game: AuditGame, table: FloatArray, runs: int, identity: str, number: int
) -> IntArray | Exception:
    """Some plays, or why a policy could not make them."""
    prepare(parent)
    try:
        with blamed(game.policy.name) if game.own else nullcontext():
            return game.played(table, runs, game.generator(identity, number))
    except (ParameterError, UserError) as error:
        return error
