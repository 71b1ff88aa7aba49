"""Locks of a folder of results that several processes, on one machine or many, may fill: filelock's, a file for each.

The system releases a lock as soon as its process has ended, in whatever way. Where the file system has no such locks, a
lease of filelock's takes their place: its holder renews it, and it ends `EXPIRY` seconds after that.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import BaseFileLock, SoftFileLease, Timeout, UnixFileLock

FOLDER = ".locks"
EXPIRY = 60.0  # seconds without renewal after which a lease ends
LOOK = 0.01  # seconds between two tries to take a lock


@dataclass
class Locks:
    """The locks below `root`, a folder of results, that this process has taken."""

    root: Path
    _taken: dict[str, BaseFileLock] = field(default_factory=dict)
    _leases: dict[str, SoftFileLease] = field(default_factory=dict)  # kept, as they remember when others renewed theirs

    def take(self, name: str) -> bool:
        """Try to take the lock `name`; whether this process now has it. False while another has it.

        If the file system refuses leases too, as on a full disk, every process gets it. Then work may be done twice,
        and of two processes that write the same cell or pack at once the last one decides what is kept: files are
        whole, but replications that the other has added may be lost.
        """
        path = self.root / FOLDER / name
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        for lock_at in (_lock, self._lease):
            try:
                lock = lock_at(path)
                lock.acquire(blocking=False)
            except Timeout:
                return False
            except OSError:
                continue
            self._taken[name] = lock
            break
        return True

    def _lease(self, path: Path) -> SoftFileLease:
        """The lease at this path; an empty file is removed, which filelock would leave if its process was killed."""
        file = path.with_name(f"{path.name}.lease")
        with suppress(OSError):
            about = file.stat()
            if not about.st_size and time.time() - about.st_mtime > EXPIRY:
                file.unlink()
        if path.name not in self._leases:
            self._leases[path.name] = SoftFileLease(file, lease_duration=EXPIRY, thread_local=False)
        return self._leases[path.name]

    def release(self, name: str) -> None:
        """Give the lock back, if this process has it."""
        lock = self._taken.pop(name, None)
        if lock is not None:
            with suppress(OSError):  # whoever has opened the file notices that it is gone
                (self.root / FOLDER / f"{name}.lock").unlink(missing_ok=True)
            with suppress(OSError):
                lock.release()

    def release_all(self) -> None:
        """Give back every lock that this process has taken."""
        for name in list(self._taken):
            self.release(name)


def _lock(path: Path) -> UnixFileLock:
    return UnixFileLock(path.with_name(f"{path.name}.lock"), thread_local=False, fallback_to_soft=False)


@contextmanager
def alone(root: Path, name: str) -> Iterator[None]:
    """Have the lock `name` of a folder of results, waiting until it is free; only for what is quick."""
    locks = Locks(root)
    while not locks.take(name):
        time.sleep(LOOK)
    try:
        yield
    finally:
        locks.release(name)
