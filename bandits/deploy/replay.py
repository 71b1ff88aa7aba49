"""Review the journal of a session: `python -m bandits.deploy.replay JOURNAL`.

Every checksum is compared, every arm is chosen again from the releases before it, and every reward is looked up in its
one batch. Then the ledger and what was spent are printed; with `--transcript` every ticket, too. No reward is printed.
A journal cannot show whether a released sum is the sum of the rewards plus fresh noise.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bandits.audit.ledger import Release
from bandits.deploy.journal import Journal, JournalError, Row, Snapshot
from bandits.deploy.reports import reports_to
from bandits.deploy.session import ledger_of
from bandits.deploy.spending import Spent, spent
from bandits.deploy.tickets import Progress, Ticket, described, replay, require_header
from bandits.parameters import ParameterError
from bandits.policies.base import Policy
from bandits.policies.heavy_tailed import Moment


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
    if not Path(path).is_file():
        raise JournalError(f"{path}: no such file")
    with Journal(path) as journal:
        rows, rewards, snapshot = list(journal.rows()), journal.rewards(), journal.snapshot()
    if not rows or rows[0].kind != "header":
        raise JournalError(f"{path}: row 1 of journal is not a header")
    header = dict(rows[0].body)
    known = policy_of(header, path) if policy is None else policy
    require_header(rows[0], header | {"policy": described(known)}, path)
    if header.get("local"):
        return _review_of_messages(path, rows, snapshot, header, known)
    return _review_of_sums(path, rows, snapshot, header, known, rewards)


def policy_of(header: dict[str, Any], path: Path | str) -> Policy:
    """The policy that a header names, from this package alone: no other module is imported for a file."""
    try:
        module, _, name = header["policy"]["class"].rpartition(".")
        if not module.startswith("bandits.policies."):
            raise JournalError(f"{path}: its policy {module}.{name} is not of this package: give it to `review`")
        policy: Policy = getattr(import_module(module), name)(**header["policy"]["fields"])
    except (ImportError, AttributeError, KeyError, TypeError, ParameterError) as error:
        raise JournalError(f"{path}: row 1 of journal names no policy: {error}") from None
    return policy


def _review_of_sums(
    path: Path | str,
    rows: list[Row],
    snapshot: Snapshot | None,
    header: dict[str, Any],
    policy: Policy,
    rewards: dict[int, int],
) -> Review:
    progress = Progress(policy.batched_run(header["arms"], header["horizon"]))
    left = set(rewards)
    for row in replay(progress, rows[1:], path, snapshot=snapshot):
        if row.kind == "release":
            tickets = {ticket for arm in progress.run.due for ticket in progress.open.of(arm)}
            absent = len(tickets - left)
            if rewards and absent != row.body.get("missing", absent):
                told = f"{row.body['missing']} rewards are missing in it, and {absent} are not in secret_rewards"
                raise JournalError(f"{path}: release {progress.released + 1}: {told}")
            left -= tickets
    if strangers := sorted(left.difference(progress.open)):
        raise JournalError(f"{path}: ticket {strangers[0]} of secret_rewards is in no batch")
    contributions = header["contributions"]
    cost = spent(progress.run.epsilon, contributions, progress.released)
    transcript = transcript_of((row, None) for row in rows)
    return Review(header, transcript, ledger_of(progress, contributions), cost, len(rewards))


def transcript_of(rows: Iterable[tuple[Row, float | None]]) -> tuple[Ticket, ...]:
    """The tickets that rows give out, each row with the bound of its tickets."""
    giving = [(row.body["arms"], bound) for row, bound in rows if row.kind in ("pull", "wait")]
    pulls = [(arm, bound) for runs, bound in giving for arm, count in runs for _ in range(count)]
    return tuple(Ticket(number, arm, bound) for number, (arm, bound) in enumerate(pulls, 1))


def _review_of_messages(
    path: Path | str, rows: list[Row], snapshot: Snapshot | None, header: dict[str, Any], policy: Any
) -> Review:
    moment = Moment(*header["moment"]) if "moment" in header else None
    reports = reports_to(policy, header["arms"], header["horizon"], moment)
    # A row of tickets has one bound, that of the epoch before it: an epoch ends with a report.
    followed = [(row, reports.bound) for row in replay(reports, rows[1:], path, snapshot=snapshot)]
    cost = spent(policy.epsilon, header["contributions"], reports.received, "all messages")
    ledger = policy.ledger(header["arms"], header["horizon"])
    return Review(header, transcript_of(followed), ledger, cost, reports.received)


def main() -> None:
    """Print the content of a journal; exit code 2 and one line if it is damaged."""
    parser = argparse.ArgumentParser(description="Check the journal of a session, and print what it spent.")
    parser.add_argument("journal", type=Path)
    parser.add_argument("--transcript", action="store_true", help="print every ticket, too")
    given = parser.parse_args()
    try:
        found = review(given.journal)
    except (JournalError, ParameterError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        show(found, given.transcript)
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        sys.stdout = None


def show(found: Review, with_transcript: bool) -> None:
    """Print a review."""
    what, once = ("messages", "ticket") if found.header.get("local") else ("rewards", "batch")
    for key, value in found.header.items():
        print(f"{key}: {value}")
    print(f"tickets: {len(found.transcript)}, {what}: {found.rewards}, releases: {found.spent.releases}")
    print(f"spent: {found.spent.epsilon:g} of one user, {found.spent.most:g} at most: {found.spent.words}")
    print(f"checksums fit, arms follow from what was released before them, {what} have one {once} each at most")
    for ticket in found.transcript if with_transcript else ():
        print(f"ticket {ticket.number}: arm {ticket.arm}" + ("" if ticket.bound is None else f", bound {ticket.bound}"))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
