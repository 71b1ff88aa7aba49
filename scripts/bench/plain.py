"""The compiled step-by-step loop of a policy, which its fast loop is compared with."""

from collections.abc import Callable

import numpy as np

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
        case UCB1() | DPUCB():
            steps, levels = np.array([horizon]), tree_levels(horizon)
            terms = index_terms(policy, len(means), horizon)
            return lambda j: index_steps(means, horizon, steps, *terms, levels, stream("bench", j))
        case PerturbedLeader():
            law = policy.law(horizon)
            return lambda j: perturbed_leader_steps(means, horizon, policy.start, *law, stream("bench", j))
        case _:
            return None


def index_terms(policy: UCB1 | DPUCB, arms: int, horizon: int) -> tuple[float, float]:
    """The bonus in an index, and the scale of the noise of a node; both are 0 for UCB1."""
    if isinstance(policy, UCB1):
        return 0.0, 0.0
    return policy.bonus(arms, horizon), node_scale(horizon, policy.tree_epsilon(arms))
