"""Policies without privacy under full information: every loss of every arm is drawn, and every step decided."""

import numpy as np


def full_information(policy, instance, horizon, checkpoints, rng):
    """Plays of each group at the checkpoints, shape (checkpoints, groups)."""
    group_of = rng.permutation(np.repeat(np.arange(len(instance.counts)), instance.counts))
    losses = instance.losses_of(group_of, horizon, rng)
    before = np.cumsum(losses, axis=0) - losses
    arms = policy.choose(before, np.arange(1, horizon + 1), rng.random(horizon))
    plays = np.cumsum(group_of[arms][:, None] == np.arange(len(instance.counts)), axis=0)
    return plays[checkpoints - 1]
