"""Differentially private bandits: instances, mechanisms, policies, and what they promise.

Pure mathematics. Nothing in this package touches a file, a clock or a global random state; every
random number comes from the `numpy.random.Generator` that the caller passes in. `bandits.deploy`, for
real users, is the exception.
"""

from bandits.audit.ledger import LaplaceRelease
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee, Neighbours, Scope
from bandits.parameters import ParameterError
from bandits.policies.base import Policy, StepwisePolicy
from bandits.recording import PullLog, checkpoint_grid, regret

__version__ = "0.1.0"

__all__ = [
    "Guarantee",
    "Instance",
    "LaplaceRelease",
    "Neighbours",
    "ParameterError",
    "Policy",
    "PullLog",
    "Scope",
    "StepwisePolicy",
    "checkpoint_grid",
    "regret",
]
