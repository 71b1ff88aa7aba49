"""What a session and a server have in common: one journal, which one call at a time of one process may change."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock, get_ident
from typing import Any, Self

import numpy as np

from bandits.deploy.checks import budget
from bandits.deploy.journal import JournalError
from bandits.deploy.spending import Spent
from bandits.deploy.tickets import open_journal


class Journaled(ABC):
    """A learner with a journal. A worker that was forked, and a call in the middle of another one, are refused."""

    def __init__(self, header: dict[str, Any], journal: Path | str, expect: str | None) -> None:
        self._header, self._anchored = header, expect is not None
        self._rng = np.random.default_rng(secrets.randbits(128))  # of arms, for Thompson sampling; never of noise
        self._lock, self._calling = RLock(), 0  # the thread whose call has the lock
        self._journal = open_journal(journal, expect)
        try:
            self._restore()
        except BaseException:
            self._journal.close()
            raise

    @abstractmethod
    def _restore(self) -> None:
        """Begin the journal, or go on from it."""

    @abstractmethod
    def spent(self) -> Spent:
        """What was spent of one user so far, and is at most."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other call read or change the state during the block.

        Raises `JournalError` in a process that was forked, before it could wait for a lock that nobody opens there,
        and for a call of a signal handler, which interrupts this thread in the middle of the block.
        """
        self._journal.require_process()
        if self._calling == get_ident():
            told = "was called in the middle of another call: let a signal handler set a flag, and call after it"
            raise JournalError(f"{self._journal.path}: {told}")
        with self._lock:
            self._calling = get_ident()
            try:
                with self._journal.usable():
                    yield
            finally:
                self._calling = 0

    def head(self) -> str:
        """The head of the journal, with all that was returned so far: for `expect`. It is public.

        Write it down elsewhere before tickets are used, and of two the one with the larger number before the "-".
        """
        with self._alone():
            return self._journal.head()

    def would_exceed(self, epsilon: float) -> bool:
        """Whether this learner, to its end, spends more than `epsilon` of the privacy of one user; zCDP has none."""
        return self.spent().most > budget(epsilon)

    def close(self) -> None:
        """Let another process open the journal. Nothing is lost without it."""
        if self._journal.is_of_this_process():
            with self._lock:  # which a signal handler may pass: what it interrupts is then refused, and not on disk
                self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
