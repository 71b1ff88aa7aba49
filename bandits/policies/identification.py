"""Best-arm identification: which arm an elimination policy settled on, and after how many pulls.

Elimination policies pull all viable arms equally often until one is left, and from then on only that arm. So the pulls
up to any horizon show both. Sajed and Sheffet (2019, section 4) note that DP-SE solves the problem: with `DPSE(epsilon,
beta)` the arm is the best one with probability at least 1 - beta, epsilon-privately. Policies of
`bandits.policies.halving` do the same, and name an arm after a fixed number of pulls.
"""

from dataclasses import dataclass

import numpy as np

from bandits.arrays import IntArray
from bandits.environments.bandit import Instance
from bandits.parameters import ParameterError, require
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.halving import HalvingPolicy


@dataclass(frozen=True)
class Identification:
    """How a run ended: with the `arm` that was left after `samples` pulls, or with None when these ran out."""

    samples: int
    arm: int | None

    @property
    def expired(self) -> bool:
        return self.arm is None


def identify(
    instance: Instance,
    policy: DPSE | SuccessiveElimination | HalvingPolicy,
    max_samples: int,
    rng: np.random.Generator,
) -> Identification:
    """Look for the best arm of `instance` with at most `max_samples` pulls, under the guarantee of `policy`.

    Raises `ParameterError` if the policy refuses the instance, or has no `beta`: 1 / horizon is for regret.
    """
    if not isinstance(policy, HalvingPolicy) and policy.beta is None:
        raise ParameterError("beta", "must be given: the probability with which a wrong arm may be returned")
    whole = isinstance(max_samples, int | np.integer) and max_samples >= len(instance.mean_rewards)
    require(whole, "max_samples", max_samples, "a whole number, at least that of the arms")
    policy.check(instance)
    pulls = policy.simulate(instance, max_samples, np.array([max_samples]), rng)
    return identified(pulls[0])


def identified(pulls: IntArray) -> Identification:
    """The arm that an elimination policy settled on, from its final `pulls`, shape (arms,).

    When the last other arm was removed, the remaining arm had as many pulls; all pulls by which it leads came later.
    While two arms are viable, their pulls differ by at most one. A remaining arm that was found one pull before the end
    leads by one, too: that run counts as expired.
    """
    runner_up, most = np.sort(pulls)[-2:]
    if most - runner_up <= 1:
        return Identification(int(pulls.sum()), None)
    return Identification(int(pulls.sum() - (most - runner_up)), int(pulls.argmax()))
