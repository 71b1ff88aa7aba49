"""Tickets of a session, and its public state, which follows from the journal without rewards and noise."""

import itertools
import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_type_hints

import numpy as np

from bandits.deploy.checks import (
    is_integer,
    only,
    pulls_in_a_row,
    require_type,
    shortened,
    whole_at_least,
    whole_numbers,
)
from bandits.deploy.journal import Journal, JournalError, JournalRow, Snapshot, require_openable
from bandits.parameters import ParameterError, require, require_arms
from bandits.policies.base import Policy, require_arm
from bandits.policies.batched import BatchedRun


class Ticket(NamedTuple):
    """A pull that was given out: its number, counted from 1, and its arm.

    `bound` is for devices that truncate rewards (`TruncatingClient`), and None for all others. `name` is that of the
    arm, None unless arms have names.
    """

    number: int
    arm: int
    bound: float | None = None
    name: str | None = None


class Outcome(StrEnum):
    """The outcome of a reward.

    COUNTED: it is on disk, and enters the sum of its batch.
    REPEATED: its ticket has a reward already, which stays.
    UNUSED: it came after its batch was closed, or the policy does not learn from its pull; it was not stored.
    EXCESS: its user has `contributions` rewards in open batches already; it was not stored.
    """

    COUNTED = "counted"
    REPEATED = "repeated"
    UNUSED = "unused"
    EXCESS = "excess"


class OpenTickets:
    """Tickets whose rewards may still come, in ascending order for every arm; 8 bytes each."""

    def __init__(self) -> None:
        self._of: dict[int, array[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self._of.values())

    def of(self, arm: int) -> Sequence[int]:
        """The open tickets of one arm."""
        return self._of.get(arm, ())

    def arm_of(self, ticket: int) -> int | None:
        """The arm of a ticket; None if it is not open."""
        return next((arm for arm, tickets in self._of.items() if _place(tickets, ticket) is not None), None)

    def add(self, ticket: Ticket) -> None:
        self._of.setdefault(ticket.arm, array("q")).append(ticket.number)

    def remove(self, ticket: int, arm: int) -> None:
        del self._of[arm][bisect_left(self._of[arm], ticket)]

    def close(self, arm: int) -> None:
        """Remove the tickets of one arm."""
        del self._of[arm]

    def saved(self) -> list[tuple[int, list[int]]]:
        return [(arm, tickets.tolist()) for arm, tickets in sorted(self._of.items())]

    def restore(self, saved: Iterable[tuple[int, list[int]]]) -> None:
        self._of = {arm: array("q", tickets) for arm, tickets in saved}


def _place(tickets: Sequence[int], ticket: int) -> int | None:
    """The index of a ticket in `tickets`, which ascend; None if it is not there."""
    place = bisect_left(tickets, ticket)
    return place if place < len(tickets) and tickets[place] == ticket else None


class SessionProgress:
    """The public state of a session. Only rows of its journal change it, so that a restored state is the same.

    Rows: `pull` and `wait` give out tickets, as pairs of an arm and a number of pulls in a row; the policy does not
    learn from those of `wait`, which are given while batches that are due wait for rewards. `release` closes the
    batches that are due.

    Attributes
    ----------
    issued: tickets that were given out.
    pulls: tickets that count as steps of the policy; the others were given while it waited.
    waited: tickets since batches became due.
    open: the tickets whose batches are open.
    released: noisy numbers so far.
    unsaved: tickets since the last snapshot.
    """

    _COUNTS = ("issued", "pulls", "waited", "released")

    def __init__(self, run: BatchedRun, arms: int, horizon: int, patience: int, wait_always: bool = False) -> None:
        self.run, self.arms, self.horizon, self.patience, self.wait_always = run, arms, horizon, patience, wait_always
        self.issued = self.pulls = self.waited = self.released = self.unsaved = 0
        self.open = OpenTickets()

    @property
    def most_waits(self) -> int:
        """Tickets that can be given out while batches are due: those of the last `select` come after the patience."""
        return self.patience + self.horizon

    @property
    def may_close(self) -> bool:
        """Whether batches that are due can be closed whatever has come: after their patience, and at the horizon."""
        return self.waited >= self.patience or self.pulls == self.horizon

    def next_arm(self, rng: np.random.Generator) -> int:
        """The choice of the policy. Raises `ValueError` for what is no arm, which no journal may hold."""
        arm = self.run.next_arm(rng)
        require_arm(arm, self.arms, self.pulls + 1)
        return int(arm)

    def pull(self, arm: int) -> Ticket:
        """Give out a ticket of the policy."""
        self.pulls += 1
        ticket = self._issue(arm)
        if self.run.learning:
            self.open.add(ticket)
        self.run.pull(arm)
        return ticket

    def _issue(self, arm: int) -> Ticket:
        self.issued += 1
        self.unsaved += 1
        return Ticket(self.issued, arm)

    def wait(self) -> Ticket:
        """Give out a ticket while batches are due: their arms in turn."""
        arm = int(self.run.due[self.waited % len(self.run.due)])
        self.waited += 1
        return self._issue(arm)

    def release(self, steps: list[int]) -> None:
        """Close the batches that are due, with noisy numbers in steps of the grid."""
        grid = self.run.grid
        for arm in self.run.due:
            self.open.close(arm)
        self.waited = 0
        self.released += len(steps)
        self.run.absorb([total / grid for total in steps])

    def saved(self) -> dict[str, Any] | None:
        """The whole state, as plain data for `restore`; None if the policy does not save its runs."""
        run = self.run.saved()
        counts = {name: getattr(self, name) for name in self._COUNTS}
        return None if run is None else {"run": run, "open": self.open.saved(), **counts}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Set a new state to the one that was saved."""
        self.run.restore(saved["run"])
        self.open.restore(saved["open"])
        for name in self._COUNTS:
            setattr(self, name, saved[name])
        allowed = all(is_integer(saved[name]) and saved[name] >= 0 for name in self._COUNTS)
        if not allowed or self.pulls > min(self.horizon, self.issued) or self.waited > self.most_waits:
            raise ValueError("its numbers of tickets are out of range")

    def follow(self, row: JournalRow) -> None:
        """Do what a row says. Raises `ValueError` for a row that this policy would not have written."""
        if row.kind == "release":
            self._follow_release(row.body)
            return
        if row.kind not in ("pull", "wait"):
            raise ValueError(f"unknown kind {row.kind}")
        left = self.most_waits - self.waited if row.kind == "wait" else self.horizon - self.pulls
        for arm, count in pulls_in_a_row(row.body, self.arms, left):
            for _ in range(count):
                self._expect(row.kind, arm)

    def _follow_release(self, body: Mapping[str, Any]) -> None:
        only(body, "arms", "steps", "missing")
        arms, steps, due = whole_numbers(body["arms"]), whole_numbers(body["steps"]), list(self.run.due)
        if not due or arms != due:
            raise ValueError(f"arms {shortened(arms)} are released, {due} are due")
        if len(steps) != len(self.run.numbers_of([0] * len(due))) or not all(-MOST <= total < MOST for total in steps):
            raise ValueError(f"{shortened(steps)} are no noisy sums of {len(due)} arms")
        if ("missing" in body) is self.wait_always:
            raise ValueError("the number of missing rewards is in a release unless wait_always")
        if self.wait_always and not self.may_close:
            raise ValueError(f"the batches of arms {due} waited for {self.waited} tickets alone")
        (missing,), most = whole_numbers([body.get("missing", 0)]), sum(len(self.open.of(arm)) for arm in due)
        if not 0 <= missing <= most:
            raise ValueError(f"{shortened(missing)} rewards are missing of {most}")
        self.release(steps)

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

    unsaved: int

    def follow(self, row: JournalRow) -> None: ...
    def saved(self) -> dict[str, Any] | None: ...
    def restore(self, saved: Mapping[str, Any]) -> None: ...


EVERY = 5_000  # tickets and reports between two snapshots
MOST_ARMS = 10**6  # which are in memory one by one
LONGEST_NAME = 100  # characters of the name of an arm
MOST = 2**63  # noisy sums are drawn in 64 bits
# What rows and snapshots of another policy raise, or those of nobody.
UNFIT = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)


def snapshot_of(state: Public) -> dict[str, Any] | None:
    """The snapshot to write with the next rows; None if none is due yet, and for a state that JSON has no words for.

    It is never needed, so that no such policy may end a session.
    """
    if state.unsaved < EVERY:
        return None
    state.unsaved = 0
    saved = state.saved()
    try:
        json.dumps(saved, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return saved


def restore(state: Public, journal: Journal, header: Mapping[str, Any]) -> None:
    """Begin a journal, or go on from its last snapshot and the rows after that.

    Raises `JournalError` for a journal that is damaged, of another session, or does not fit the policy.
    """
    path, rows, number = journal.path, journal.rows(), 2
    first = next(rows, None)
    if first is None:
        journal.write([JournalRow("header", header)])
        return
    require_header(first, header, path)
    if snapshot := journal.snapshot():
        try:
            state.restore(snapshot.state)
        except UNFIT as error:
            raise JournalError(f"{path}: table snapshot does not fit the policy: {told(error)}") from None
        rows, number = journal.rows(snapshot), snapshot.row + 1
    for _ in replay_rows(state, rows, path, number):
        pass


def replay_rows(
    state: Public, rows: Iterable[JournalRow], path: object, first: int = 2, snapshot: Snapshot | None = None
) -> Iterator[JournalRow]:
    """Follow rows of a journal, from number `first`, after its header; yields each before it is followed.

    Raises `JournalError` for a row, or a snapshot, that does not fit the policy and the rows before it.
    """
    for number, row in enumerate(rows, first):
        yield row
        try:
            state.follow(row)
        except Exception as error:  # of a policy from elsewhere anything
            raise JournalError(f"{path}: row {number} of journal does not fit the policy: {told(error)}") from None
        if snapshot and snapshot.row == number and snapshot.state != json.loads(json.dumps(state.saved())):
            raise JournalError(f"{path}: table snapshot does not follow from the {number} rows before it")


def told(error: Exception) -> str:
    """An error of a file in one line."""
    return f"there is no {error}" if isinstance(error, KeyError) else shortened(error)


def note(rows: list[JournalRow], kind: str, ticket: Ticket) -> None:
    """Add a ticket to the last of `rows`, or to a new row: its arm, and the number of pulls of it in succession."""
    if not rows or rows[-1].kind != kind:
        rows.append(JournalRow(kind, {"arms": []}))
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
    """A policy as plain data: its class and its parameters.

    Raises `ParameterError` for values that are not of the type of their field, which a review would refuse, and for
    those that a journal cannot hold, such as numbers of other types, whose meaning depends on their use.
    """
    require(is_dataclass(policy), "policy", repr(policy), "a dataclass of its parameters")
    assert is_dataclass(policy)
    cls, values = type(policy), {field.name: getattr(policy, field.name) for field in fields(policy) if field.init}
    hints = get_type_hints(cls)
    for name, value in values.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ParameterError(name, f"must be a finite int or float, a text, or a list, got {value!r}") from None
        require_type(value, hints[name], name)
    return {"class": f"{cls.__module__}.{cls.__qualname__}", "fields": values}


def shared_header(policy: Policy, arms: int | Sequence[str], horizon: int, contributions: int) -> dict[str, Any]:
    """What every header has, with `names` if `arms` are names. Raises `ParameterError` for what no session has."""
    described_policy, names = described(policy), {}
    if isinstance(arms, list | tuple):
        require_names(arms)
        names, arms = {"names": list(arms)}, len(arms)
    arms = whole_at_least(arms, "arms", 2)
    require_arms(arms, MOST_ARMS)
    horizon, contributions = whole_at_least(horizon, "horizon", 1), whole_at_least(contributions, "contributions", 1)
    return {"policy": described_policy, "arms": arms, **names, "horizon": horizon, "contributions": contributions}


def require_names(names: Sequence[Any]) -> None:
    """Raise `ParameterError` unless these are different texts of one line each."""
    for name in names:
        allowed = isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()
        require(allowed, "arms", shortened(repr(name)), f"names of 1 to {LONGEST_NAME} printable characters")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    require(twice is None, "arms", f"{twice!r} twice", "different names")


def with_names(tickets: Iterable[Ticket], header: Mapping[str, Any]) -> list[Ticket]:
    """The tickets with the names of their arms, if a header has names."""
    names = header.get("names")
    return [ticket._replace(name=names[ticket.arm]) if names else ticket for ticket in tickets]


def number_of(arm: Any, header: Mapping[str, Any]) -> int:
    """The number of an arm that is given by its name, or by its number where arms have no names.

    Raises `ParameterError` for any other.
    """
    if names := header.get("names"):
        require(
            isinstance(arm, str) and arm in names, "arm", shortened(repr(arm)), f"one of the names {shortened(names)}"
        )
        return int(names.index(arm))
    allowed = is_integer(arm) and 0 <= arm < header["arms"]
    require(allowed, "arm", shortened(repr(arm)), f"the number of one of the {header['arms']} arms, from 0 on")
    return int(arm)


def open_journal(path: Path | str, expect: str | None) -> Journal:
    """Open a journal that contains the row of a `head` that was written down before, or any.

    Raises `JournalError`, also where there is no file yet and a row is expected.
    """
    require(expect is None or isinstance(expect, str), "expect", repr(expect), "what `head()` returned")
    require(isinstance(path, str | Path), "journal", repr(path), "the path of a file")
    require_openable(path)
    if expect is not None and not Path(path).is_file():
        raise JournalError(f"{path}: no such file, and row {expect} is expected in it")
    journal = Journal(path)
    try:
        if expect is not None:
            journal.require_head(expect)
    except BaseException:
        journal.close()
        raise
    return journal


def require_header(first: JournalRow, header: Mapping[str, Any], path: object) -> None:
    """Raise `JournalError` unless a journal is of the same session, naming the first thing that differs."""
    if first.kind != "header":
        raise JournalError(f"{path}: row 1 of journal is not a header")
    stored, header = _flat(first.body), _flat(json.loads(json.dumps(header)))  # tuples are lists there
    for key in [*header, *stored]:
        if stored.get(key) != header.get(key):
            told = f"{key} is {shortened(stored.get(key))}, not {header.get(key)}"
            raise JournalError(f"{path}: is of another session: {told}")


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
