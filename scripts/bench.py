"""Measure kernels against plain loops in one process, and commands; quote ratios, since times vary between machines.

python -m scripts.bench
"""

import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from bandits import Instance, Policy, checkpoint_grid
from bandits.environments.bernoulli import C1, C2, C4, Linear9, Linear101
from bandits.environments.heavy_tails import S1, S3, ParetoInstance
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRUCB
from bandits.policies.perturbed_leader import DPFTPLBeta, DPFTPLGauss, DPFTPLNew, PerturbedLeader
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from experiments.config.command_line import exit_on_user_error, help_alone
from scripts import bench_sweeps
from tests.plain_loops import pulls_by_choices
from tests.plain_loops.steps import dp_se_steps, dprucb_steps, index_steps, perturbed_leader_steps

PYTHON_STEPS = 20_000
COMPILED_STEPS = 5_000_000
REPEATS = 5

CASES: list[tuple[int, Instance, Policy]] = [
    (50_000_000, C1(5), DPSE(0.25)),
    (50_000_000, C4(20), DPSE(0.25)),
    (50_000_000, C1(5), SuccessiveElimination()),
    (50_000_000, C1(5), UCB1()),
    (50_000_000, C1(5), DPUCB(0.1)),
    (50_000_000, C1(5), DPUCB(1.0)),
    (50_000_000, C2(5), DPUCB(0.25)),
    (50_000_000, C1(20), DPUCB(0.25)),
    (50_000_000, C4(20), DPUCB(0.25)),
    (50_000_000, C1(5), DPUCB(1.0, split_budget=False, confidence="tight")),
    (10_000_000, S1(0.5), DPRUCB(1.0, "scaled")),
    (10_000_000, S3(0.9), DPRUCB(0.5, "scaled")),
    (100_000, Linear9(), DPFTPLGauss(1.0, 0.01)),
    (100_000, Linear9(), DPFTPLBeta(1.0, 0.01)),
    (100_000, Linear9(), DPFTPLNew(1.0, 0.01)),
    (100_000, Linear101(), DPFTPLGauss(1.0, 0.01)),
    (100_000, Linear101(), DPFTPLBeta(1.0, 0.01)),
    (100_000, Linear101(), DPFTPLNew(1.0, 0.01)),
]

FIGURE = ["+experiment=sajed2019/fig05", "figures_dir=scratch/bench", "redraw=true"]
COMMANDS = {
    "import bandits": ["-c", "import bandits"],
    "python -m experiments.run --help": ["-m", "experiments.run", "--help"],
    "python -m experiments.run plan=true, one cell": ["-m", "experiments.run", "plan=true"],
    "one figure of four panels from stored results": ["-m", "scripts.figures", *FIGURE],
}


def seconds(action: Callable[[int], object], repeats: int = REPEATS) -> float:
    """Median time of `action(replication)`."""
    times = []
    for replication in range(repeats):
        began = time.perf_counter()
        action(replication)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def plain_loop(horizon: int, instance: Instance, policy: Policy) -> Callable[[int, int], object] | None:
    """The compiled step-by-step loop of `policy`, a function of steps and replication; None if it has none."""
    means, arms = instance.mean_rewards, len(instance.mean_rewards)
    if isinstance(policy, SuccessiveElimination):
        return None
    if isinstance(policy, DPSE):
        return lambda t, j: dp_se_steps(means, policy.epsilon, t, stream("rewards", j), stream("noise", j))
    if isinstance(policy, PerturbedLeader):
        law = policy.law(horizon)
        return lambda t, j: perturbed_leader_steps(means, t, policy.start, *law, stream("bench", j))
    if isinstance(policy, DPRUCB) and isinstance(instance, ParetoInstance):
        scales, index, order = instance.scales, instance.tail_index, 1 + instance.v
        c = policy.loop_arguments(policy.moment(instance), horizon)
        return lambda t, j: dprucb_steps(
            scales, index, order, t, c.bonus, c.truncation_rate, c.noise_scale, c.levels, stream("bench", j)
        )
    bonus, scale = 0.0, 0.0
    if isinstance(policy, DPUCB):
        bonus, scale = policy.bonus(arms, horizon), node_scale(horizon, policy.tree_epsilon(arms))
    levels = tree_levels(horizon)
    return lambda t, j: index_steps(means, t, np.array([t]), bonus, scale, levels, stream("bench", j))


def row(horizon: int, instance: Instance, policy: Policy) -> dict[str, object]:
    """Times of one case: the kernel over the whole horizon, the compiled plain loop, and `choices` in Python."""
    checkpoints = checkpoint_grid(horizon)

    def kernel(replication: int) -> object:
        return policy.simulate(instance, horizon, checkpoints, stream("bench", replication))

    policy.simulate(instance, 1_000, checkpoint_grid(1_000), stream("warm up", 0))
    fast = seconds(kernel)
    eliminates = isinstance(policy, DPSE | SuccessiveElimination)
    steps = horizon if eliminates else min(horizon, COMPILED_STEPS)
    compiled = math.nan
    if loop := plain_loop(horizon, instance, policy):
        loop(1_000, 0)
        compiled = seconds(partial(loop, steps)) / steps
    played = GivenMoments.of(policy, instance) if isinstance(policy, DPRUCB) else policy
    python = seconds(lambda j: pulls_by_choices(played, instance, PYTHON_STEPS, stream("bench", j)), 1) / PYTHON_STEPS
    arms = len(instance.mean_rewards)
    return {
        "policy": policy.legend(),
        "epsilon": policy.guarantee.epsilon,
        "instance": instance.name,
        "arms": arms,
        "horizon": f"{horizon:.0e}",
        "ms": round(1e3 * fast, 2),
        "ns/step": round(1e9 * fast / horizon, 3),
        "ns/arm/step": round(1e9 * fast / horizon / arms, 3),
        "compiled ns/step": round(1e9 * compiled, 1),
        "Python ns/step": round(1e9 * python),
        "x compiled": float(f"{compiled * horizon / fast:.2g}"),
        "x Python": math.nan if eliminates else float(f"{python * horizon / fast:.2g}"),
    }


def command_seconds(*arguments: str) -> float:
    """Wall time of a Python command in its own process, for the second of two runs."""
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - began
    return took


def main() -> None:
    """Entry point of `python -m scripts.bench`."""
    if help_alone(__doc__):
        return
    table = pd.DataFrame([row(*case) for case in CASES])
    print(
        f"one replication on one core, median of {REPEATS}; plain loops of policies that decide at every step over at "
        f"most {COMPILED_STEPS:.0e} steps, of elimination over the whole horizon, in Python over {PYTHON_STEPS:.0e}"
    )
    print(table.to_string(index=False, na_rep="-"))
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    for name, arguments in COMMANDS.items():
        print(f"{name}: {command_seconds(*arguments):.2f} s")
    for line in bench_sweeps.measure():
        print(line)


if __name__ == "__main__":
    exit_on_user_error(main)
