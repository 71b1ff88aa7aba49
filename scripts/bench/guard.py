"""Fail if the speedup of a fast loop over its plain loop is below a given factor.

python -m scripts.bench.guard

Both are measured in one process, in turn, and no absolute time counts. The factors are a quarter or less of what
`make bench` finds, so that only a loop that has lost its speedup fails.
"""

import sys

import numpy as np

from bandits import Policy
from bandits.environments.bernoulli import C1, BernoulliInstance, Linear9
from bandits.policies.elimination import DPSE
from bandits.policies.perturbed_leader import DPFTPLGauss, DPFTPLNew
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from experiments.config.command_line import exit_on_user_error, help_alone
from scripts.bench.plain import plain_loop
from scripts.bench.timing import seconds

HORIZON = 10**6
CASES: tuple[tuple[Policy, BernoulliInstance, float], ...] = (  # with the factor
    (UCB1(), C1(5), 1),
    (DPUCB(1.0), C1(5), 1),
    (DPSE(0.25), C1(5), 2),
    (DPFTPLGauss(1.0, 0.01), Linear9(), 2),
    (DPFTPLNew(1.0, 0.01), Linear9(), 2),
)


def factor(policy: Policy, instance: BernoulliInstance) -> float:
    """The speedup of the fast loop over the plain loop."""
    loop = plain_loop(policy, instance, HORIZON)
    assert loop is not None

    def fast(replication: int) -> object:
        return policy.simulate(instance, HORIZON, np.array([HORIZON]), stream("bench", replication))

    fast(0)
    loop(0)
    return seconds(loop) / seconds(fast)


def main() -> None:
    """Entry point of `python -m scripts.bench.guard`. Exit code 1 if a factor is too small."""
    if help_alone(__doc__):
        return
    slow = False
    for policy, instance, least in CASES:
        times = factor(policy, instance)
        slow |= times < least
        wrong = "" if times >= least else f": too slow, at least {least:g} is wanted"
        print(f"{policy.legend()} on {instance.name}, T = {HORIZON:.0e}: {times:.3g} times its plain loop{wrong}")
    sys.exit(int(slow))


if __name__ == "__main__":
    exit_on_user_error(main)
