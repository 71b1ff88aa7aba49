"""The most memory of this program."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")  # of Linux


def own_peak() -> float:
    """The most memory of this program so far in MB.

    `ru_maxrss` of Linux is not that: it begins with the memory of the process that started the program.
    """
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="utf-8").splitlines())
        return float(lines["VmHWM"].split()[0]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
