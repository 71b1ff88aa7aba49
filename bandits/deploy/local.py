"""The server of a local policy: it learns from the messages of clients alone."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bandits.deploy.checks import whole_at_least
from bandits.deploy.clients import message_form
from bandits.deploy.journal import JournalRow
from bandits.deploy.journaled import Journaled
from bandits.deploy.reports import BoundedPolicy, ClientPolicy, Reports, StepReports, reports_to
from bandits.deploy.spending import Spent, spent
from bandits.deploy.tickets import (
    Outcome,
    Ticket,
    checked_ticket,
    note,
    number_of,
    restore,
    shared_header,
    snapshot_of,
    with_names,
)
from bandits.parameters import ParameterError, is_real, require
from bandits.policies.heavy_tailed import Moment
from bandits.policies.robust_elimination import RobustBitSE


class Server(Journaled):
    """The learner of a local policy on the messages of clients, which come late, in any order, or never.

    `KLUCBCF`, `TSCF`, `LDPUCBB` and `LDPHalving` learn from `Client`, `LDPUCBL` from `LaplaceClient`, and where rewards
    have heavy tails `RobustBitSE` from `TruncatingClient` and `LDPRSE` from `TruncatingLaplaceClient`. These two need a
    `moment`: E |X|^(1+v) <= u.

    Guarantee: it sees only messages of clients, each epsilon-private, so a user with at most `contributions` of them
    spends at most `contributions` x epsilon. Whether and when a message comes is public. The journal holds the
    messages, nothing secret. `arms` is their number, or a list of their names, which tickets then have. A journal that
    does not contain `expect`, a `head()` that was written down before, is refused.
    """

    def __init__(
        self,
        policy: ClientPolicy,
        arms: int | Sequence[str],
        horizon: int,
        journal: Path | str,
        *,
        moment: tuple[float, float] | None = None,
        contributions: int = 1,
        expect: str | None = None,
    ) -> None:
        header = local_header(policy, arms, horizon, contributions, moment)
        self.policy, self.contributions = policy, header["contributions"]
        self._horizon = header["horizon"]
        self._reports = reports_of(policy, header)
        super().__init__(header, journal, expect)

    def _restore(self) -> None:
        restore(self._reports, self._journal, self._header)

    def select(self, n: int = 1) -> list[Ticket]:
        """The next `n` tickets, or fewer at the horizon, chosen from all reports received so far.

        Raises `ParameterError` at the horizon.
        """
        n = whole_at_least(n, "n", 1)
        with self._alone():
            if self._reports.issued == self._horizon:
                raise ParameterError("horizon", f"all {self._horizon} pulls were given out; begin another session")
            with self._journal.guarded():
                rows, given = list[JournalRow](), list[Ticket]()
                for _ in range(min(n, self._horizon - self._reports.issued)):
                    given.append(self._reports.pull(self._reports.next_arm(self._rng)))
                    note(rows, "pull", given[-1])
                self._write(rows)
                return with_names(given, self._header)

    def _write(self, rows: list[JournalRow]) -> None:
        self._journal.write(rows, state=snapshot_of(self._reports))

    def update(self, ticket: int, message: int) -> Outcome:
        """Take the message of a client; when this returns it is on disk. It may be repeated: the first one stays.

        Raises `ParameterError` for a ticket that was never given out, and for a message that no client of the policy
        sends.
        """
        message = self._reports.form.checked(message)
        with self._alone():
            return self._updated(checked_ticket(ticket, self._reports.issued), message)

    def update_arm(self, arm: str | int, message: int) -> Outcome:
        """Take a message for an arm, by its name or else its number, whose ticket is not known any more.

        It is that of the oldest ticket of the arm that has none, and `UNUSED` if there is none. One that is sent twice
        counts twice, other than in `update`. Refused for policies of epochs or rounds, whose tickets count
        in one of these alone.
        """
        message, number = self._reports.form.checked(message), number_of(arm, self._header)
        alike = isinstance(self._reports, StepReports)
        require(alike, "policy", self.policy.name, "one without epochs or rounds; give the ticket to `update`")
        with self._alone():
            waiting = self._reports.waiting.of(number)
            return self._updated(waiting[0], message) if waiting else Outcome.UNUSED

    def _updated(self, ticket: int, message: int) -> Outcome:
        outcome = self._reports.outcome(ticket)
        if outcome is Outcome.COUNTED:
            with self._journal.guarded():
                self._reports.report(ticket, message)
                self._write([JournalRow("report", {"ticket": ticket, "message": message})])
        return outcome

    def spent(self) -> Spent:
        """What the messages cost one user: contributions x epsilon, and 0 before the first."""
        with self._alone():
            return spent(self.policy.epsilon, self.contributions, self._reports.received, "all messages")

    def state(self) -> dict[str, Any]:
        """The public state, as plain data; none of it is secret."""
        with self._alone():
            return {"tickets": self._reports.issued, "horizon": self._horizon, **self._reports.summary()}


def local_header(
    policy: ClientPolicy,
    arms: int | Sequence[str],
    horizon: int,
    contributions: int,
    moment: tuple[float, float] | None,
) -> dict[str, Any]:
    """The header of a server. Raises `ParameterError` for what no server has; a review believes nothing else."""
    message_form(policy)
    given = _checked_moment(policy, moment)
    header = shared_header(policy, arms, horizon, contributions) | {"local": True}
    return header if given is None else header | {"moment": list(given)}


def reports_of(policy: ClientPolicy, header: dict[str, Any]) -> Reports:
    """The public state of a server that begins."""
    moment = Moment(*header["moment"]) if "moment" in header else None
    return reports_to(policy, header["arms"], header["horizon"], moment)


def _checked_moment(policy: ClientPolicy, moment: Any) -> Moment | None:
    """u and v of a policy for heavy tails; None for the others."""
    if not isinstance(policy, BoundedPolicy):
        require(moment is None, "moment", repr(moment), f"left out: {policy.name} needs rewards in a domain")
        return None
    most = 10 if isinstance(policy, RobustBitSE) else 1
    try:
        u, v = moment
        allowed = is_real(u) and is_real(v) and 0 < float(u) < math.inf and 0 < float(v) <= most
    except (TypeError, ValueError, OverflowError):
        allowed = False
    require(allowed, "moment", repr(moment), f"two numbers u > 0 and v in (0, {most}] with E |reward|^(1+v) <= u")
    require(policy.u in (None, u), "moment", repr(moment), f"with u = {policy.u}, that of the policy")
    return Moment(float(u), float(v))
