"""What is told of a sweep while it runs: its progress, here and in a small text beside its results, and what failed."""

import math
import os
import platform
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from experiments.plain_text import in_utf_8
from experiments.progress import Progress, readable_duration
from experiments.simulate.block import Failure
from experiments.simulate.failures import Failures, PolicyError
from experiments.simulate.job import CellJob
from experiments.store import Store
from experiments.store.whole_files import put

FOLDER = ".status"
EVERY = 1.0  # seconds between two writes
SILENT = 20.0  # seconds without a write after which a process counts as ended
FEW = 10  # failures that are listed at most
RUNNING, DONE, STOPPED = "running", "done", "stopped"
LOST = "killed, or its machine stopped; the same command resumes it"


class Status:
    """Tells how far a sweep is, and what failed; its text is rewritten all the time, errors of writing it are ignored.

    Raises `PolicyError` at the end if cells failed.
    """

    def __init__(self, jobs: Sequence[CellJob], store: Store) -> None:
        self._requests, self._store = {job.cell.key: job.request for job in jobs}, store
        self._progress = Progress("simulating", {"cells": len(jobs), "replications": sum(job.left for job in jobs)})
        self._failures: list[Failure] = []
        self._path = store.root / FOLDER / f"{platform.node()}-{os.getpid()}.txt"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, daemon=True)

    def __enter__(self) -> Self:
        for path, _, is_running in _texts(self._store.root):
            if not is_running:
                path.unlink(missing_ok=True)
        self._progress.__enter__()
        self._write(RUNNING)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()
        self._progress.__exit__(kind, error, at)
        self._write(STOPPED if error else DONE)
        if self._failures and not error:
            raise PolicyError(self._failures, self._store.root)

    def after(self, replications: int = 0, cells: int = 0) -> None:
        """Count what was simulated, or stored."""
        self._progress.after(None, replications=replications, cells=cells)

    def failed(self, failure: Failure, is_recorded: bool = False) -> None:
        """List the failure of a block, and record the first replication of its cell that failed."""
        earlier = [before.numbers.start for before in self._failures if before.key == failure.key]
        self._failures.append(failure)
        if not is_recorded and failure.numbers.start < min(earlier, default=math.inf):
            with self._store.writing():
                Failures(self._store.root).record(self._requests[failure.key], failure)

    def _keep_writing(self) -> None:
        while not self._ended.wait(EVERY):
            self._write(RUNNING)

    def _write(self, state: str) -> None:
        failed = [f"    {failure.policy} ({failure.key}): {failure.why}" for failure in self._failures[:FEW]]
        lines = [
            f"{state}: {shlex.join(sys.orig_argv)}",
            f"  process {os.getpid()} on {platform.node()}",
            f"  {self._progress.words}",
            *([f"  {len(self._failures)} failed:", *failed] if failed else []),
        ]
        with suppress(OSError):
            put(self._path, in_utf_8("\n".join(lines)).encode(), lasting=False)


def sweeps(root: Path) -> list[str]:
    """What is told of every sweep below `root`, the latest first."""
    told = []
    for path, text, is_running in _texts(root):
        with suppress(OSError):
            written = path.stat().st_mtime
            state, _, rest = text.partition(":")
            state = LOST if state == RUNNING and not is_running else state
            told.append(
                (written, f"{state}, last heard {readable_duration(max(0.0, time.time() - written))} ago:{rest}")
            )
    return [text for _, text in sorted(told, reverse=True)]


def is_running(root: Path) -> bool:
    """Whether a sweep into `root` is running."""
    return any(running for _, _, running in _texts(root))


def _texts(root: Path) -> Iterator[tuple[Path, str, bool]]:
    """The text of every sweep, and whether its process is running."""
    for path in (root / FOLDER).glob("*.txt"):
        with suppress(OSError, ValueError):  # removed meanwhile, or not of a sweep
            text = path.read_text(encoding="utf-8")
            yield path, text, text.startswith(RUNNING) and time.time() - path.stat().st_mtime < SILENT
