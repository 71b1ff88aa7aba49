"""How seconds are measured: the median of several calls, after one that compiles."""

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
