"""Run commands in processes forked from one that has already imported the libraries, which saves a second each.

Each command imports everything else, such as `bandits`, itself, from the folder in which it is started.
"""

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

LIBRARIES = (
    "hydra.core.override_parser.overrides_parser",
    "hydra.utils",
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
    """Fork for every line of input and print the exit code; in the fork this function runs the command and returns."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # else garbage collection in a fork would copy this memory
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return _become(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def _become(words: list[str], folder: str, files: list[str], environment: dict[str, str]) -> None:
    """Turn a fork into the process of the command."""
    os.environ.update(environment)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    for number, file in enumerate((os.devnull, *files)):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    os.chdir(folder)
    sys.path[0] = folder
    option, what, *sys.argv[1:] = words
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    serve()
