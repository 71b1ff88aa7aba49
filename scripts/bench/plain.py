"""The compiled step-by-step loop of a policy, which its fast loop is compared with."""

from collections.abc import Callable

import numpy as np

from bandits.arrays import FloatArray
from bandits.environments.bernoulli import BernoulliInstance
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.policies.elimination import DPSE
from bandits.policies.perturbed_leader import PerturbedLeader
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from tests.plain_loops.steps import dp_se_steps, index_steps, perturbed_leader_steps

PlainLoop = Callable[[int], object]  # of the number of a replication


def plain_loop(policy: object, instance: BernoulliInstance, horizon: int) -> PlainLoop | None:
    """The plain loop of `policy` over a horizon; None if there is none."""
    means = instance.mean_rewards
    match policy:
        case DPSE():
            return lambda j: dp_se_steps(means, policy.epsilon, horizon, stream("rewards", j), stream("noise", j))
        case UCB1():
            return _index_loop(means, horizon, 0.0, 0.0)
        case DPUCB():
            scale = node_scale(horizon, policy.tree_epsilon(len(means)))
            return _index_loop(means, horizon, policy.bonus(len(means), horizon), scale)
        case PerturbedLeader():
            law = policy.law(horizon)
            return lambda j: perturbed_leader_steps(means, horizon, policy.start, *law, stream("bench", j))
        case _:
            return None


def _index_loop(means: FloatArray, horizon: int, bonus: float, scale: float) -> PlainLoop:
    steps, levels = np.array([horizon]), tree_levels(horizon)
    return lambda j: index_steps(means, horizon, steps, bonus, scale, levels, stream("bench", j))
