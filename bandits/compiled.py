"""The one way this project compiles a loop."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def _keep_machine_code_apart() -> None:
    """Give every state of this package's sources a folder of its own for compiled loops.

    Numba looks at the file of a loop to see whether it changed, not at those of the loops that it calls:
    an edited noise would go on sleeping in the compiled loops around it.
    """
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    config: Any = numba.config
    base = Path(config.CACHE_DIR or package / "__pycache__")
    if os.access(base if base.exists() else base.parent, os.W_OK):
        config.CACHE_DIR = str(base / f"loops-{digest.hexdigest()[:16]}")


_keep_machine_code_apart()


def compiled(loop: Loop) -> Loop:
    """Compile `loop` to machine code at its first call and keep it on disk for the next process.

    Division follows numpy (no exception on zero). Floating point is never reordered or fused, so that a
    compiled loop and its plain Python form, `compiled(loop).py_func`, agree to the last bit unless it
    divides by zero.
    """
    return cast(Loop, numba.njit(cache=True, error_model="numpy")(loop))
