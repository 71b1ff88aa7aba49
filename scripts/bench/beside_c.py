"""UCB1 and DP-UCB beside a plain loop in C (plain.c), for few and many arms, over short and long horizons."""

import ctypes
import math
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bandits import Policy
from bandits.arrays import FloatArray, IntArray
from bandits.environments.bernoulli import C1, BernoulliInstance
from bandits.policies.private_ucb import DPUCB
from bandits.policies.ucb import UCB1
from bandits.seeds import stream
from scripts.bench.plain import index_terms
from scripts.bench.timing import seconds

SOURCE = Path(__file__).with_name("plain.c")
POLICIES = (UCB1(), DPUCB(1.0))
ARMS = (2, 10, 100, 1_000)
HORIZONS = (10**4, 10**6, 10**8, 10**10)
PATIENCE = 20.0  # seconds: what takes longer is not measured at a larger horizon
C_STEPS = 10**6  # of the loop in C, whose steps all take about as long

CLoop = Callable[[FloatArray, int, float, float, int], IntArray]  # means, horizon, bonus, scale, seed: pulls


@dataclass(frozen=True)
class BesideC:
    """Seconds of a step of a policy with so many arms: here by horizon, and in C; NaN without a compiler."""

    policy: str
    arms: int
    here: dict[int, float]
    c: float

    def ratio(self, horizon: int) -> float:
        """How many times as long a step takes in C; NaN if one was not measured."""
        return self.c / self.here.get(horizon, math.nan)


def beside_c() -> Iterator[BesideC]:
    """Every policy with every number of arms, on C1."""
    with TemporaryDirectory() as folder:
        loop = c_loop(Path(folder))
        for policy in POLICIES:
            for arms in ARMS:
                in_c = math.nan if loop is None else seconds(_in_c(loop, policy, C1(arms))) / C_STEPS
                yield BesideC(policy.label, arms, _here(policy, C1(arms)), in_c)


def c_loop(folder: Path) -> CLoop | None:
    """The loop of plain.c, compiled into `folder` by `$CC` or `cc`; None if there is no compiler, or it fails."""
    library = folder / "plain.so"
    words = [os.environ.get("CC", "cc"), "-O3", "-shared", "-fPIC", str(SOURCE), "-lm", "-o", str(library)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    steps = ctypes.CDLL(str(library)).index_steps
    number, floating, pointer = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
    steps.argtypes = [pointer, number, number, floating, floating, ctypes.c_uint64, pointer]

    def loop(means: FloatArray, horizon: int, bonus: float, scale: float, seed: int) -> IntArray:
        pulls = np.zeros(len(means), dtype=np.int64)
        if steps(means.ctypes.data, len(means), horizon, bonus, scale, seed, pulls.ctypes.data):
            raise MemoryError
        return pulls

    return loop


def _in_c(loop: CLoop, policy: UCB1 | DPUCB, instance: BernoulliInstance) -> Callable[[int], object]:
    means = np.ascontiguousarray(instance.mean_rewards)
    bonus, scale = index_terms(policy, len(means), C_STEPS)
    return lambda replication: loop(means, C_STEPS, bonus, scale, replication)


def _here(policy: Policy, instance: BernoulliInstance) -> dict[int, float]:
    """Seconds of a step of a replication, by horizon."""
    measured: dict[int, float] = {}
    for horizon in HORIZONS:

        def replication(number: int, horizon: int = horizon) -> object:
            return policy.simulate(instance, horizon, np.array([horizon]), stream("bench", number))

        if not measured:
            replication(0)  # compiles the loop
        took = seconds(replication)
        measured[horizon] = took / horizon
        if took > PATIENCE:
            break
    return measured
