"""Compile loops to machine code with numba, in a cache that follows the sources."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def _keep_machine_code_apart() -> None:
    """Keep compiled loops in a folder whose name changes with every change to the sources of this package.

    Numba compiles a loop again when the file of the loop has changed, but not when the file of another loop
    that it calls has changed. After a change to the noise, the loops that draw it would still use the old code.
    """
    package = Path(__file__).parent
    config: Any = numba.config
    base = Path(config.CACHE_DIR or package / "__pycache__")
    if os.access(base if base.exists() else base.parent, os.W_OK):
        config.CACHE_DIR = str(base / folder_of(package))


def folder_of(package: Path) -> str:
    """The name of the folder for the machine code of a `package`: it changes with every change to its sources."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    return f"loops-{digest.hexdigest()[:16]}"


_keep_machine_code_apart()


def compiled(loop: Loop) -> Loop:
    """Compile `loop` to machine code at its first call and store that on disk for the next process.

    Division follows numpy (no exception on zero). Floating point is never reordered or fused, so that a
    compiled loop and its plain Python form, `compiled(loop).py_func`, agree to the last bit unless it
    divides by zero. The interpreter lock is released: other threads go on, such as the one that ends a process
    whose parent has died.
    """
    return cast(Loop, numba.njit(cache=True, nogil=True, error_model="numpy")(loop))


def inlined(loop: Loop) -> Loop:
    """Compile `loop` as a part of each compiled loop that calls it.

    A call counts the references to every array that it passes, which can take longer than the arithmetic of a step.
    """
    return cast(Loop, numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(loop))
