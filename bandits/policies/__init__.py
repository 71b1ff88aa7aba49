"""Every policy, one file per family."""

from bandits.policies.base import Policy, StepwisePolicy
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1

__all__ = ["DPSE", "DPUCB", "UCB1", "Policy", "StepwisePolicy", "SuccessiveElimination"]
