"""The one way this project compiles a loop."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Compile `loop` to machine code at its first call and keep it on disk for the next process.

    Division follows numpy (no exception on zero). Floating point is never reordered or fused, so a
    compiled loop and its plain Python form, `compiled(loop).py_func`, agree to the last bit.
    """
    return cast(Loop, numba.njit(cache=True, error_model="numpy")(loop))
