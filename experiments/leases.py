"""Leases: a process tells others, on this machine or another, what it is at, in files of a folder that they share.

A lease is a file that only one process can create. Whoever holds it renews it, and it is over when its process is no
more, or when it was not renewed for a while. Nothing needs locks of the file system, and clocks need not agree.
"""

import errno
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

RENEW = 15.0  # seconds between two renewals
EXPIRY = 60.0  # seconds without renewal after which a lease is over
FULL = (errno.ENOSPC, errno.EDQUOT)  # no room for a file of a few bytes
LOOK = 0.01  # seconds between two looks whether a lease is free


@dataclass
class Leases:
    """The leases that this process holds in `folder`, or asks for."""

    folder: Path
    _held: set[str] = field(default_factory=set)
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)  # last renewal of another's, and when it was seen
    _ended: threading.Event = field(default_factory=threading.Event)

    def take(self, name: str) -> bool:
        """Whether this process now holds the lease `name`; not while another does.

        Where the file system refuses, as on a full disk, everyone holds it: leases spare work, and nothing more.
        """
        for _ in range(2):  # the second time after a lease that is over was taken away
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._create(name)
            except FileExistsError:
                if not self._took_away(name):
                    return False
            except OSError:
                return True
            else:
                self._held.add(name)
                return True
        return False

    def _create(self, name: str) -> None:
        """Make the file of a lease with what it says: a process that is killed here leaves none that nobody holds.

        Raises `FileExistsError`.
        """
        whole = self.folder / f"{_own(name)}.tmp"
        try:
            whole.write_text(json.dumps({"host": platform.node(), "pid": os.getpid()}), encoding="utf-8")
            os.link(whole, self._path(name))
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno in FULL:
                raise
            self._create_in_place(name)
        finally:
            with suppress(OSError):
                whole.unlink(missing_ok=True)

    def _create_in_place(self, name: str) -> None:
        """The same where there are no links: it is empty for a moment, and for a minute if this process ends then.

        Raises `OSError`, and leaves nothing, as on a disk that is full.
        """
        with self._path(name).open("x", encoding="utf-8"):
            pass
        try:
            self._path(name).write_text(json.dumps({"host": platform.node(), "pid": os.getpid()}), encoding="utf-8")
        except OSError:
            with suppress(OSError):
                self._path(name).unlink()
            raise

    def release(self, name: str) -> None:
        """Let others have it."""
        if name in self._held:
            self._held.discard(name)
            with suppress(OSError):
                self._path(name).unlink(missing_ok=True)

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew what is held every so often, and release all of it at the end."""
        threading.Thread(target=self._renew, daemon=True).start()
        try:
            yield
        finally:
            self._ended.set()
            for name in list(self._held):
                self.release(name)

    def _renew(self) -> None:
        while not self._ended.wait(RENEW):
            for name in list(self._held):
                with suppress(OSError):
                    os.utime(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.lease"

    def _took_away(self, name: str) -> bool:
        """Whether a lease is over and gone. Of several that take it away at once, one has it; a new one is put back."""
        path, aside = self._path(name), self._path(_own(name))
        try:
            seen = path.stat()
            if not self._is_over(name, path, seen.st_mtime_ns):
                return False
            path.rename(aside)
            if aside.stat().st_ino != seen.st_ino:
                os.link(aside, path)
            aside.unlink()
        except FileNotFoundError:  # released just now
            return True
        except OSError:
            return False
        return True

    def _is_over(self, name: str, path: Path, renewed: int) -> bool:
        """Whether the process of a lease ended here, or nobody renewed it for a while that this process watched."""
        try:
            holder = json.loads(path.read_bytes())
            if holder["host"] == platform.node() and not is_alive(holder["pid"]):
                return True
        except (ValueError, LookupError, TypeError):  # it is being written, or its writer was killed
            pass
        last, since = self._seen.setdefault(name, (renewed, time.monotonic()))
        if last != renewed:
            self._seen[name] = (renewed, time.monotonic())
            return False
        return time.monotonic() - since > EXPIRY


def _own(name: str) -> str:
    """A name that no other process and no other thread makes of `name`."""
    return f"{name}-{platform.node()}-{os.getpid()}-{threading.get_ident()}"


def is_alive(pid: int) -> bool:
    """Whether a process of this machine still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


@contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """No other process is here with the same `name` meanwhile; for what takes moments, as it is not renewed."""
    leases = Leases(folder)
    while not leases.take(name):
        time.sleep(LOOK)
    try:
        yield
    finally:
        leases.release(name)
