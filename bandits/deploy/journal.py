"""The journal of a session: one append-only sqlite file with one writer.

Table `journal` holds what is public: the header, tickets, releases. Its checksums form a chain, so that a row that was
changed, removed or added is noticed; table `last` repeats the last one, for rows that are missing at the end. Table
`secret_rewards` holds rewards as they are; a checksum of its own in each row keeps all trace of them out of the chain.
What a transaction wrote is on disk when `write` returns: the folder of the file is synchronised too
(`synchronous=EXTRA`).
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from bandits.parameters import require

FORMAT = 1  # raised when older files become unreadable
APPLICATION = 0x62616E64  # "band", which tells a journal from other sqlite files
UNCLEAR = "an earlier error left it unclear what is on disk"
TABLES = """
CREATE TABLE journal (row INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TABLE last (row INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TABLE secret_rewards (ticket INTEGER PRIMARY KEY, steps INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT;
CREATE TRIGGER rows_stay BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'rows are only appended'); END;
CREATE TRIGGER rows_are_fixed BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'rows are only appended'); END;
"""


class JournalError(Exception):
    """A journal cannot be used; the message is one line that names the file."""


class Row(NamedTuple):
    """A row of the journal: the kind of an event, and its numbers."""

    kind: str
    body: Mapping[str, Any]


class Journal:
    """An open journal. Raises `JournalError` for a file that is not a journal, is damaged, or is in use.

    After an error it is unknown whether the last rows are on disk: the journal then refuses everything until it is
    opened again.
    """

    def __init__(self, path: Path | str) -> None:
        require(isinstance(path, str | Path), "journal", repr(path), "the path of a file")
        self.path = path
        self._refused = ""  # why it is not usable
        if not Path(path).parent.is_dir():
            raise JournalError(f"{path}: cannot be opened: there is no folder {Path(path).parent}")
        if Path(path).is_dir():
            raise JournalError(f"{path}: is a folder, not a journal")
        with self.guarded():
            self._file = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            with self.guarded():
                self._file.execute("PRAGMA locking_mode=EXCLUSIVE")  # until the end, not of a transaction alone
                self._file.execute("PRAGMA synchronous=EXTRA")
                self._begin()
            self._last, self._checksum = 0, ""
            self._rows = list(self._checked_rows())
        except BaseException:
            self._file.close()
            raise

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
        self._file.execute("COMMIT")
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version != FORMAT:
            raise JournalError(f"{self.path}: has format {version}, this version of bandits reads {FORMAT}")

    def rows(self) -> list[Row]:
        """The rows that it had when it was opened, each with a correct checksum."""
        return self._rows

    def _checked_rows(self) -> Iterator[Row]:
        with self.guarded():
            found = self._file.execute("SELECT kind, body, checksum FROM journal ORDER BY row").fetchall()
            ends = self._file.execute("SELECT row, checksum FROM last").fetchall()
        for number, (kind, body, checksum) in enumerate(found, 1):
            if checksum != _checksum(self._checksum, number, kind, body):
                raise JournalError(f"{self.path}: row {number} of journal is damaged: its checksum does not fit")
            self._last, self._checksum = number, checksum
            yield Row(kind, json.loads(body))
        if ends != [(self._last, self._checksum)]:
            raise JournalError(f"{self.path}: row {self._last + 1} of journal is missing, or table last is damaged")

    def rewards(self) -> dict[int, int]:
        """The secret rewards, in steps, by ticket."""
        with self.guarded():
            found = self._file.execute("SELECT ticket, steps, checksum FROM secret_rewards ORDER BY ticket").fetchall()
        for ticket, steps, checksum in found:
            if checksum != _checksum("", ticket, "reward", str(steps)):
                raise JournalError(f"{self.path}: ticket {ticket} of secret_rewards is damaged: its checksum is wrong")
        return {ticket: steps for ticket, steps, _ in found}

    def has_reward(self, ticket: int) -> bool:
        """Whether a reward of this ticket is on disk."""
        with self.guarded():
            found = self._file.execute("SELECT 1 FROM secret_rewards WHERE ticket = ?", (ticket,)).fetchone()
        return found is not None

    def write(self, rows: Sequence[Row] = (), rewards: Mapping[int, int] | None = None) -> None:
        """Append rows and rewards in one transaction: all of them are on disk when this returns, or none is."""
        with self.guarded():
            self._file.execute("BEGIN EXCLUSIVE")
            last, checksum = self._last, self._checksum
            for kind, body in rows:
                text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
                last, checksum = last + 1, _checksum(checksum, last + 1, kind, text)
                self._file.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", (last, kind, text, checksum))
            if rows:
                self._file.execute("UPDATE last SET row = ?, checksum = ?", (last, checksum))
            for ticket, steps in (rewards or {}).items():
                entry = (ticket, steps, _checksum("", ticket, "reward", str(steps)))
                self._file.execute("INSERT INTO secret_rewards VALUES (?, ?, ?)", entry)
            self._file.execute("COMMIT")
            self._last, self._checksum = last, checksum

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Refuse a journal that is closed, or whose content on disk is unknown after an earlier error."""
        if self._refused:
            raise JournalError(f"{self.path}: {self._refused}; open it again")
        yield

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Changes of memory and file as one step: after an error within it the journal is not usable."""
        with self.usable():
            try:
                yield
            except sqlite3.Error as error:
                self._refused = UNCLEAR
                busy = "locked" in str(error)
                raise JournalError(f"{self.path}: {'is in use by another session' if busy else error}") from None
            except BaseException:
                self._refused = UNCLEAR
                raise

    def close(self) -> None:
        """Let another session open the file."""
        self._refused = self._refused or "was closed"
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _checksum(before: str, number: int, kind: str, body: str) -> str:
    """A checksum of an entry and, by `before`, of all entries before it; it finds damage, it is no signature."""
    return hashlib.sha256(f"{before}\n{number}\n{kind}\n{body}".encode()).hexdigest()[:32]
