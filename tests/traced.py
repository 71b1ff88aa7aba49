"""Processes traced by strace: each is killed at a system call, or the call is refused.

For each line on its standard input, a list of words in JSON, a server forks a process that waits, and answers with its
id. After an empty line the process runs, and the answer is how it ended: `signal`, `code`, and its standard error. No
process has to import, as the server has done so.
"""

import ctypes
import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

TRACER, ANYONE = 0x59616D61, -1  # prctl: any process may trace this one
CHANGING = (
    *("write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "chmod", "fchmod", "fchmodat", "utimensat"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
)
CALLS = ",".join(f"?{name}" for name in ("open", "openat", "close", *CHANGING))


class Call(NamedTuple):
    """A call of a run: its name, its number among calls of that name, from 1, and whether it may change the disk."""

    name: str
    number: int
    changes: bool


class Traced:
    """Runs in processes forked by a server in `module`, each with strace or without."""

    def __init__(self, module, folder):
        self._server = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def run(self, words, *strace):
        """Run, traced if there are words for strace; return how it ended."""
        self._server.stdin.write(json.dumps(words) + "\n")
        process = int(self._server.stdout.readline())
        tracer = attached(process, strace) if strace else None
        self._server.stdin.write("\n")
        ended = json.loads(self._server.stdout.readline())
        if tracer:
            tracer.communicate(timeout=60)
        return ended

    def end(self):
        self._server.stdin.close()
        assert self._server.wait(timeout=60) == 0
        self._server.stdout.close()


def attached(process, words):
    """Attach strace to a waiting process; skip the test if processes cannot be traced."""
    tracer = subprocess.Popen(["strace", "-p", str(process), *words], stderr=subprocess.PIPE, text=True)
    line = tracer.stderr.readline()
    if "attached" not in line:
        tracer.communicate()
        subprocess.run(["kill", "-KILL", str(process)], check=True)
        pytest.skip(f"processes cannot be traced here: {line.strip()}")
    return tracer


def wait_and_run(command, words, go, errors):
    """The work of a traced process; it never returns."""
    ctypes.CDLL(None).prctl(TRACER, ctypes.c_ulong(ANYONE), 0, 0, 0)
    os.read(go, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors, 2)
    code = command(words)
    sys.stderr.flush()
    os._exit(code)


def serve(command, answer):
    """Fork a process for each line; in it `command(words)` gives the exit code."""
    for line in sys.stdin:
        (waits, go), (reader, errors) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            wait_and_run(command, json.loads(line), waits, errors)
        os.close(errors)
        answer.write(f"{child}\n")
        sys.stdin.readline()
        os.write(go, b".")
        with os.fdopen(reader) as words:
            err = words.read()
        _, status = os.waitpid(child, 0)
        os.close(waits)
        os.close(go)
        signal, code = (os.WTERMSIG(status), None) if os.WIFSIGNALED(status) else (0, os.WEXITSTATUS(status))
        answer.write(json.dumps({"signal": signal, "code": code, "err": err}) + "\n")
