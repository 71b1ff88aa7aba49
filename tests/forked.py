"""Run commands in processes forked from one that has already imported the libraries, which saves a second each.

It has imported `bandits` too, for commands that would import it from the same place. Each command imports everything
else itself, from the folder in which it is started.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
LIBRARIES = (
    "antlr4",
    "hydra.core.override_parser.overrides_parser",
    "hydra.utils",
    "filelock",
    "joblib",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.figure",
    "numba",
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "scipy.stats",
    "tqdm",
)


def python(words: Sequence[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ...` or `python -c TEXT` in a folder; returns exit code, stdout and stderr."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as outputs:
        files = [str(Path(outputs, name)) for name in ("out", "err")]
        print(json.dumps([list(words), str(folder), files, environment]), file=server.stdin, flush=True)
        code = int(server.stdout.readline())
        out, err = (Path(file).read_text() for file in files)
    return subprocess.CompletedProcess(list(words), code, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks; it ends when its standard input is closed."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def serve() -> None:
    """Fork for every line of input, where a command runs, and print its exit code."""
    sys.path[0] = str(REPOSITORY)
    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages([str(REPOSITORY / "bandits")], "bandits."):
        importlib.import_module(module.name)
    gc.freeze()  # else garbage collection in a fork would copy this memory
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _leave(_become(*json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(words: list[str], folder: str, files: list[str], environment: dict[str, str]) -> int:
    """Turn a fork into the process of the command; its exit code."""
    os.environ.update(environment)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    for number, file in enumerate((os.devnull, *files)):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    os.chdir(folder)
    sys.path[0] = folder
    own = Path(folder, "bandits")
    if environment or (own.exists() and not own.samefile(REPOSITORY / "bandits")):  # as other loops or settings
        for name in [name for name in sys.modules if name.partition(".")[0] == "bandits"]:
            del sys.modules[name]
    option, what, *sys.argv[1:] = words
    try:
        if option == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _leave(code: int) -> None:
    """End as Python does, but for the objects that it would take apart: that copies their memory."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
