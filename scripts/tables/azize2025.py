"""Tables about Azize et al. (2025)."""

import math

from bandits.bounds.azize2025 import lower_bound_slope
from bandits.bounds.stuck_runs import stuck_regret
from bandits.environments.bernoulli import C1, C2, C3, C4
from bandits.policies.batched_index import DPIMED, DPKLUCB
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


def stuck() -> Table:
    """What stuck runs carry of the mean regret on C1 with five arms, about (8.6), and what the remedy costs."""
    instance = C1(5)
    return Table.of(
        {
            "ε": f"{epsilon:g}",
            "T": f"{horizon:g}",
            "DP-KLUCB": exactly(stuck_regret(DPKLUCB(epsilon), instance.mean_rewards, horizon)),
            "DP-IMED": exactly(stuck_regret(DPIMED(epsilon), instance.mean_rewards, horizon)),
            "DP-KLUCB, first batch 3/ε": exactly(stuck_regret(DPKLUCB(epsilon, None), instance.mean_rewards, horizon)),
            "which costs": exactly(float(instance.gaps.sum()) * (math.ceil(3 / epsilon) - 1)),
        }
        for epsilon in (0.01, 0.1, 1.0)
        for horizon in (1e7, 1e12)
    )
