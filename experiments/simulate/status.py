"""The status of a running sweep: a small file beside its results, rewritten every second."""

import json
import os
import platform
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from experiments.config.progress import Progress, duration
from experiments.simulate.block import Failure
from experiments.store.leases import is_alive
from experiments.whole_files import put

FOLDER = ".status"
EVERY = 1.0  # seconds between two writes
SILENT = 60.0  # seconds without an update after which a process on another machine counts as ended
FEW = 10  # failures that are listed at most
RUNNING, DONE, STOPPED = "running", "done", "stopped"


@dataclass
class SweepStatus:
    """The content of a status file; `began` and `written` in seconds since 1970."""

    machine: str
    process: int
    command: str
    began: float
    written: float
    state: str
    progress: str
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def is_lost(self) -> bool:
        """Whether its process ended without updating the status, as after kill -9 or a power cut."""
        if self.state != RUNNING:
            return False
        return not is_alive(self.process) if self.machine == platform.node() else self._age > SILENT

    @property
    def _age(self) -> float:
        return time.time() - self.written

    def __str__(self) -> str:
        state = "killed, or its machine stopped; the same command resumes it" if self.is_lost else self.state
        lines = [
            f"{state}: {self.command}",
            f"  process {self.process} on {self.machine}, last heard {duration(max(0.0, self._age))} ago",
            f"  {self.progress}",
        ]
        if self.failed:
            lines += [f"  {self.failed} failed:", *(f"    {line}" for line in self.failures)]
        return "\n".join(lines)


class Status:
    """Writes the status of this process's sweep to a file below `root`; errors of writing are ignored."""

    def __init__(self, root: Path, progress: Progress) -> None:
        machine, process, now = platform.node(), os.getpid(), time.time()
        self._status = SweepStatus(machine, process, command(), now, now, RUNNING, "")
        self._path = root / FOLDER / f"{machine}-{process}.json"
        self._root, self._progress = root, progress
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_writing, daemon=True)

    def __enter__(self) -> Self:
        for path, status in _files(self._root):
            if status.state != RUNNING or status.is_lost:  # the sweep has ended
                path.unlink(missing_ok=True)
        self._write()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()
        self._status.state = DONE if error is None else STOPPED
        self._write()

    def failed(self, failure: Failure) -> None:
        """Count and list a failed block."""
        self._status.failed += 1
        if len(self._status.failures) < FEW:
            self._status.failures.append(f"{failure.policy} ({failure.key}): {failure.why}")

    def _keep_writing(self) -> None:
        while not self._ended.wait(EVERY):
            self._write()

    def _write(self) -> None:
        self._status.written, self._status.progress = time.time(), self._progress.words
        with suppress(OSError):
            put(self._path, json.dumps(asdict(self._status)).encode(), lasting=False)


def command() -> str:
    """The command that this process runs, as it was typed."""
    return shlex.join(sys.orig_argv)


def sweeps(root: Path) -> list[SweepStatus]:
    """The status of every sweep below `root`, the latest first."""
    return sorted((status for _, status in _files(root)), key=lambda status: status.began, reverse=True)


def _files(root: Path) -> Iterator[tuple[Path, SweepStatus]]:
    for path in (root / FOLDER).glob("*.json"):
        with suppress(OSError, ValueError, TypeError):  # removed meanwhile, or no status file
            yield path, SweepStatus(**json.loads(path.read_bytes()))
