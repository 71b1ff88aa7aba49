"""Tickets of a session, and its public state: it follows from the journal, without rewards and noise."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from bandits.deploy.checks import is_integer
from bandits.deploy.journal import JournalError, Row
from bandits.parameters import require
from bandits.policies.base import Policy
from bandits.policies.batched import BatchedRun


class Ticket(NamedTuple):
    """A pull that was given out: its number, counted from 1, and its arm."""

    number: int
    arm: int


class Outcome(StrEnum):
    """The outcome of a reward.

    COUNTED: it is on disk, and enters the sum of its batch.
    REPEATED: its ticket has a reward already, which stays.
    UNUSED: it came after its batch was closed, or its ticket is of a pull from which nothing is learned; nothing was
        kept of it.
    """

    COUNTED = "counted"
    REPEATED = "repeated"
    UNUSED = "unused"


class Progress:
    """The public state of a session. It changes by rows of its journal alone, so that a restored one is the same.

    Rows: `pull` and `wait` give out tickets, as pairs of an arm and a number of pulls in a row; those of `wait` are
    given while batches that are due wait for rewards, and are not learned from. `release` closes the batches that are
    due.

    Attributes
    ----------
    issued: tickets that were given out.
    pulls: those that count as steps of the policy; the others were given while it waited.
    waited: tickets since batches became due.
    open: the arm of every ticket whose batch is open.
    released: noisy numbers so far.
    """

    def __init__(self, run: BatchedRun) -> None:
        self.run = run
        self.issued = self.pulls = self.waited = self.released = 0
        self.open: dict[int, int] = {}
        self._of: dict[int, list[int]] = {}

    def pull(self, arm: int) -> Ticket:
        """Give out a ticket of the policy."""
        self.issued += 1
        self.pulls += 1
        if self.run.learning:
            self.open[self.issued] = arm
            self._of.setdefault(arm, []).append(self.issued)
        self.run.pull(arm)
        return Ticket(self.issued, arm)

    def wait(self) -> Ticket:
        """Give out a ticket while batches are due: their arms in turn."""
        arm = self.run.due[self.waited % len(self.run.due)]
        self.issued += 1
        self.waited += 1
        return Ticket(self.issued, arm)

    def batch(self, arm: int) -> list[int]:
        """The tickets of the open batch of an arm."""
        return self._of[arm]

    def release(self, steps: list[int]) -> None:
        """Close the batches that are due, with noisy sums in steps of the grid."""
        grid, due = self.run.grid, self.run.due
        for arm in due:
            for ticket in self._of.pop(arm):
                del self.open[ticket]
        self.waited = 0
        self.released += len(due)
        self.run.absorb([total / grid for total in steps])

    def follow(self, row: Row) -> None:
        """Do what a row says. Raises `ValueError` for a row that this policy would not have written."""
        if row.kind == "release":
            if list(self.run.due) != row.body["arms"]:
                raise ValueError(f"arms {row.body['arms']} are released, {list(self.run.due)} are due")
            self.release(row.body["steps"])
            return
        if row.kind not in ("pull", "wait"):
            raise ValueError(f"unknown kind {row.kind}")
        for arm, count in row.body["arms"]:
            for _ in range(count):
                self._expect(row.kind, arm)

    def _expect(self, kind: str, arm: int) -> None:
        if (kind == "wait") is not bool(self.run.due):
            raise ValueError(f"{kind} while arms {list(self.run.due)} are due")
        if kind == "wait":
            given = self.wait().arm
        else:
            given = arm if self.run.draws_arms else self.run.next_arm(np.random.default_rng(0))
            self.pull(arm)
        if given != arm:
            raise ValueError(f"arm {arm} was pulled, and this policy pulls {given}")


class Public(Protocol):
    """The public state of a session, which changes by the rows of its journal alone."""

    def follow(self, row: Row) -> None: ...


def replay(state: Public, rows: list[Row], path: object) -> Iterator[Row]:
    """Follow the rows of a journal after its header; yields each before it is followed.

    Raises `JournalError` for a row that does not fit the policy.
    """
    for number, row in enumerate(rows[1:], 2):
        yield row
        try:
            state.follow(row)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise JournalError(f"{path}: row {number} of journal does not fit the policy: {error}") from None


def note(rows: list[Row], kind: str, ticket: Ticket) -> None:
    """Add a ticket to the last of `rows`, or to a new one: its arm, and how often that comes in a row."""
    if not rows or rows[-1].kind != kind:
        rows.append(Row(kind, {"arms": []}))
    runs = rows[-1].body["arms"]
    if runs and runs[-1][0] == ticket.arm:
        runs[-1][1] += 1
    else:
        runs.append([ticket.arm, 1])


def checked_ticket(ticket: int, issued: int) -> int:
    """The number of a ticket. Raises `ParameterError` for one that was never given out."""
    given = is_integer(ticket) and 1 <= ticket <= issued
    require(given, "ticket", repr(ticket), f"the number of one of the {issued} tickets that were given out")
    return int(ticket)


def described(policy: Policy) -> dict[str, Any]:
    """A policy as plain data: its class and its parameters."""
    assert is_dataclass(policy)
    cls = type(policy)
    return {
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "fields": {field.name: getattr(policy, field.name) for field in fields(policy) if field.init},
    }


def require_header(rows: list[Row], header: Mapping[str, Any], path: object) -> None:
    """Raise `JournalError` unless a journal is of the same session, naming the first thing that differs."""
    if not rows or rows[0].kind != "header":
        raise JournalError(f"{path}: row 1 of journal is not a header")
    known, header = _flat(rows[0].body), _flat(json.loads(json.dumps(header)))  # tuples are lists there
    for key in [*header, *known]:
        if known.get(key) != header.get(key):
            raise JournalError(f"{path}: is of another session: {key} is {known.get(key)}, not {header.get(key)}")


def _flat(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header with the parameters of its policy one by one, after its class: `policy`, `policy.epsilon`, ..."""
    flat = dict[str, Any]()
    for key, value in header.items():
        if key == "policy" and isinstance(value, Mapping) and isinstance(value.get("fields"), Mapping):
            flat[key] = value.get("class")
            flat |= {f"{key}.{field}": one for field, one in value["fields"].items()}
        else:
            flat[key] = value
    return flat
