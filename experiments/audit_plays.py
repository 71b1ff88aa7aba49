"""Plays of a policy on two neighbouring tables of rewards, fanned out over processes."""

import os
from typing import Any

import joblib
import numpy as np

from bandits import ParameterError
from bandits.arrays import FloatArray, IntArray
from bandits.audit.ledger import Domain
from bandits.audit.sampled import neighbouring_tables, played, require_playable
from bandits.audit.transcripts import Convention
from bandits.learner import Learner
from bandits.policies.base import Policy
from bandits.seeds import stream
from experiments.errors import UserError
from experiments.fan_out import delayed
from experiments.own_code import in_words, is_own
from experiments.progress import Progress
from experiments.worker import prepare

BLOCK = 500  # plays of a task; fixed, so that the numbers do not depend on the number of workers


def plays(
    policy: Learner[Any], arms: int, horizon: int, domain: Domain, convention: Convention, runs: int, workers: int
) -> tuple[IntArray, IntArray]:
    """The arms of `runs` plays on each of two neighbouring tables, shapes (runs, horizon). Raises `ParameterError`.

    Every block has a random stream of its own, which follows from the policy, the table and the number of the block.
    """
    require_playable(policy)
    limits = policy.reward_limits(arms, horizon, domain) if isinstance(policy, Policy) else (0.0, 1.0)
    tables = neighbouring_tables(arms, horizon, policy.guarantee.neighbours, limits)
    tasks = [(side, begin) for side in (0, 1) for begin in range(0, runs, BLOCK)]
    identity = f"audit {policy!r} {arms} {horizon} {convention}"
    found = joblib.Parallel(n_jobs=workers, return_as="generator")(
        delayed(_block)(
            os.getpid(),
            policy,
            tables[side],
            min(BLOCK, runs - begin),
            f"{identity} {side}",
            begin // BLOCK,
            convention,
        )
        for side, begin in tasks
    )
    blocks: tuple[list[IntArray], list[IntArray]] = [], []
    with Progress("playing", {"runs": 2 * runs}) as progress:
        for (side, _), block in zip(tasks, found, strict=True):
            if isinstance(block, Exception):
                raise block
            blocks[side].append(progress.after(block, runs=len(block)))
    return np.concatenate(blocks[0]), np.concatenate(blocks[1])


def _block(
    parent: int, policy: Any, table: FloatArray, runs: int, identity: str, number: int, convention: Convention
) -> IntArray | Exception:
    """Some plays, or why a policy could not make them."""
    prepare(parent)
    try:
        return played(policy, table, runs, stream(identity, number), convention)
    except ParameterError as error:
        return error
    except Exception as error:
        if is_own(policy):  # whatever a class of the user's raises
            return UserError(f"{policy.name}: {in_words(error)}")
        raise
