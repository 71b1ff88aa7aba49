"""Local privacy in two halves: a client on the device of a user sends one number, and the server sees nothing else."""

import secrets
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import RLock
from typing import Any, Self

import numpy as np

from bandits.deploy.checks import RewardDomain, budget, is_integer, whole
from bandits.deploy.exact_bits import bernoulli, discrete_laplace, randomised
from bandits.deploy.journal import Journal, Row
from bandits.deploy.spending import Spent, spent
from bandits.deploy.tickets import Outcome, Ticket, checked_ticket, described, note, replay, require_header
from bandits.mechanisms.deployable import GRID, on_grid
from bandits.parameters import ParameterError, require, require_arms
from bandits.policies.local_ucb import LDPUCBL, BitPolicy, LocalPolicy, Received

MOST_STEPS = 2**52  # of the report of a `LaplaceClient`, either way: a sum of doubles is exact to 2^53


class Client:
    """The part of local privacy that runs on the device of a user.

    Guarantee: every message is epsilon-differentially private for the reward, exactly, whoever sees it: no floating
    point is in the way, and the random bits are those of the operating system. A message may be sent again; a second
    one for the same reward costs epsilon again.
    """

    def __init__(self, epsilon: float, domain: tuple[float, float] = (0.0, 1.0), *, clamp: bool = False) -> None:
        self.epsilon, self.domain, self.clamp = budget(epsilon), domain, clamp
        require(0 < epsilon <= 700, "epsilon", epsilon, "a number in (0, 700]")
        self._domain = RewardDomain.of(domain, clamp)

    def message(self, reward: float) -> int:
        """The bit to send: 1 with probability (r e^epsilon + 1 - r) / (1 + e^epsilon), r the reward on [0, 1].

        r is rounded to steps of 2^-20. Raises `ParameterError` for a reward outside the domain.
        """
        chance = Fraction(on_grid(self._domain.unit(reward)), GRID)
        return int(randomised(bernoulli(chance), self.epsilon))


class LaplaceClient(Client):
    """A `Client` for LDP-UCB-L: it sends its reward with noise, in whole steps of 2^-20.

    Guarantee: that of `Client`. A reward moves the message by at most 2^20 steps, and the noise is discrete Laplace
    noise of scale 2^20 / epsilon, drawn exactly; messages beyond 2^52 steps are moved there, which costs nothing.
    """

    def message(self, reward: float) -> int:
        """The report to send: the reward on [0, 1], rounded to steps of 2^-20, plus noise, in these steps.

        Raises `ParameterError` for a reward outside the domain.
        """
        steps = on_grid(self._domain.unit(reward)) + discrete_laplace(GRID / Fraction(self.epsilon))
        return max(-MOST_STEPS, min(MOST_STEPS, steps))


@dataclass(frozen=True)
class MessageForm:
    """What the clients of a policy send: a whole number from `least` to `most`, where a report of 1 is `unit`."""

    least: int
    most: int
    unit: int
    words: str

    def checked(self, message: Any) -> int:
        """The message. Raises `ParameterError` for anything else than such a number."""
        allowed = is_integer(message) and self.least <= message <= self.most
        require(allowed, "message", repr(message), self.words)
        return int(message)


BITS = MessageForm(0, 1, 1, "that of a Client: 0 or 1")
STEPS = MessageForm(-MOST_STEPS, MOST_STEPS, GRID, "that of a LaplaceClient: a whole number from -2^52 to 2^52")


def form_of(policy: Any) -> MessageForm:
    """What clients send to this policy. Raises `ParameterError` for one that has no clients here."""
    if isinstance(policy, BitPolicy):
        return BITS
    if isinstance(policy, LDPUCBL):
        return STEPS
    name = getattr(policy, "name", repr(policy))
    raise ParameterError("policy", f"{name} has no clients: take klucb_cf, ts_cf, ldp_ucb_b or ldp_ucb_l")


class Reports:
    """The public state of a server, which changes by rows of its journal alone.

    Rows: `pull` gives out tickets, `report` is the message for one. A ticket without a report counts as none.
    """

    def __init__(self, policy: LocalPolicy, arms: int, horizon: int) -> None:
        self.policy, self.arms, self.form = policy, arms, form_of(policy)
        self.known: Received = policy.start(arms, horizon)
        self.given = np.zeros(arms, dtype=np.int64)
        self.waiting: dict[int, int] = {}
        self.issued = 0

    @property
    def received(self) -> int:
        return int(self.known.pulls.sum())

    def next_arm(self, rng: np.random.Generator) -> int:
        """The choice of the policy from the reports received so far.

        If some are missing, first every arm without a report, in turn: the policy needs one of each.
        """
        silent = np.flatnonzero(self.known.pulls == 0)
        if self.waiting and len(silent):
            return int(silent[np.argmin(self.given[silent])])
        return int(self.policy.select(self.known, self.received + 1, rng))

    def pull(self, arm: int) -> Ticket:
        self.issued += 1
        self.given[arm] += 1
        self.waiting[self.issued] = arm
        return Ticket(self.issued, arm)

    def report(self, ticket: int, message: int) -> None:
        arm = self.waiting.pop(ticket)
        self.known.pulls[arm] += 1
        self.known.sums[arm] += message / self.form.unit

    def follow(self, row: Row) -> None:
        """Apply a row. Raises `ValueError` for a row that this policy would not have written."""
        if row.kind == "report":
            self.report(row.body["ticket"], row.body["message"])
            return
        for arm, count in row.body["arms"]:
            for _ in range(count):
                expected = arm if self.policy.draws_arms else self.next_arm(np.random.default_rng(0))
                if expected != arm:
                    raise ValueError(f"arm {arm} was pulled, and this policy pulls {expected}")
                self.pull(arm)


class Server:
    """The learner of a local policy on the messages of clients, which come late, in any order, or never.

    `KLUCBCF`, `TSCF` and `LDPUCBB` learn from `Client`, `LDPUCBL` from `LaplaceClient`.

    Guarantee: none of its own is needed: it sees messages of clients alone, each epsilon-private, so that a user with
    at most `contributions` of them spends that many times epsilon. That a message comes, and when, is public. The
    journal holds the messages, and nothing that is secret.
    """

    def __init__(
        self, policy: LocalPolicy, arms: int, horizon: int, journal: Path | str, *, contributions: int = 1
    ) -> None:
        form_of(policy)
        arms, horizon = whole(arms, "arms", 2), whole(horizon, "horizon", 1)
        require_arms(arms)
        contributions = whole(contributions, "contributions", 1)
        self.policy, self.contributions = policy, contributions
        self._horizon = horizon
        self._reports = Reports(policy, arms, horizon)
        self._rng = np.random.default_rng(secrets.randbits(128))  # of arms, for Thompson sampling
        self._lock = RLock()
        self._journal = Journal(journal)
        header = {"policy": described(policy), "arms": arms, "horizon": horizon, "contributions": contributions}
        try:
            self._restore(header | {"local": True})
        except BaseException:
            self._journal.close()
            raise

    def _restore(self, header: dict[str, Any]) -> None:
        rows, path = self._journal.rows(), self._journal.path
        if not rows:
            self._journal.write([Row("header", header)])
            return
        require_header(rows, header, path)
        for _ in replay(self._reports, rows, path):
            pass

    def select(self, n: int = 1) -> list[Ticket]:
        """The next `n` tickets, or fewer at the horizon, chosen from all reports received so far.

        Raises `ParameterError` at the horizon.
        """
        n = whole(n, "n", 1)
        with self._lock, self._journal.usable():
            if self._reports.issued == self._horizon:
                raise ParameterError("horizon", f"all {self._horizon} pulls were given out; begin another session")
            with self._journal.guarded():
                rows, given = list[Row](), list[Ticket]()
                for _ in range(min(n, self._horizon - self._reports.issued)):
                    given.append(self._reports.pull(self._reports.next_arm(self._rng)))
                    note(rows, "pull", given[-1])
                self._journal.write(rows)
                return given

    def update(self, ticket: int, message: int) -> Outcome:
        """Take the message of a client; when this returns it is on disk. It may be repeated: the first one stays.

        Raises `ParameterError` for a ticket that was never given out, and for what no client of the policy sends.
        """
        message = self._reports.form.checked(message)
        with self._lock, self._journal.usable():
            ticket = checked_ticket(ticket, self._reports.issued)
            if ticket not in self._reports.waiting:
                return Outcome.REPEATED
            with self._journal.guarded():
                self._reports.report(ticket, message)
                self._journal.write([Row("report", {"ticket": ticket, "message": message})])
                return Outcome.COUNTED

    def spent(self) -> Spent:
        """What the messages cost one user: contributions x epsilon, and 0 before the first."""
        with self._lock, self._journal.usable():
            return spent(self.policy.epsilon, self.contributions, self._reports.received, "all messages")

    def would_exceed(self, epsilon: float) -> bool:
        """Whether this server, to its end, spends more than `epsilon` of the privacy of one user."""
        return self.spent().most > budget(epsilon)

    def state(self) -> dict[str, Any]:
        """The public state, as plain data; none of it is secret."""
        with self._lock, self._journal.usable():
            reports = self._reports
            return {
                "tickets": reports.issued,
                "horizon": self._horizon,
                "reports": reports.known.pulls.tolist(),
                "sums": reports.known.sums.tolist(),
            }

    def close(self) -> None:
        """Let another process open the journal. Nothing is lost without it."""
        with self._lock:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
