"""Compile loops to machine code with numba, in a cache that depends on the sources and is shared by processes."""

import gc
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any, TypeVar, cast

import numba
from filelock import FileLock
from numba.core import caching, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.misc import appdirs

Loop = TypeVar("Loop", bound=Callable[..., Any])
_CACHING: Any = caching  # which has no types
_COMPILER: Any = compiler
_APPDIRS: Any = appdirs
_NUMBA: Any = numba
PACKAGE = Path(__file__).parent
KEPT = 24 * 3600.0  # seconds for which machine code of other sources is kept
IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE)


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it is missing; tried, as root may be refused too."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _of_this_user() -> Path | None:
    """A folder for temporary files that nobody else can write to, as machine code in it is run; None if there is none.

    Its name is known to all: it may have been made by somebody else.
    """
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = Path(gettempdir()) / f"private-bandits-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022
    return folder if ours else None


def place_for(package: Path, chosen: str = "") -> Path | None:
    """The folder for machine code: in `chosen` (NUMBA_CACHE_DIR) if given, else beside the sources of `package`.

    If that cannot be written, it is in the user's cache, else among temporary files; None if none of them can be
    written, and each process compiles for itself.
    """
    of_user = Path(_APPDIRS.user_cache_dir("private-bandits"))
    bases = [Path(chosen)] if chosen else [package / "__pycache__", of_user]
    writable = (base / "machine_code" for base in (*bases, _of_this_user()) if base is not None and _writable(base))
    return next(writable, None)


PLACE = place_for(PACKAGE, _NUMBA.config.CACHE_DIR)


def state_of(module: str, file: Path) -> str:
    """A hash of the `sources_of` a module: its machine code is that of the same sources.

    Numba compiles a loop again when the file of the loop has changed, but not when the file of another loop that it
    calls has changed: after a change of a noise function, loops that call it would still use the old code. Where the
    sources are does not matter, so that copies of them share machine code.
    """
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(module, file).items()):
        digest.update(name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def sources_of(module: str, file: Path) -> dict[str, Path]:
    """The files of a module and of all that it imports of its own package and of ours, directly or not, by module."""
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    roots = {module.partition(".")[0]: root, PACKAGE.name: PACKAGE.parent}
    sources, left = {module: file}, [file]
    while left:
        for name in _imported(left.pop()) - sources.keys():
            source = _file_of(name, roots)
            if source is not None:
                sources[name] = source
                left.append(source)
    return sources


def _imported(file: Path) -> set[str]:
    """The names of modules that a file imports, and of what may be modules: words of comments do no harm."""
    names = set[str]()
    for package, members, modules in IMPORT.findall(file.read_text(encoding="utf-8")):
        names |= {package, *(f"{package}.{member}" for member in re.findall(r"\w+", members))} if package else set()
        names |= set(re.findall(r"[\w.]+", modules))
    return names


def _file_of(name: str, roots: dict[str, Path]) -> Path | None:
    """The file of a module in the package of a loop or in ours; None for other modules and for what is none."""
    root = roots.get(name.partition(".")[0])
    if root is None:
        return None
    path = root.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def remove_old(place: Path, module: str) -> None:
    """Remove machine code of other sources of a module, unless it was written within a day: it may be in use."""
    for folder in place.glob(f"{module}-*"):
        newest = max((file.stat().st_mtime for file in folder.rglob("*")), default=0.0)
        if newest < time.time() - KEPT:
            shutil.rmtree(folder, ignore_errors=True)


_state_of_ours = cache(state_of)  # once for all loops of a file, as a process imports our sources once


class _Locator(_CACHING.InTreeCacheLocator):  # type: ignore[misc]
    """Where numba keeps the machine code of our loops; that of other code in this process stays where it was."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        self._module = function.__module__
        self._state = (_state_of_ours if PACKAGE in Path(file).parents else state_of)(self._module, Path(file))
        self._cache_path = str(cast(Path, PLACE) / f"{self._module}-{self._state}")

    def get_source_stamp(self) -> str:
        return self._state

    def ensure_cache_path(self) -> None:
        if not Path(self._cache_path).exists():
            remove_old(cast(Path, PLACE), self._module)
            Path(self._cache_path).mkdir(parents=True, exist_ok=True)


class _Kept(_CACHING.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Cache(_CACHING.FunctionCache):  # type: ignore[misc]
    _impl_class = _Kept


class _Compiler(_COMPILER.Compiler):  # type: ignore[misc]
    """Numba's own, which is made where there is no machine code yet: what it then needs takes a tenth of a second."""

    def __init__(self, *arguments: Any) -> None:
        from bandits.unboxing import unbox_without_python

        unbox_without_python()
        super().__init__(*arguments)


def _jitted(loop: Callable[..., Any], **options: Any) -> Any:
    """The loop, to be compiled when it is called; as it is if NUMBA_DISABLE_JIT=1, for debuggers and coverage."""
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # for C code, of which there is none
    dispatcher = _NUMBA.njit(**options, pipeline_class=_Compiler)(loop)
    if dispatcher is loop:  # NUMBA_DISABLE_JIT=1
        return dispatcher
    if PLACE is not None:
        with suppress(RuntimeError):  # no file has its source, as in `python -c` and notebooks: compiled each time
            dispatcher._cache = _Cache(loop)
    call_template, general = dispatcher.get_call_template, _NUMBA.types.unliteral

    def without_literals(types: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Without this a loop is compiled for a constant and again for a variable, with the same numbers."""
        return call_template(tuple(map(general, types)), {name: general(one) for name, one in named.items()})

    dispatcher.get_call_template = without_literals
    return dispatcher


def compiled(loop: Loop) -> Loop:
    """Compile `loop` to machine code at its first call and store that on disk for the next process.

    Division follows numpy (no exception on zero). Floating point is never reordered or fused, so that a compiled loop
    and its plain Python form (`in_python`) agree to the last bit unless it divides by zero. The
    interpreter lock is released, so that other threads run, such as the one that ends a process whose parent has died.
    """
    return cast(Loop, _shared(_jitted(loop)))


def borrowing(loop: Loop) -> Loop:
    """Compile a `loop` that only works on arrays of the compiled loop that calls it, and makes none itself.

    A call of a `compiled` loop counts the references to the generator and to each array of its arguments, also inside
    tuples. Counting one takes about as long as drawing a number. Here none is counted; the numbers are the same.

    Not for loops that Python calls: such a call would never free the generator. A loop that makes an array, or
    calls one that does, does not compile. Raises `TypeError` for one that returns an array, which would be freed twice.
    """
    return cast(Loop, _shared(_jitted(loop, _nrt=False)))


def inlined(loop: Loop) -> Loop:
    """Compile `loop` as a part of each compiled loop that calls it.

    A call counts the references to every array that it passes, which can take longer than the arithmetic of a step.
    """
    return cast(Loop, _jitted(loop, inline="always"))


def in_python(loop: Loop) -> Loop:
    """The plain Python form of a compiled `loop`: the same bits, and cheaper for a call that passes a generator."""
    return cast(Loop, getattr(loop, "py_func", loop))


def has_code(loop: Callable[..., Any]) -> bool:
    """Whether machine code of a compiled loop is on disk, of any types of arguments. False where none can be kept."""
    cache = getattr(loop, "_cache", None)
    return isinstance(cache, _Cache) and Path(cache._cache_file._index_path).exists()


def _shared(dispatcher: Any) -> Any:
    """The same compiled loop; while one process compiles it, others that need it wait for its machine code."""
    if not hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT=1
        return dispatcher
    compile_or_load = dispatcher.compile

    def in_one_process(signature: Any) -> Any:
        # within a process the global lock comes first, as in the compilation of a loop that calls this one
        with global_compiler_lock, _locked(dispatcher), _no_search_for_cycles():
            entry = compile_or_load(signature)
        if not dispatcher.targetoptions.get("_nrt", True):
            models = dispatcher.targetctx.data_model_manager
            returned = [models[code.signature.return_type] for code in dispatcher.overloads.values()]
            if any(model.contains_nrt_meminfo() for model in returned):
                raise TypeError(f"{dispatcher.py_func.__qualname__} returns an array: use `compiled`")
        return entry

    dispatcher.compile = in_one_process
    return dispatcher


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Within, garbage is not collected: numba makes many objects that live on, which would be searched often."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _locked(dispatcher: Any) -> AbstractContextManager[object]:
    """The lock of a loop, a file beside its machine code; none where that cannot be written."""
    if dispatcher.stats.cache_path is None:
        return nullcontext()
    name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}.lock"
    folder = Path(dispatcher.stats.cache_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / name).acquire()
    except OSError:
        return nullcontext()
