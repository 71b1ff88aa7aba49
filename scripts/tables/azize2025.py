"""Tables about Azize et al. (2025)."""

import math

from bandits.bounds.azize2025 import lower_bound_slope
from bandits.environments.bernoulli import C1, C2, C3, C4
from experiments.intervals import exactly
from scripts.tables.table import Table

EPSILONS = (0.01, 0.1, 0.25, 0.5, 1.0, math.inf)


def lower_bound() -> Table:
    """The private lower bound on regret / log(T) as T grows, with five arms; without privacy in the last column."""
    return Table.of(
        {
            "instance": instance.name,
            **{
                f"ε = {epsilon:g}".replace("inf", "∞"): exactly(lower_bound_slope(instance.mean_rewards, epsilon))
                for epsilon in EPSILONS
            },
        }
        for instance in (C1(5), C2(5), C3(5), C4(5))
    )
