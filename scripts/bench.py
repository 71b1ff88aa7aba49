"""Time the kernels beside plain loops, in one process: quote the ratios, machines are noisy.

python -m scripts.bench
"""

import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from bandits import Instance, Policy, checkpoint_grid
from bandits.instances import C1, C2, C4
from bandits.mechanisms.tree import node_scale, tree_levels
from bandits.policies import DPSE, DPUCB, UCB1, SuccessiveElimination
from bandits.random import stream
from bandits.reference import dp_se_steps, index_steps, successive_elimination_steps

HORIZON = 50_000_000
COMPILED_STEPS = 5_000_000  # the plain loops of index policies take the same time at every step
PYTHON_STEPS = 20_000
REPEATS = 5

CASES: list[tuple[Instance, Policy]] = [
    (C1(5), DPSE(0.25)),
    (C4(20), DPSE(0.25)),
    (C1(5), SuccessiveElimination()),
    (C1(5), UCB1()),
    (C1(5), DPUCB(0.1)),
    (C1(5), DPUCB(1.0)),
    (C2(5), DPUCB(0.25)),
    (C1(20), DPUCB(0.25)),
    (C4(20), DPUCB(0.25)),
    (C1(5), DPUCB(1.0, split_budget=False, confidence="tight")),
]


def seconds(action: Callable[[int], object], repeats: int = REPEATS) -> float:
    """Median time of `action(replication)`."""
    times = []
    for replication in range(repeats):
        began = time.perf_counter()
        action(replication)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def plain_loop(instance: Instance, policy: Policy, steps: int, interpreted: bool) -> Callable[[int], object]:
    """The step-by-step loop of `policy` over `steps` steps, compiled or in plain Python."""
    means, arms = instance.mean_rewards, len(instance.mean_rewards)

    def form(loop: Callable[..., object]) -> Callable[..., object]:
        return loop.py_func if interpreted else loop  # type: ignore[attr-defined, no-any-return]

    if isinstance(policy, DPSE):
        return lambda j: form(dp_se_steps)(means, policy.epsilon, steps, stream("rewards", j), stream("noise", j))
    if isinstance(policy, SuccessiveElimination):
        return lambda j: form(successive_elimination_steps)(means, steps, stream("bench", j))
    bonus, scale = 0.0, 0.0
    if isinstance(policy, DPUCB):
        bonus, scale = policy.bonus(arms, HORIZON), node_scale(HORIZON, policy.tree_epsilon(arms))
    checkpoints, levels = np.array([steps]), tree_levels(HORIZON)
    return lambda j: form(index_steps)(means, steps, checkpoints, bonus, scale, levels, stream("bench", j))


def row(instance: Instance, policy: Policy) -> dict[str, object]:
    """Nanoseconds per step of one case: the kernel at the papers' horizon, and the plain loops."""
    checkpoints = checkpoint_grid(HORIZON)

    def kernel(replication: int) -> object:
        return policy.simulate(instance, HORIZON, checkpoints, stream("bench", replication))

    policy.simulate(instance, 1_000, checkpoint_grid(1_000), stream("warm up", 0))
    fast = seconds(kernel)
    plain_loop(instance, policy, 1_000, interpreted=False)(0)
    eliminates = isinstance(policy, DPSE | SuccessiveElimination)
    steps = HORIZON if eliminates else COMPILED_STEPS
    compiled = seconds(plain_loop(instance, policy, steps, interpreted=False)) / steps
    interpreted = seconds(plain_loop(instance, policy, PYTHON_STEPS, interpreted=True), 1) / PYTHON_STEPS
    return {
        "policy": policy.legend(),
        "epsilon": policy.guarantee.epsilon,
        "instance": instance.name,
        "arms": len(instance.mean_rewards),
        "ms": round(1e3 * fast, 2),
        "ns/step": round(1e9 * fast / HORIZON, 3),
        "plain compiled ns/step": round(1e9 * compiled, 1),
        "plain Python ns/step": round(1e9 * interpreted),
        "faster than compiled": float(f"{compiled * HORIZON / fast:.2g}"),
        "faster than Python": math.nan if eliminates else float(f"{interpreted * HORIZON / fast:.2g}"),
    }


def command_seconds(*arguments: str) -> float:
    """Wall time of a Python command in a process of its own, the second of two runs."""
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - began
    return took


def main() -> None:
    """Entry point of `python -m scripts.bench`."""
    table = pd.DataFrame([row(instance, policy) for instance, policy in CASES])
    print(
        f"one replication at T = {HORIZON:.0e}, one core, median of {REPEATS}; plain loops of index policies over "
        f"{COMPILED_STEPS:.0e} steps, of elimination over the whole horizon, in Python over {PYTHON_STEPS:.0e}"
    )
    print(table.to_string(index=False, na_rep="-"))
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    print(f"import bandits: {command_seconds('-c', 'import bandits'):.2f} s")
    figure = command_seconds("-m", "scripts.figures", "+experiment=sajed2019/fig05", "figures_dir=scratch/bench")
    print(f"one figure of four panels from stored results: {figure:.2f} s")


if __name__ == "__main__":
    main()
