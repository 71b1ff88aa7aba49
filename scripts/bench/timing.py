"""How seconds are measured, and on what: the median of several calls, after one that compiles."""

import os
import platform
import time
from collections.abc import Callable

import numpy as np

REPEATS = 5
LONG = 1.0  # seconds: what takes longer is called once


def seconds(action: Callable[[int], object], repeats: int = REPEATS) -> float:
    """Median time of `action(replication)`; of a single call if that takes more than `LONG`."""
    times: list[float] = []
    for replication in range(repeats):
        began = time.perf_counter()
        action(replication)
        times.append(time.perf_counter() - began)
        if times[0] > LONG:
            break
    return float(np.median(times))


def this_machine() -> str:
    """This machine in a few words."""
    return (
        f"{platform.system()} on {platform.machine()} with {os.cpu_count()} cores, Python {platform.python_version()}"
    )
