"""Trials of a class that somebody wrote: where its noise comes from, and which law its rewards have.

They ask what a class does, not how it is written.
"""

import math
import time
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any, cast

import numpy as np
import scipy

from bandits.audit.ledger import Domain
from bandits.audit.sampled import played, require_playable
from bandits.audit.transcripts import Convention
from bandits.environments.bandit import Instance
from bandits.learner import Learner
from bandits.parameters import ParameterError
from bandits.policies.base import Policy
from bandits.seeds import stream

LONGEST = 5_000  # steps of a play
SEEDS = 9
FINEST = 1e-12  # between two values of rewards
AHEAD = 40_000_000.0  # seconds, more than a year
FAILURE = 1e-9  # the probability with which a right law is called wrong, for an arm
REWARDS, ROUNDS, ARMS = 1000, 4, 3  # drawn of an arm, in a sum, and arms that are tried


def noise_is_elsewhere(policy: Learner[Any], arms: int, horizon: int) -> bool:
    """Whether the arms depend on rewards, and on no seed of the generator that the policy is given.

    A private policy of that kind has its noise from elsewhere, or none: anyone who has the code knows the arms. It is
    played on fixed rewards: v of one arm, 0 or 1/2 of the others (bits have these shares). Between two values whose
    arms differ, bisection finds where the least change decides, which noise of any size hides: there eight other seeds
    are played. False if it cannot be played on given rewards.
    """
    try:
        require_playable(policy)
    except ParameterError:
        return False
    policy = cast(Policy, policy)
    horizon = max(arms, min(horizon, LONGEST))
    reacts = False
    for arm, others in product(sorted({0, 1, arms - 1}), (0.0, 0.5)):
        decided = _seed_decides(policy, arms, horizon, arm, others)
        if decided:
            return False
        reacts |= decided is False
    return reacts


def _seed_decides(policy: Policy, arms: int, horizon: int, arm: int, others: float) -> bool | None:
    """Whether a seed changes the arms where the reward of one `arm` decides; None if that never decides."""
    whole = policy.domain is Domain.BINARY

    def play(value: float, seed: int) -> bytes:
        table = np.full((arms, horizon), others)
        table[arm] = value
        if whole:  # ones and zeros with the same sums, rounded
            table = np.diff(np.floor(np.arange(horizon + 1) * table[:, :1] + 1e-9), axis=1)
        return played(policy, table, 1, stream("trial", seed), Convention.STREAM).tobytes()

    low, high = 0.0, 1.0
    first, last = play(low, 0), play(high, 0)
    if first == last:
        return None
    while high - low > (1.5 / horizon if whole else FINEST):
        middle = round((low + high) / 2 * horizon) / horizon if whole else (low + high) / 2
        there = play(middle, 0)
        if there != play(middle, 1):
            return True
        low, high, last = (middle, high, last) if there == first else (low, middle, there)
    return any(play(low, seed) != first or play(high, seed) != last for seed in range(1, SEEDS))


def wrong_law(instance: Instance) -> str:
    """What is wrong with the rewards that an instance draws; empty if nothing is seen.

    Rewards lie in its support, their mean is that of the arm (Hoeffding, where the support is finite), and a sum of
    rounds has the law of as many rewards (Kolmogorov and Smirnov, 1000 of each): policies draw rewards either way.
    """
    rng, (low, high) = stream("law", 0), instance.support
    count = instance.number_of_arms
    for arm in sorted({0, count // 2, count - 1})[:ARMS]:
        rewards = np.array([[instance.sample(arm, rng) for _ in range(ROUNDS)] for _ in range(REWARDS)])
        sums = np.concatenate([instance.sums(np.array([arm]), ROUNDS, rng) for _ in range(REWARDS)])
        mean, room = float(instance.mean_rewards[arm]), 1e-9 * max(abs(low), abs(high), 1.0)
        if not ((rewards >= low) & (rewards <= high)).all() or not np.isfinite(rewards).all():
            return f"a reward of arm {arm} lies outside of its support {low:g}..{high:g}"
        radius = (high - low) * math.sqrt(math.log(2 / FAILURE) / (2 * rewards.size))
        if abs(float(rewards.mean()) - mean) > radius + room:
            return f"rewards of arm {arm} have the mean {rewards.mean():.3g}, define_means says {mean:.3g}"
        if scipy.stats.ks_2samp(rewards.sum(axis=1), sums).pvalue < FAILURE:
            return f"`sums` of {ROUNDS} rewards of arm {arm} do not have the law of {ROUNDS} rewards of `sample`"
    return ""


def clock_ahead() -> AbstractContextManager[Any]:
    """Within, clocks are a year and more ahead, where the library time_machine is installed."""
    try:
        import time_machine
    except ImportError:
        return nullcontext()
    return time_machine.travel(time.time() + AHEAD, tick=True)  # a number leaves the time zone as it is
