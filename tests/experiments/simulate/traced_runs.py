"""Runs commands in processes of their own, each of which waits until whoever traces it says go.

A line on standard input is JSON, the words of `python -m experiments.run`; the answer is the number of a process that
waits. After the next line, an empty one, it runs, and the answer is how it ended: `signal`, `code`, and what it said on
standard error. Processes are forked from one that has run such a command already, so that none of them has to import.
"""

import ctypes
import json
import os
import sys
import tempfile

from experiments import progress, running
from experiments.config.command_line import exit_on_user_error
from experiments.simulate import job, pieces

TRACER, ANYONE = 0x59616D61, -1  # prctl: who may trace this process
WORDS = ("instance=c1", "instance.arms=2", "policy=ucb1", "horizon=200", "runner.workers=1", "published_dir=null")


def command(words):
    """Run it in this process; its exit code."""
    sys.argv = ["experiments.run", *WORDS, *words]
    try:
        exit_on_user_error(running.main)
    except SystemExit as end:
        return end.code or 0
    return 0


def wait_and_run(words, go, said):
    """What the process that is traced does; it ends here."""
    ctypes.CDLL(None).prctl(TRACER, ctypes.c_ulong(ANYONE), 0, 0, 0)
    os.read(go, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(said, 2)
    code = command(words)
    sys.stderr.flush()
    os._exit(code)


def main():
    """Fork a process for each command."""
    progress.EVERY = 1e6
    job.SECONDS, pieces.SECONDS = 1e9, -1.0  # blocks of 1, 2, 4 replications, each of them kept as a piece
    answer = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        command(["replications=2", f"results_dir={folder}"])
    for line in sys.stdin:
        (waits, go), (heard, said) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            wait_and_run(json.loads(line), waits, said)
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


if __name__ == "__main__":
    main()
