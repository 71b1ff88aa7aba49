"""How many rewards of one user count in batches that are open together, without a name of the user on disk.

A user is known by a hash with a key that the operator keeps elsewhere: without it nobody can try names. The hash of a
reward is kept while its batch is open, as a restart must not forget it. The transaction that releases the batch
removes it, overwrites its place in the file, and makes the file beside it (`-journal`) empty. Blocks that the file
system has freed, or a disk that writes elsewhere, may hold it until they are used again.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from bandits.deploy.checks import is_unicode, shortened
from bandits.deploy.journal import Journal, JournalError
from bandits.parameters import require

SHORTEST, LONGEST = 16, 64  # bytes of a key
LONGEST_USER = 1000  # characters
ABOUT_KEY = "private-bandits: the key of users"  # its hash says in a header which key it is


def key_mark(key: Any) -> str | None:
    """What a header says of a key: a hash that only who has the key could make; None without one."""
    if key is None:
        return None
    allowed = isinstance(key, bytes) and SHORTEST <= len(key) <= LONGEST
    require(
        allowed, "user_key", type(key).__name__, f"{SHORTEST} to {LONGEST} random bytes, as secrets.token_bytes(32)"
    )
    return _hashed(ABOUT_KEY, key)


def require_mark(mark: Any) -> None:
    """Raise `ParameterError` for what is no mark of a key."""
    allowed = isinstance(mark, str) and re.fullmatch("[0-9a-f]{32}", mark)
    require(bool(allowed), "user_key", shortened(repr(mark)), "a hash of the key")


def _hashed(text: str, key: bytes) -> str:
    return hashlib.blake2b(text.encode(), key=key, digest_size=16).hexdigest()


class Users:
    """The users of the rewards in open batches. Raises `JournalError` for a journal in which one has too many."""

    def __init__(self, key: bytes | None, most: int) -> None:
        self._key, self._most = key, most
        self._of = dict[int, str]()  # user of each reward
        self._rewards = Counter[str]()

    def restore(self, journal: Journal, tickets: Iterable[int]) -> None:
        """Take what a journal has of the tickets whose batches are open."""
        unknown = set(tickets)
        for ticket, user in journal.users():
            if ticket not in unknown or not re.fullmatch("[0-9a-f]{32}", user) or self._key is None:
                raise JournalError(f"{journal.path}: ticket {ticket} of secret_users is damaged")
            self.count(ticket, user)
        if any(count > self._most for count in self._rewards.values()):
            raise JournalError(f"{journal.path}: a user in secret_users has more than {self._most} rewards")

    def checked(self, user: Any) -> str | None:
        """The hash of a user; None without a key. Raises `ParameterError` for what is no user."""
        if self._key is None:
            require(user is None, "user", shortened(repr(user)), "left out, as the session has no user_key")
            return None
        allowed = isinstance(user, str) and 0 < len(user) <= LONGEST_USER and is_unicode(user)
        require(allowed, "user", shortened(repr(user)), f"a text of 1 to {LONGEST_USER} characters that names the user")
        return _hashed(user, self._key)

    def is_full(self, user: str | None) -> bool:
        """Whether this user has as many rewards in open batches as may count."""
        return user is not None and self._rewards[user] >= self._most

    def count(self, ticket: int, user: str | None) -> None:
        """Note the user of a reward."""
        if user is not None:
            self._of[ticket] = user
            self._rewards[user] += 1

    def forget(self, tickets: Iterable[int]) -> list[int]:
        """Forget the users of tickets whose batch is closed; returns those that had one."""
        closed = [ticket for ticket in tickets if ticket in self._of]
        for ticket in closed:
            user = self._of.pop(ticket)
            self._rewards[user] -= 1
            if not self._rewards[user]:
                del self._rewards[user]
        return closed
