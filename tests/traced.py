"""Processes that are traced by strace: killed at a system call, or refused it.

A server forks a process for each line on its standard input, a list of words in JSON, and answers with the number of a
process that waits. After the next line, an empty one, it runs, and the answer is how it ended: `signal`, `code`, and
what it said on standard error. None of them has to import, as the server has done so.
"""

import ctypes
import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

TRACER, ANYONE = 0x59616D61, -1  # prctl: who may trace this process
CHANGING = (
    *("write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "chmod", "fchmod", "fchmodat", "utimensat"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
)
CALLS = ",".join(f"?{name}" for name in ("open", "openat", "close", *CHANGING))


class Call(NamedTuple):
    """A call of a run: its name, which call of that name it is, from 1, and whether it may change what is on disk."""

    name: str
    number: int
    changes: bool


class Traced:
    """Runs in processes that a server in `module` forks, each traced by strace or not."""

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
        """How a run ended; traced if there are words for strace."""
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
    """A tracer of a process that waits; the test is skipped where processes cannot be traced."""
    tracer = subprocess.Popen(["strace", "-p", str(process), *words], stderr=subprocess.PIPE, text=True)
    said = tracer.stderr.readline()
    if "attached" not in said:
        tracer.communicate()
        subprocess.run(["kill", "-KILL", str(process)], check=True)
        pytest.skip(f"processes cannot be traced here: {said.strip()}")
    return tracer


def wait_and_run(command, words, go, said):
    """What the process that is traced does; it ends here."""
    ctypes.CDLL(None).prctl(TRACER, ctypes.c_ulong(ANYONE), 0, 0, 0)
    os.read(go, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(said, 2)
    code = command(words)
    sys.stderr.flush()
    os._exit(code)


def serve(command, answer):
    """Fork a process for each line, in which `command` of its words gives the exit code."""
    for line in sys.stdin:
        (waits, go), (heard, said) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            wait_and_run(command, json.loads(line), waits, said)
        os.close(said)
        answer.write(f"{child}\n")
        sys.stdin.readline()
        os.write(go, b".")
        with os.fdopen(heard) as words:
            err = words.read()
        _, status = os.waitpid(child, 0)
        os.close(waits)
        os.close(go)
        signal, code = (os.WTERMSIG(status), None) if os.WIFSIGNALED(status) else (0, os.WEXITSTATUS(status))
        answer.write(json.dumps({"signal": signal, "code": code, "err": err}) + "\n")
