"""The journal of a session: one append-only sqlite file with one writer.

What a transaction wrote is on disk when `write` returns: the folder of the file is synchronised too
(`synchronous=EXTRA`).

- Table `journal` holds what is public: the header, tickets and releases, one row after the other, with checksums that
  form a chain, so that a row that was changed, removed or added is noticed; table `last` repeats the last one, for rows
  that are missing at the end. Damage is refused with one line that names the file and the row. A journal of another
  policy, domain or horizon is refused, too. Checksums find damage and are no signature: so no value is believed that is
  out of range, whoever wrote it. A review takes a header only if a session with these parameters would write the same.
- Table `secret_rewards` holds **rewards as they came: it is secret**. Each row has a checksum of its own, so that the
  chain has no trace of them. A new file can be read by its owner alone (mode 0600; `chmod 600` those of earlier
  versions). Encrypt the disk, and decide who else reads it: this package does not.
  `DELETE FROM secret_rewards; DELETE FROM secret_users; VACUUM;` in a copy makes one that can be published; without
  `VACUUM` sqlite may leave deleted rewards in the file.
- Table `secret_users` holds keyed hashes of users while their batches are open, see `bandits.deploy.users`. What is
  removed is overwritten in the file, and the file beside it (`-journal`), where sqlite keeps what it may have to
  restore, is made empty by each transaction. Blocks that a file system or a disk has freed, and copies of the file,
  may hold it longer: encrypt the disk.
- **Never go on from a backup, or from two copies.** The releases since then would be drawn again: an old copy and a new
  one spend twice. To start again, start with a new journal and new users, or add up (`on_same_users`).
- A restored copy looks like a journal. So write `session.head()` down after each `select`, outside of what a backup
  restores, before the tickets are used, and open with `Session(..., expect=head)`: a journal without that row is
  refused, also one that is empty or gone. Without `expect` the words of `spent()` say what is not known. It does not
  tell of two copies that both go on from the head, and of releases after the one that was written down.
- `Server` has `head()` and `expect=` too. There an old copy costs no privacy, as devices draw the noise, but it lacks
  messages.
- Table `snapshot` holds what followed from the rows when every 5,000th ticket was given out. Opening reads the rows
  after it, and the rewards of open batches. After 100,000 tickets that took 0.08 CPU seconds for DP-SE, 0.13 for
  DP-KLUCB and 0.38 for KLUCB-CF, where all rows took 1.5, 1.2 and 4.1 (`python -m scripts.bench.journals`). Rows before
  the snapshot are checked by the review below. It is never needed: without it (`DELETE FROM snapshot`) all is read, and
  one that cannot be written as JSON is left out.
- Every `select` and every `update` waits for the disk, a `select` that closes a batch twice, as its noise is on disk
  before the policy sees it; `select(n)` gives out n tickets at once. In memory are 8 bytes for each ticket whose reward
  may still come.
"""

import ctypes
import hashlib
import itertools
import json
import math
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from bandits.deploy.checks import shortened
from bandits.parameters import require

try:
    import fcntl
except ModuleNotFoundError:
    raise ImportError("bandits.deploy: a journal needs the file locks of Linux or macOS; on Windows use WSL") from None

FORMAT = 1  # raised when older files become unreadable
APPLICATION = 0x62616E64  # "band", which tells a journal from other sqlite files
IN_USE = "is in use by another session"
UNCLEAR = "an earlier error left it unclear what is on disk"
PART = 500  # rows that are read at a time
LEAST = -(2**63)  # before every number of a row
USERS = "ticket INTEGER PRIMARY KEY, user TEXT NOT NULL"
SNAPSHOT = "row INTEGER NOT NULL, last TEXT NOT NULL, state TEXT NOT NULL, checksum TEXT NOT NULL"
TABLES = """
CREATE TABLE journal (row INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TABLE last (row INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TABLE secret_rewards (ticket INTEGER PRIMARY KEY, steps INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TRIGGER rows_stay BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'rows are only appended'); END;
CREATE TRIGGER rows_are_fixed BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'rows are only appended'); END;
"""


class JournalError(Exception):
    """A journal cannot be used; the message is one line that names the file."""


class JournalRow(NamedTuple):
    """A row of the journal: the kind of an event, and its numbers."""

    kind: str
    body: Mapping[str, Any]


class Snapshot(NamedTuple):
    """The public state of a session after the first `row` rows; `last` is the checksum of the last of them."""

    row: int
    last: str
    state: Mapping[str, Any]


class Journal:
    """An open journal. Raises `JournalError` for a file that is not a journal, is damaged, or is in use.

    After an error it is unknown whether the last rows are on disk: the journal then refuses everything until it is
    opened again.
    """

    def __init__(self, path: Path | str) -> None:
        require(isinstance(path, str | Path), "journal", repr(path), "the path of a file")
        self.path = path
        self._refused = ""  # why it is not usable
        self._process, self._absolute = os.getpid(), Path(path).absolute()
        require_openable(path)
        self._unlock = self._locked()
        with self.guarded():
            self._file = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            _OPEN.add(self)
        try:
            with self.guarded():
                self._file.execute("PRAGMA locking_mode=EXCLUSIVE")  # until it is closed, not for a transaction alone
                self._file.execute("PRAGMA synchronous=EXTRA")
                self._file.execute("PRAGMA secure_delete=ON")  # what is removed is overwritten
                self._file.execute("PRAGMA journal_mode=TRUNCATE")  # and does not stay in the file beside it
                self._begin()
                self._place = self._only_name()
            self._last, self._checksum = self._read_last()
        except BaseException:
            self._file.close()
            self._unlock()
            raise

    def _locked(self) -> Callable[[], object]:
        """Lock the file, and return the function that unlocks it; no lock for a journal in memory.

        The locks of sqlite alone end as soon as this process closes the file anywhere, as after copying it.
        """
        if str(self.path) == ":memory:":
            return lambda: None
        try:
            descriptor = os.open(self._absolute, os.O_RDONLY | os.O_CREAT, 0o600)  # it holds rewards
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be opened: {error.strerror}") from None
        unlock = weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            unlock()
            busy = isinstance(error, BlockingIOError)
            raise JournalError(f"{self.path}: {IN_USE if busy else f'cannot be locked: {error.strerror}'}") from None
        return unlock

    def _only_name(self) -> tuple[int, int] | None:
        """Which file it is. A file with two names is refused: after a crash sqlite repairs it under one alone."""
        place = _place(self._absolute)
        if place is not None and self._absolute.stat().st_nlink > 1:
            raise JournalError(f"{self.path}: has another name (a hard link): remove one of them")
        return place

    def _begin(self) -> None:
        self._file.execute("BEGIN EXCLUSIVE")
        (application,) = self._file.execute("PRAGMA application_id").fetchone()
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and tables == 0:
            for statement in TABLES.strip().splitlines():
                self._file.execute(statement)
            self._file.execute("INSERT INTO last VALUES (0, '')")
            self._file.execute(f"PRAGMA application_id={APPLICATION}")
            self._file.execute(f"PRAGMA user_version={FORMAT}")
        elif application != APPLICATION:
            raise JournalError(f"{self.path}: is a database of something else, not a journal")
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version != FORMAT:
            raise JournalError(f"{self.path}: has format {version}, this version of bandits reads {FORMAT}")
        self._file.execute(f"CREATE TABLE IF NOT EXISTS snapshot ({SNAPSHOT}) STRICT")  # older journals have none
        self._file.execute(f"CREATE TABLE IF NOT EXISTS secret_users ({USERS}) STRICT")
        beside = Path(f"{self._absolute.resolve()}-journal")
        if beside.exists() and beside.stat().st_size:  # earlier versions, if killed, left what was removed there
            self._file.execute(f"PRAGMA user_version={FORMAT}")  # which changes nothing, and makes it empty
        self._file.execute("COMMIT")

    def rows(self, after: Snapshot | None = None) -> Iterator[JournalRow]:
        """All rows, or those after a snapshot, each with a checksum that fits, to the last one."""
        number, checksum, row = (0, "", LEAST) if after is None else (after.row, after.last, after.row)
        select = f"SELECT row, kind, body, checksum FROM journal WHERE row > ? ORDER BY row LIMIT {PART}"
        while part := self._fetched(select, row):
            for row, kind, body, stored in part:
                number += 1
                checksum = _checksum(checksum, number, kind, body)
                if (row, stored) != (number, checksum):
                    raise JournalError(f"{self.path}: row {number} of journal is damaged: its checksum does not fit")
                yield JournalRow(kind, self._parsed(body, f"row {number} of journal"))
        if (number, checksum) != (self._last, self._checksum):
            raise JournalError(f"{self.path}: row {number + 1} of journal is missing, or table last is damaged")

    def head(self) -> str:
        """The number and the checksum of the last row, which only this journal and what it becomes contain."""
        return f"{self._last}-{self._checksum}"

    def require_head(self, head: str) -> None:
        """Raise `JournalError` unless it contains the row of a `head` that was written down before."""
        number, _, checksum = head.partition("-")
        rows = self._fetched("SELECT checksum FROM journal WHERE CAST(row AS TEXT) = ?", number)
        if rows != [(checksum,)]:
            told = "an older copy, or another journal, is in its place"
            raise JournalError(f"{self.path}: does not contain the expected row {shortened(head)}: {told}")

    def _parsed(self, text: str, where: str) -> dict[str, Any]:
        """An object of JSON: a checksum can be computed by anybody, so that it proves nothing about the content."""
        try:
            content = json.loads(text, parse_constant=_finite, parse_float=_finite, parse_int=_of_64_bits)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise JournalError(f"{self.path}: {where} is no object of JSON")
        return content

    def _read_last(self) -> tuple[int, str]:
        last: list[tuple[int, str]] = self._fetched("SELECT row, checksum FROM last")
        if len(last) != 1:
            raise JournalError(f"{self.path}: table last is damaged")
        return last[0]

    def snapshot(self) -> Snapshot | None:
        """The last snapshot; None if there is none yet."""
        snapshots = self._fetched("SELECT row, last, state, checksum FROM snapshot")
        for row, last, state, checksum in snapshots:
            rows = self._fetched("SELECT checksum FROM journal WHERE row = ?", row)
            if rows != [(last,)] or len(snapshots) > 1 or checksum != _checksum(last, row, "snapshot", state):
                told = "without it (DELETE FROM snapshot) all rows are read"
                raise JournalError(f"{self.path}: table snapshot is damaged: its checksum does not fit; {told}")
            return Snapshot(row, last, self._parsed(state, "table snapshot"))
        return None

    def rewards(self) -> dict[int, int]:
        """All secret rewards, in steps, by ticket, each with a checksum that fits."""
        return dict(self._checked_rewards("SELECT ticket, steps, checksum FROM secret_rewards ORDER BY ticket"))

    def rewards_of(self, tickets: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The rewards of some tickets; a few at a time are in memory."""
        left = iter(tickets)
        while part := list(itertools.islice(left, PART)):
            places = ", ".join("?" * len(part))
            select = f"SELECT ticket, steps, checksum FROM secret_rewards WHERE ticket IN ({places})"
            yield from self._checked_rewards(select, *part)

    def _checked_rewards(self, select: str, *tickets: int) -> Iterator[tuple[int, int]]:
        for ticket, steps, checksum in self._fetched(select, *tickets):
            if checksum != _checksum("", ticket, "reward", str(steps)):
                raise JournalError(f"{self.path}: ticket {ticket} of secret_rewards is damaged: its checksum is wrong")
            yield ticket, steps

    def _fetched(self, statement: str, *values: Any) -> list[Any]:
        with self.guarded():
            return self._file.execute(statement, values).fetchall()

    def has_reward(self, ticket: int) -> bool:
        """Whether a reward of this ticket is on disk."""
        return bool(self._fetched("SELECT 1 FROM secret_rewards WHERE ticket = ?", ticket))

    def users(self) -> list[tuple[int, str]]:
        """The hashes of users in open batches, by ticket."""
        return self._fetched("SELECT ticket, user FROM secret_users ORDER BY ticket")

    def count(self, kind: str) -> int:
        """The number of rows of a kind, without a look at their checksums."""
        ((number,),) = self._fetched("SELECT count(*) FROM journal WHERE kind = ?", kind)
        return int(number)

    def write(
        self,
        rows: Sequence[JournalRow] = (),
        rewards: Mapping[int, int] | None = None,
        state: Mapping[str, Any] | None = None,
        users: Mapping[int, str | None] | None = None,
    ) -> None:
        """Append rows and rewards in one transaction: all of them are on disk when this returns, or none is.

        `state`, if given, is the state after these rows: it becomes the snapshot. `users` are hashes of users by
        ticket, None to remove one.
        """
        with self.guarded():
            self._require_place()
            self._file.execute("BEGIN EXCLUSIVE")
            last, checksum = self._last, self._checksum
            for kind, body in rows:
                text = _text(body)
                last, checksum = last + 1, _checksum(checksum, last + 1, kind, text)
                self._file.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", (last, kind, text, checksum))
            if rows:
                self._file.execute("UPDATE last SET row = ?, checksum = ?", (last, checksum))
            for ticket, steps in (rewards or {}).items():
                entry = (ticket, steps, _checksum("", ticket, "reward", str(steps)))
                self._file.execute("INSERT INTO secret_rewards VALUES (?, ?, ?)", entry)
            for ticket, user in (users or {}).items():
                if user is None:
                    self._file.execute("DELETE FROM secret_users WHERE ticket = ?", (ticket,))
                else:
                    self._file.execute("INSERT INTO secret_users VALUES (?, ?)", (ticket, user))
            if state is not None:
                text = _text(state)
                self._file.execute("DELETE FROM snapshot")
                snapshot = (last, checksum, text, _checksum(checksum, last, "snapshot", text))
                self._file.execute("INSERT INTO snapshot VALUES (?, ?, ?, ?)", snapshot)
            self._file.execute("COMMIT")
            self._last, self._checksum = last, checksum

    def _require_place(self) -> None:
        """Raise `JournalError` if another file is in its place: the next session would read that one."""
        if self._place != _place(self._absolute):
            raise JournalError(f"{self.path}: was moved, removed or replaced while it was open")

    def is_of_this_process(self) -> bool:
        """Whether it was opened in this process, and not before it was forked."""
        return self._process == os.getpid()

    def require_process(self) -> None:
        """Raise `JournalError` in a process that was forked since it was opened."""
        if not self.is_of_this_process():
            raise JournalError(f"{self.path}: was opened before this process was forked; open it after that")

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Refuse a journal that is closed, of another process, or left unclear by an earlier error."""
        self.require_process()
        if self._refused:
            raise JournalError(f"{self.path}: {self._refused}; open it again")
        yield

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Change memory and file in one step: after an error within it the journal is not usable."""
        with self.usable():
            try:
                yield
            except sqlite3.Error as error:
                self._refused = UNCLEAR
                busy = "locked" in str(error)
                raise JournalError(f"{self.path}: {IN_USE if busy else shortened(error)}") from None
            except UnicodeError:
                self._refused = UNCLEAR
                raise JournalError(f"{self.path}: is damaged: it holds bytes that are no text") from None
            except BaseException:
                self._refused = UNCLEAR
                raise

    def close(self) -> None:
        """Let another session open the file."""
        if not self.is_of_this_process():
            return
        if not self._refused:
            with suppress(sqlite3.Error):  # remove the empty file beside it, which does no harm
                self._file.execute("PRAGMA locking_mode=NORMAL")
                self._file.execute("PRAGMA journal_mode=DELETE")
        self._refused = self._refused or "was closed"
        self._file.close()
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def require_openable(path: Path | str) -> None:
    """Raise `JournalError` unless the path is one that a file can have, in a folder that is there."""
    if "\0" in str(path):
        raise JournalError(f"{str(path)!r}: cannot be opened: no name of a file has the character 0")
    try:
        if not Path(path).parent.is_dir():
            raise JournalError(f"{path}: cannot be opened: there is no folder {Path(path).parent}")
        if Path(path).is_dir():
            raise JournalError(f"{path}: is a folder, not a journal")
    except OSError as error:
        raise JournalError(f"{shortened(path)}: cannot be opened: {error.strerror}") from None


def _place(path: Path) -> tuple[int, int] | None:
    """Which file there is; None for a journal in memory, and if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _finite(number: str) -> float:
    if not math.isfinite(float(number)):
        raise ValueError(f"{number} is not finite")
    return float(number)


def _of_64_bits(number: str) -> int:
    if not -(2**63) <= int(number) < 2**63:
        raise ValueError(f"{number} has more than 64 bits")
    return int(number)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(before: str, number: int, kind: str, body: str) -> str:
    """A checksum of an entry and, through `before`, of all earlier entries; it finds damage and is no signature."""
    return hashlib.sha256(f"{before}\n{number}\n{kind}\n{body}".encode()).hexdigest()[:32]


_OPEN = weakref.WeakSet[Journal]()


def _leave_to_parent() -> None:
    """In a process that was just forked: never close the files of its parent, as that would remove its locks."""
    for journal in _OPEN:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(journal._file))
        journal._unlock()  # of this process; that of the parent stays


os.register_at_fork(after_in_child=_leave_to_parent)
