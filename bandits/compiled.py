"""Compile loops to machine code with numba, in a cache that depends on the sources and is shared by processes."""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from filelock import FileLock
from numba.core.compiler_lock import global_compiler_lock

Loop = TypeVar("Loop", bound=Callable[..., Any])
FOLDER = "loops-"  # machine code of one state of the sources
KEPT = 24 * 3600.0  # seconds for which machine code of other sources is kept


def _keep_machine_code_apart() -> None:
    """Keep compiled loops in a folder whose name changes with every change to the sources of this package.

    Numba compiles a loop again when the file of the loop has changed, but not when the file of another loop
    that it calls has changed. After a change of a noise function, loops that call it would still use the old code.
    """
    package = Path(__file__).parent
    config: Any = numba.config
    base = Path(config.CACHE_DIR or package / "__pycache__")
    if os.access(base if base.exists() else base.parent, os.W_OK):
        folder = base / folder_of(package)
        if not folder.exists():
            remove_old(base)
        config.CACHE_DIR = str(folder)


def folder_of(package: Path) -> str:
    """The name of the folder for the machine code of a `package`: it changes with every change to its sources."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.read_bytes())
    return f"{FOLDER}{digest.hexdigest()[:16]}"


def remove_old(base: Path) -> None:
    """Remove machine code of other sources from `base`, unless it was written within a day: it may be in use."""
    for folder in base.glob(f"{FOLDER}*"):
        newest = max((file.stat().st_mtime for file in folder.rglob("*")), default=0.0)
        if newest < time.time() - KEPT:
            shutil.rmtree(folder, ignore_errors=True)


_keep_machine_code_apart()


def compiled(loop: Loop) -> Loop:
    """Compile `loop` to machine code at its first call and store that on disk for the next process.

    Division follows numpy (no exception on zero). Floating point is never reordered or fused, so that a compiled loop
    and its plain Python form, `compiled(loop).py_func`, agree to the last bit unless it divides by zero. The
    interpreter lock is released, so that other threads run, such as the one that ends a process whose parent has died.
    """
    return cast(Loop, _shared(numba.njit(cache=True, nogil=True, error_model="numpy")(loop)))


def borrowing(loop: Loop) -> Loop:
    """Compile a `loop` that only works on arrays of the compiled loop that calls it, and makes none itself.

    A call of a `compiled` loop counts the references to the generator and to each array of its arguments, also inside
    tuples. Counting one takes about as long as drawing a number. Here none is counted; the numbers are the same.

    Not for loops that Python calls: such a call would never free the generator. A loop that makes an array, or
    calls one that does, does not compile. Raises `TypeError` for one that returns an array, which would be freed twice.
    """
    jit: Any = numba.njit  # whose stubs lack this option
    return cast(Loop, _shared(jit(cache=True, nogil=True, error_model="numpy", _nrt=False)(loop)))


def inlined(loop: Loop) -> Loop:
    """Compile `loop` as a part of each compiled loop that calls it.

    A call counts the references to every array that it passes, which can take longer than the arithmetic of a step.
    """
    return cast(Loop, numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(loop))


def _shared(dispatcher: Any) -> Any:
    """The same compiled loop; while one process compiles it, others that need it wait for its machine code."""
    compile_or_load = dispatcher.compile

    def in_one_process(signature: Any) -> Any:
        # within a process the global lock comes first, as in the compilation of a loop that calls this one
        with global_compiler_lock, _locked(dispatcher):
            entry = compile_or_load(signature)
        if not dispatcher.targetoptions.get("_nrt", True):
            models = dispatcher.targetctx.data_model_manager
            returned = [models[code.signature.return_type] for code in dispatcher.overloads.values()]
            if any(model.contains_nrt_meminfo() for model in returned):
                raise TypeError(f"{dispatcher.py_func.__qualname__} returns an array: use `compiled`")
        return entry

    dispatcher.compile = in_one_process
    return dispatcher


def _locked(dispatcher: Any) -> AbstractContextManager[object]:
    """The lock of a loop, a file beside its machine code; none where that cannot be written."""
    name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}.lock"
    folder = Path(dispatcher.stats.cache_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / name).acquire()
    except OSError:
        return nullcontext()
