"""Locks of a folder of results, also where the file system has none, or where processes were killed."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest

from experiments.store import locks
from experiments.store.locks import Locks, alone

TAKE = """
import fcntl, sys, time
from pathlib import Path
from experiments.store.locks import Locks
def refuse(*_):
    raise OSError(37, "No locks available")
if sys.argv[2] == "leases":
    fcntl.flock = refuse
mine = Locks(Path(sys.argv[1]))
print(mine.take("a"), flush=True)
time.sleep(30)
"""
LEASE = "filelock/2\npid=1\nhost=elsewhere\nmode=lease\ntoken=1\nduration=60.0\n"


def refuse(*_, **__):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.fixture(params=["locks", "leases"])
def kind(request, monkeypatch):
    """A file system with locks, and one without."""
    if request.param == "leases":
        monkeypatch.setattr(fcntl, "flock", refuse)
    return request.param


@pytest.mark.usefixtures("kind")
def test_a_lock_has_one_holder_until_it_is_released(tmp_path):
    one, other = Locks(tmp_path), Locks(tmp_path)
    assert one.take("a")
    assert not other.take("a")
    assert other.take("b")
    other.release("a")  # a lock that it does not have
    assert not other.take("a")
    one.release_all()
    assert other.take("a")
    assert not one.take("b")
    other.release_all()
    assert one.take("b")


@pytest.mark.usefixtures("kind")
def test_no_file_remains_of_a_lock_that_was_given_back(tmp_path):
    """There may be as many as cells."""
    mine = Locks(tmp_path)
    mine.take("a")
    assert list((tmp_path / ".locks").iterdir())
    mine.release("a")
    assert list((tmp_path / ".locks").iterdir()) == []


@pytest.mark.slow
def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path, kind):
    words = [sys.executable, "-c", TAKE, str(tmp_path), kind]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "True\n"
        mine = Locks(tmp_path)
        assert not mine.take("a")
        process.kill()
        process.wait()
        assert mine.take("a")


def test_a_file_that_a_killed_process_left_empty_blocks_nobody_for_ever(tmp_path, kind):
    """It was killed after it had made the file, before its name was in it."""
    folder = tmp_path / ".locks"
    folder.mkdir()
    for name in ("a.lock", "a.lease"):
        (folder / name).touch()
    mine = Locks(tmp_path)
    assert mine.take("a") == (kind == "locks"), "the system knows that nobody has it; else it may be written just now"
    long_ago = time.time() - locks.EXPIRY - 1
    os.utime(folder / "a.lease", (long_ago, long_ago))
    assert kind == "locks" or mine.take("a")


def test_a_lease_of_another_machine_ends_if_it_is_not_renewed(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    (tmp_path / ".locks").mkdir()
    file = tmp_path / ".locks" / "a.lease"
    file.write_text(LEASE)
    mine = Locks(tmp_path)
    assert not mine.take("a")
    now[0] += locks.EXPIRY - 1
    os.utime(file, (1, 1))  # renewed by a machine whose clock is far behind
    assert not mine.take("a")
    now[0] += locks.EXPIRY - 1
    assert not mine.take("a")
    now[0] += 2
    assert mine.take("a")


def test_where_nothing_can_be_locked_everybody_goes_on(tmp_path):
    """A full disk, or a folder that cannot be written: nobody waits for a lock that nobody can have."""
    (tmp_path / ".locks").write_text("in the way")
    assert Locks(tmp_path).take("a")
    assert Locks(tmp_path).take("a")


@pytest.mark.usefixtures("kind")
def test_what_is_done_alone_waits_for_the_other(tmp_path):
    order = []

    def other():
        with alone(tmp_path, "a"):
            order.append("other")

    with alone(tmp_path, "a"):
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.1)
        order.append("one")
    thread.join(timeout=60)
    assert order == ["one", "other"]
