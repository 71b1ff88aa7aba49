"""Review the journal of a session: `python -m bandits.deploy.replay JOURNAL`.

Every checksum is compared, every arm is chosen again from the releases before it, and every reward is looked up in its
one batch. Then the ledger and what was spent are printed; with `--transcript` every ticket, too. No reward is printed.
A journal cannot show whether a released sum is the sum of the rewards plus fresh noise.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from bandits.audit.ledger import Release
from bandits.deploy import local, session
from bandits.deploy.checks import require_type, shortened
from bandits.deploy.journal import Journal, JournalError, JournalRow, Snapshot, require_openable
from bandits.deploy.reports import Reports
from bandits.deploy.session import ledger_of, require_steps
from bandits.deploy.spending import Spent, changed_at_once, spent, spent_by
from bandits.deploy.tickets import (
    UNFIT,
    SessionProgress,
    Ticket,
    described,
    replay_rows,
    require_header,
    told,
    with_names,
)
from bandits.parameters import ParameterError
from bandits.policies.base import Policy


@dataclass(frozen=True)
class Review:
    """The content of a journal.

    Attributes
    ----------
    header: what the session was opened with.
    transcript: the tickets in order, including those given out while a batch waited.
    ledger: its releases, as an audit reads them; for a local session one message.
    spent: what the releases cost one user.
    rewards: the number of rewards or messages that it holds; 0 in a copy from which the secret rewards were deleted.
    """

    header: dict[str, Any]
    transcript: tuple[Ticket, ...]
    ledger: tuple[Release, ...]
    spent: Spent
    rewards: int


def review(path: Path | str, policy: Policy | None = None) -> Review:
    """Read a journal that no session has open; `policy` is needed for a policy from outside this package.

    Raises `JournalError` for a journal that is damaged, or does not fit the policy.
    """
    require_openable(path)
    if not Path(path).is_file():
        raise JournalError(f"{path}: no such file")
    with Journal(path) as journal:
        rows, rewards, snapshot = list(journal.rows()), journal.rewards(), journal.snapshot()
    if not rows or rows[0].kind != "header":
        raise JournalError(f"{path}: row 1 of journal is not a header")
    header = dict(rows[0].body)
    player = policy_of(header, path) if policy is None else policy
    require_header(rows[0], header | {"policy": described(player)}, path)
    begun = _begun(header, player, path)
    if "local" in header:
        return _review_of_messages(path, rows, snapshot, begun, player, header)
    return _review_of_sums(path, rows, snapshot, begun, header, rewards)


def policy_of(header: dict[str, Any], path: Path | str) -> Policy:
    """The policy that a header names, from this package alone: no other module is imported for a file."""
    try:
        module, _, name = header["policy"]["class"].rpartition(".")
        if not module.startswith("bandits.policies."):
            raise JournalError(f"{path}: its policy {module}.{name} is not of this package: give it to `review`")
        cls = getattr(import_module(module), name)
        if not isinstance(cls, type) or not issubclass(cls, Policy) or cls.__module__ != module:
            raise TypeError(f"{name} is none")
        hints = get_type_hints(cls)
        for field, value in header["policy"]["fields"].items():
            require_type(value, hints[field], field)
        policy: Policy = cls(**header["policy"]["fields"])
    except (ImportError, *UNFIT) as error:
        raise JournalError(f"{path}: row 1 of journal names no policy: {told(error)}") from None
    return policy


def _begun(header: dict[str, Any], policy: Any, path: Path | str) -> Any:
    """The state of a session or server that begins; `JournalError` unless it would write exactly this header."""
    parameters = {key: value for key, value in header.items() if key not in ("policy", "local")}
    if "names" in parameters:
        parameters["arms"] = parameters.pop("names")
    try:
        if "local" in header:
            expected = local.local_header(policy, **{"moment": None} | parameters)
            begun: Any = local.reports_of(policy, expected)
        else:
            expected = session.session_header(policy, **parameters)
            begun = session.progress_of(policy, expected)
    except UNFIT as error:
        raise JournalError(f"{path}: row 1 of journal is not the header of a session: {told(error)}") from None
    for key in [*header, *expected]:
        value = header.get(key)
        if json.dumps(expected.get(key), sort_keys=True) != json.dumps(value, sort_keys=True):
            said = f"{key} is {shortened(value)}, and would be {expected.get(key)}"
            raise JournalError(f"{path}: row 1 of journal is not the header of a session: {said}")
    return begun


def _review_of_sums(
    path: Path | str,
    rows: list[JournalRow],
    snapshot: Snapshot | None,
    progress: SessionProgress,
    header: dict[str, Any],
    rewards: dict[int, int],
) -> Review:
    left = set(rewards)
    for row in replay_rows(progress, rows[1:], path, snapshot=snapshot):
        if row.kind == "release":
            tickets = {ticket for arm in progress.run.due for ticket in progress.open.of(arm)}
            absent = len(tickets - left)
            if rewards and absent != row.body.get("missing", absent):
                said = f"{row.body['missing']} rewards are missing in it, and {absent} are not in secret_rewards"
                raise JournalError(f"{path}: release {progress.released + 1}: {said}")
            for ticket in tickets & left:
                require_steps(ticket, rewards[ticket], progress.run.grid, path)
            left -= tickets
    for ticket in left.intersection(progress.open):
        require_steps(ticket, rewards[ticket], progress.run.grid, path)
    if strangers := sorted(left.difference(progress.open)):
        raise JournalError(f"{path}: ticket {strangers[0]} of secret_rewards is in no batch")
    closings = sum(row.kind == "release" for row in rows) if "users" in header else None
    cost = spent_by(progress, header, False, closings)
    transcript = transcript_of(((row, None) for row in rows), header)
    return Review(header, transcript, ledger_of(progress, changed_at_once(header)), cost, len(rewards))


def transcript_of(rows: Iterable[tuple[JournalRow, float | None]], header: dict[str, Any]) -> tuple[Ticket, ...]:
    """The tickets that rows give out, each row with the bound of its tickets."""
    giving = [(row.body["arms"], bound) for row, bound in rows if row.kind in ("pull", "wait")]
    pulls = [(arm, bound) for runs, bound in giving for arm, count in runs for _ in range(count)]
    return tuple(with_names((Ticket(number, arm, bound) for number, (arm, bound) in enumerate(pulls, 1)), header))


def _review_of_messages(
    path: Path | str,
    rows: list[JournalRow],
    snapshot: Snapshot | None,
    reports: Reports,
    policy: Any,
    header: dict[str, Any],
) -> Review:
    # A row of tickets has one bound, that of the epoch before it: an epoch ends with a report.
    followed = [(row, reports.bound) for row in replay_rows(reports, rows[1:], path, snapshot=snapshot)]
    cost = spent(policy.epsilon, header["contributions"], reports.received, "all messages")
    ledger = policy.ledger(header["arms"], header["horizon"])
    return Review(header, transcript_of(followed, header), ledger, cost, reports.received)


def main() -> None:
    """Entry point of `python -m bandits.deploy.replay`: what a journal says; exit code 2 if it is damaged."""
    parser = argparse.ArgumentParser(description="Check the journal of a session, and print what it spent.")
    parser.add_argument("journal", type=Path)
    parser.add_argument("--transcript", action="store_true", help="print every ticket, too")
    given = parser.parse_args()
    try:
        reviewed = review(given.journal)
    except (JournalError, ParameterError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        show(reviewed, given.transcript)
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        sys.stdout = None


def show(reviewed: Review, with_transcript: bool) -> None:
    """Print a review."""
    what, once = ("messages", "ticket") if reviewed.header.get("local") else ("rewards", "batch")
    for key, value in reviewed.header.items():
        print(f"{key}: {value}")
    print(f"tickets: {len(reviewed.transcript)}, {what}: {reviewed.rewards}, releases: {reviewed.spent.releases}")
    paid = reviewed.spent
    now, most = (paid.epsilon, paid.most) if math.isfinite(paid.most) else (paid.rho, paid.most_rho)
    print(f"spent: {now:g} of one user, {most:g} at most: {paid.words}")
    print(f"checksums fit, arms follow from what was released before them, {what} have one {once} each at most")
    for ticket in reviewed.transcript if with_transcript else ():
        arm = ticket.arm if ticket.name is None else ticket.name
        print(f"ticket {ticket.number}: arm {arm}" + ("" if ticket.bound is None else f", bound {ticket.bound}"))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
