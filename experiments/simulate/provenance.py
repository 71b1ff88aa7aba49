"""Provenance of numbers: versions, machine and commit."""

import platform
import subprocess
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from experiments.config.compose import REPOSITORY

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy", "pyarrow", "hydra-core")


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """The provenance in a results file; `dirty` says whether tracked files outside `results` were changed."""
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ":!results")
    return {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "platform": machine(),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changes is None else bool(changes),
    }


def machine() -> str:
    """What rounding depends on: system, architecture, C library (its logarithm may also depend on the processor)."""
    return " ".join(filter(None, [platform.system(), platform.machine(), *platform.libc_ver()]))


def _git(*arguments: str) -> str | None:
    try:
        run = subprocess.run(["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()
