"""Leases: files in a shared folder that tell other processes, on any machine, what a process is working on.

A lease is a file that only one process can create. Its holder renews it; it expires when its process has ended, or when
it has not been renewed for a while. This needs no locks of the file system, and clocks need not agree.
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
EXPIRY = 60.0  # seconds without renewal after which a lease expires
FULL = (errno.ENOSPC, errno.EDQUOT)  # no room for a file of a few bytes
LOOK = 0.01  # seconds between two tries to take a lease


@dataclass
class Leases:
    """The leases that this process holds in `folder`, or tries to take."""

    folder: Path
    _held: set[str] = field(default_factory=set)
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)  # others' last renewals, and when first seen
    _ended: threading.Event = field(default_factory=threading.Event)

    def take(self, name: str) -> bool:
        """Try to take the lease `name`; whether this process now holds it. False while another holds it.

        If the file system refuses, as on a full disk, every process gets it: leases only avoid double work.
        """
        for _ in range(2):  # the second time after an expired lease was removed
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._create(name)
            except FileExistsError:
                if not self._remove_expired(name):
                    return False
            except OSError:
                return True
            else:
                self._held.add(name)
                return True
        return False

    def _create(self, name: str) -> None:
        """Create the file of a lease together with its content, so that a process killed here leaves no empty lease.

        Raises `FileExistsError`, and `OSError` if there is no space.
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
        """The same for file systems without hard links: the file is empty for a moment.

        If the process is killed in that moment, the lease only ends by `EXPIRY`. Raises `OSError`, and then leaves no
        file, as on a full disk.
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
        """Give the lease back, if this process holds it."""
        if name in self._held:
            self._held.discard(name)
            with suppress(OSError):
                self._path(name).unlink(missing_ok=True)

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew all leases that are held every `RENEW` seconds, and release them at the end."""
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

    def _remove_expired(self, name: str) -> bool:
        """Remove a lease if it has expired; whether it is gone.

        If several processes remove it at once, only one succeeds; a new lease, taken by another process meanwhile, is
        put back.
        """
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
        """Whether the process of a lease ended on this machine, or this process saw no renewal for `EXPIRY` seconds."""
        try:
            holder = json.loads(path.read_bytes())
            if holder["host"] == platform.node() and not is_alive(holder["pid"]):
                return True
        except (ValueError, LookupError, TypeError):  # it is being written, or its process was killed
            pass
        last, since = self._seen.setdefault(name, (renewed, time.monotonic()))
        if last != renewed:
            self._seen[name] = (renewed, time.monotonic())
            return False
        return time.monotonic() - since > EXPIRY


def _own(name: str) -> str:
    """A name made from `name` that is unique to this process and thread."""
    return f"{name}-{platform.node()}-{os.getpid()}-{threading.get_ident()}"


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is still running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


@contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Hold the lease `name`, waiting until it is free; only for what is quick, as it is not renewed."""
    leases = Leases(folder)
    while not leases.take(name):
        time.sleep(LOOK)
    try:
        yield
    finally:
        leases.release(name)
