"""The public state of a server under local privacy: tickets given out, and reports received."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from bandits.deploy.checks import is_integer, only, pulls_in_a_row
from bandits.deploy.clients import message_form
from bandits.deploy.journal import JournalRow
from bandits.deploy.tickets import OpenTickets, Outcome, Ticket
from bandits.mechanisms.deployable import GRID
from bandits.policies.elimination import survivors
from bandits.policies.halving import leading
from bandits.policies.heavy_tailed import LDPRSE, Moment
from bandits.policies.local_halving import LDPHalving
from bandits.policies.local_ucb import LocalPolicy, Received
from bandits.policies.robust_elimination import RobustBitSE

BoundedPolicy = LDPRSE | RobustBitSE  # whose devices need the bound of an epoch
ClientPolicy = LocalPolicy | LDPHalving | BoundedPolicy  # whose users have clients


class Reports(ABC):
    """What a server knows. Only rows of its journal change it, so that a restored state is the same.

    Rows: `pull` gives out tickets, `report` is the message for one. A ticket without a report counts as none.

    Attributes
    ----------
    issued: tickets that were given out.
    received: reports that count.
    waiting: tickets without a report.
    unsaved: tickets and reports since the last snapshot.
    draws_arms: whether arms are random given the reports.
    learning: whether the report of the next ticket can count.
    bound: the bound that the next ticket gives to its device; None if there is none.
    """

    draws_arms = False
    learning = True
    bound: float | None = None

    def __init__(self, policy: ClientPolicy, arms: int, horizon: int) -> None:
        self.form, self.arms, self.horizon = message_form(policy), arms, horizon
        self.issued = self.received = self.unsaved = 0
        self.waiting = OpenTickets()

    @abstractmethod
    def next_arm(self, rng: np.random.Generator) -> int:
        """The choice of the policy on the reports that are in."""

    @abstractmethod
    def absorb(self, ticket: int, arm: int, message: int) -> None:
        """Learn from a report that counts."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What is known, as plain data."""

    @abstractmethod
    def saved(self) -> dict[str, Any]:
        """The whole state, as plain data for `restore`."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Set a new state to the one that was saved."""
        self.issued, self.received = saved["issued"], saved["received"]
        if not is_integer(self.received) or not 0 <= self.received <= self.issued <= self.horizon:
            raise ValueError("its numbers of tickets are out of range")
        self.waiting.restore(saved["waiting"])

    def outcome(self, ticket: int) -> Outcome:
        """What would become of a report for this ticket."""
        return Outcome.REPEATED if self.waiting.arm_of(ticket) is None else Outcome.COUNTED

    def pull(self, arm: int) -> Ticket:
        """Give out a ticket."""
        self.issued += 1
        self.unsaved += 1
        ticket = Ticket(self.issued, arm, self.bound)
        if self.learning:
            self.waiting.add(ticket)
        return ticket

    def report(self, ticket: int, message: int) -> None:
        """Take a report. Raises `ValueError` for one that does not count."""
        arm = self.waiting.arm_of(ticket)
        if arm is None or self.outcome(ticket) is not Outcome.COUNTED:
            raise ValueError(f"ticket {ticket} takes no report")
        self.waiting.remove(ticket, arm)
        self.received += 1
        self.unsaved += 1
        self.absorb(ticket, arm, message)

    def follow(self, row: JournalRow) -> None:
        """Do what a row says. Raises `ValueError` for a row that this policy would not have written."""
        if row.kind == "report":
            only(row.body, "ticket", "message")
            ticket, message = row.body["ticket"], self.form.checked(row.body["message"])
            if not is_integer(ticket):
                raise ValueError("its ticket is no whole number")
            self.report(ticket, message)
            return
        if row.kind != "pull":
            raise ValueError(f"unknown kind {row.kind}")
        for arm, count in pulls_in_a_row(row.body, self.arms, self.horizon - self.issued):
            for _ in range(count):
                expected = arm if self.draws_arms else self.next_arm(np.random.default_rng(0))
                if expected != arm:
                    raise ValueError(f"arm {arm} was pulled, and this policy pulls {expected}")
                self.pull(arm)


class StepReports(Reports):
    """Reports to a policy that chooses every arm anew."""

    def __init__(self, policy: LocalPolicy, arms: int, horizon: int) -> None:
        super().__init__(policy, arms, horizon)
        self.policy, self.draws_arms = policy, policy.draws_arms
        self.state: Received = policy.start(arms, horizon)
        self.given = np.zeros(arms, dtype=np.int64)

    def next_arm(self, rng: np.random.Generator) -> int:
        """The choice of the policy on the reports that are in.

        If reports are late, first every arm without one, in turn: the policy needs one of each.
        """
        silent = np.flatnonzero(self.state.pulls == 0)
        if len(silent) and len(self.waiting):
            return int(silent[np.argmin(self.given[silent])])
        return int(self.policy.select(self.state, self.received + 1, rng))

    def pull(self, arm: int) -> Ticket:
        self.given[arm] += 1
        return super().pull(arm)

    def absorb(self, ticket: int, arm: int, message: int) -> None:
        self.state.pulls[arm] += 1
        self.state.sums[arm] += message / self.form.unit

    def summary(self) -> dict[str, Any]:
        return {"reports": self.state.pulls.tolist(), "sums": self.state.sums.tolist()}

    def saved(self) -> dict[str, Any]:
        counts = {"issued": self.issued, "received": self.received, "given": self.given.tolist()}
        return {"waiting": self.waiting.saved(), **counts, **self.summary()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        super().restore(saved)
        for counts, name in ((self.given, "given"), (self.state.pulls, "reports"), (self.state.sums, "sums")):
            counts[:] = saved[name]


class RoundReports(Reports):
    """Reports to a policy that drops arms in rounds, or epochs.

    A round takes its number of reports of every viable arm, and ends with the last one. Tickets go in turn to the arms
    that lack reports, so that more are given out while some reports are late. A report that comes after its round, or
    that its arm no longer needs, is not used. Once one arm is left, its tickets have no bound.

    Attributes
    ----------
    needed: reports of every viable arm in this round; 0 once one arm is left.
    word: what a round is called.
    """

    needed: int
    word = "round"

    def __init__(self, policy: ClientPolicy, arms: int, horizon: int) -> None:
        super().__init__(policy, arms, horizon)
        self.viable = list(range(arms))
        self.number = 0

    @abstractmethod
    def _set_round(self) -> None:
        """Set `needed`, and `bound`, to those of the round with this `number`."""

    @abstractmethod
    def _left(self) -> list[int]:
        """The viable arms that stay, from the sums of this round."""

    def _begin(self) -> None:
        self.number += 1
        self.first = self.issued + 1  # its first ticket
        self.given, self.reports, self.sums = (dict.fromkeys(self.viable, 0) for _ in range(3))
        self._set_round()
        self.learning = self.needed > 0

    def _lacks(self, arm: int) -> bool:
        return self.reports[arm] < self.needed

    def next_arm(self, rng: np.random.Generator) -> int:
        """Of the arms that lack reports, the first with the fewest tickets."""
        return min(filter(self._lacks, self.viable), key=self.given.__getitem__, default=self.viable[0])

    def pull(self, arm: int) -> Ticket:
        self.given[arm] += 1
        return super().pull(arm)

    def outcome(self, ticket: int) -> Outcome:
        arm = self.waiting.arm_of(ticket)
        if arm is None:
            return Outcome.REPEATED if self.learning or ticket < self.first else Outcome.UNUSED
        return Outcome.COUNTED if ticket >= self.first and self._lacks(arm) else Outcome.UNUSED

    def absorb(self, ticket: int, arm: int, message: int) -> None:
        self.reports[arm] += 1
        self.sums[arm] += message
        if not any(map(self._lacks, self.viable)):
            self.viable = self._left()
            self._begin()

    def summary(self) -> dict[str, Any]:
        return {"viable": list(self.viable), self.word: self.number, "reports": list(self.reports.values())}

    def saved(self) -> dict[str, Any]:
        counts = {"issued": self.issued, "received": self.received, "first": self.first}
        sums = {"given": list(self.given.values()), "sums": list(self.sums.values()), **self.summary()}
        return {"waiting": self.waiting.saved(), **counts, **sums}

    def restore(self, saved: Mapping[str, Any]) -> None:
        super().restore(saved)
        self.viable, self.number, self.first = list(saved["viable"]), saved[self.word], saved["first"]
        self.given, self.reports, self.sums = (
            dict(zip(self.viable, saved[name], strict=True)) for name in ("given", "reports", "sums")
        )
        self._set_round()
        self.learning = self.needed > 0


class EpochReports(RoundReports):
    """Reports to a policy of elimination in epochs, whose devices truncate rewards at the bound of the epoch."""

    word = "epoch"

    def __init__(self, policy: BoundedPolicy, arms: int, horizon: int, moment: Moment) -> None:
        super().__init__(policy, arms, horizon)
        self.policy, self.moment = policy, moment
        self._begin()

    def _set_round(self) -> None:
        self.epoch = self.policy.epoch_of(self.moment, len(self.viable), self.number, self.horizon)
        several = len(self.viable) > 1
        self.needed, self.bound = (self.epoch.rounds, self.epoch.truncation) if several else (0, None)

    def _left(self) -> list[int]:
        return survivors(self.viable, [self.mean(total) for total in self.sums.values()], self.epoch)

    def mean(self, total: int) -> float:
        """The mean reward of an arm in this epoch, from the sum of its messages."""
        if isinstance(self.policy, RobustBitSE):
            return float(self.policy.mean_of_bits(total, self.epoch))
        return self.epoch.truncation * total / GRID / self.epoch.rounds


class HalvingReports(RoundReports):
    """Reports to halving on bits."""

    def __init__(self, policy: LDPHalving, arms: int, horizon: int) -> None:
        super().__init__(policy, arms, horizon)
        self.rounds = policy.rounds(arms, horizon)
        self._begin()

    def _set_round(self) -> None:
        self.needed = self.rounds[self.number - 1].pulls if self.number <= len(self.rounds) else 0

    def _left(self) -> list[int]:
        return leading(self.viable, list(self.sums.values()), self.rounds[self.number - 1].kept)


def reports_to(policy: ClientPolicy, arms: int, horizon: int, moment: Moment | None) -> Reports:
    """The state of a server before its first ticket."""
    if isinstance(policy, LDPHalving):
        return HalvingReports(policy, arms, horizon)
    if isinstance(policy, LocalPolicy):
        return StepReports(policy, arms, horizon)
    assert moment is not None
    return EpochReports(policy, arms, horizon, moment)
