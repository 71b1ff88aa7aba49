"""A learner for real users: it returns arms, takes late rewards, and survives a crash at any moment."""

import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bandits.audit.ledger import Release
from bandits.audit.releases import GridNormal, GridRelease
from bandits.deploy.checks import RewardDomain, shortened, true_or_false, whole_at_least
from bandits.deploy.journal import JournalError, JournalRow
from bandits.deploy.journaled import Journaled
from bandits.deploy.spending import Spent, changed_at_once, require_numbers, spent_by, steps_of_a_reward
from bandits.deploy.tickets import (
    Outcome,
    SessionProgress,
    Ticket,
    checked_ticket,
    note,
    number_of,
    restore,
    shared_header,
    snapshot_of,
    with_names,
)
from bandits.deploy.users import Users, key_mark, require_mark
from bandits.guarantees import ROUNDING
from bandits.mechanisms.deployable import GRID, add_noise, add_normal_noise, on_grid
from bandits.parameters import ParameterError, require
from bandits.policies.base import Policy
from bandits.policies.batched import BatchedRun
from bandits.policies.local_halving import LDPHalving
from bandits.policies.local_ucb import LocalPolicy


class Session(Journaled):
    """A private policy for real users, whose noise is exact and in a journal before anything depends on it.

    A reward enters one sum, that of the batch of its ticket, which is released once with discrete Laplace noise
    (`bandits.mechanisms.deployable`), or discrete normal noise for a policy with a rho. A batch that is due is closed
    by the next `select`: when all its rewards are in, or once `patience` more tickets were given out. A reward that is
    missing then counts as `missing`. Whoever opens the same journal goes on with the same releases. All methods can be
    called from several threads, none by a signal handler in the middle of another.

    Guarantee: (`contributions` x epsilon)-differential privacy of all arms and releases, epsilon that of the policy,
    or (`contributions`^2 x rho)-zCDP, for a user with at most `contributions` rewards in the whole session, whose
    values change; with a `user_key` it is that for each time that batches are closed, see `spent`. Whether and when a
    reward comes is public, unless `wait_always`: then every batch waits for `patience` tickets, whatever has come, and
    it is protected, too, whether a user sends a reward. It then holds for a user behind at most `contributions`
    tickets, each of which gives a reward or none. With `wait_always` and a `user_key` a closing costs twice as much:
    which rewards are `EXCESS` follows from which are sent, so that `contributions` rewards may leave its sums and as
    many enter (`bandits.deploy.spending.changed_at_once`); a ticket must then be of one user alone. Times of replies
    are not protected.

    Attributes
    ----------
    arms: their number, or a list of their names, which tickets then have.
    domain: the least and the largest reward.
    missing: the public value of a reward that did not come, by default the least.
    clamp: whether rewards outside the domain are moved to its nearest end, or else refused.
    user_key: 16 to 64 random bytes, kept elsewhere; `update` then takes a user, of whom at most `contributions` rewards
        count in batches that are open together, see `bandits.deploy.users`. Later batches cost the user again.
    expect: a `head()` that was written down before: a journal that does not contain it is refused.

    Raises `ParameterError` for a policy whose releases are not sums of batches, or without OpenDP, and `JournalError`
    for a journal that is damaged, in use, or of another session.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int | Sequence[str],
        horizon: int,
        domain: tuple[float, float],
        journal: Path | str,
        *,
        contributions: int = 1,
        missing: float | None = None,
        patience: int = 1000,
        wait_always: bool = False,
        clamp: bool = False,
        expect: str | None = None,
        user_key: bytes | None = None,
    ) -> None:
        mark = key_mark(user_key)
        header = session_header(policy, arms, horizon, domain, contributions, missing, patience, wait_always, mark)
        self._domain = RewardDomain.of(domain, true_or_false(clamp, "clamp"))
        self._missing = RewardDomain.of(domain).unit(header["missing"], "missing")
        self.policy, self.contributions, self.clamp = policy, header["contributions"], clamp
        self._horizon, self._patience, self._wait_always = header["horizon"], header["patience"], wait_always
        self._progress = progress_of(policy, header)
        self._check_budget()
        self._users = Users(user_key, self.contributions)
        super().__init__(header, journal, expect)

    def _check_budget(self) -> None:
        run, guarantee = self._progress.run, self.policy.guarantee
        cost, promised = (run.epsilon, guarantee.epsilon) if run.rho is None else (run.rho, guarantee.least_rho)
        allowed = cost <= promised * (1 if run.rho is None else 1 + ROUNDING)  # a rho may have been a level
        require(allowed, "policy", f"{cost:g}", f"one whose releases cost at most {promised:g}")
        with_noise(0, run)  # refuses before the first user if there is no OpenDP

    def _restore(self) -> None:
        restore(self._progress, self._journal, self._header)
        self._sums, self._present = Counter[int](), Counter[int]()  # of the rewards of the open batch of each arm
        self._places = Counter[int]()  # in the open batch of an arm: the tickets before have rewards, for `update_arm`
        self._users.restore(self._journal, self._progress.open)
        self._closings = self._journal.count("release") if "users" in self._header else None
        for ticket, steps in self._journal.rewards_of(self._progress.open):
            require_steps(ticket, steps, self._progress.run.grid, self._journal.path)
            self._count(ticket, steps)

    def _count(self, ticket: int, steps: int) -> None:
        arm = self._progress.open.arm_of(ticket)
        assert arm is not None
        self._sums[arm] += steps
        self._present[arm] += 1

    def select(self, n: int = 1) -> list[Ticket]:
        """The next `n` tickets, or fewer at the horizon.

        Rewards that arrive before the next release do not change the arms. Batches are closed at the beginning alone:
        those that end with these tickets can have their rewards after it, however large n is. Raises `ParameterError`
        at the horizon.
        """
        n = min(whole_at_least(n, "n", 1), self._horizon)
        with self._alone():
            if self._progress.pulls == self._horizon:
                raise ParameterError("horizon", f"all {self._horizon} pulls were given out; begin another session")
            with self._journal.guarded():
                return self._selected(n)

    def _selected(self, n: int) -> list[Ticket]:
        progress, rows, given = self._progress, list[JournalRow](), list[Ticket]()
        if progress.run.due and self._closes():
            self._release()
        while len(given) < n and progress.pulls < self._horizon:
            kind = "wait" if progress.run.due else "pull"
            given.append(progress.wait() if kind == "wait" else progress.pull(progress.next_arm(self._rng)))
            note(rows, kind, given[-1])
        self._journal.write(rows, state=snapshot_of(progress))
        return with_names(given, self._header)

    def update(self, ticket: int, reward: float, user: str | None = None) -> Outcome:
        """Take the reward of a ticket; when this returns it is on disk. It may be repeated: the first reward stays.

        `user` is whose reward it is, with a `user_key` alone. Raises `ParameterError` for a ticket that was never given
        out and for a reward outside the domain, and goes on.
        """
        unit, hashed = self._domain.unit(reward), self._users.checked(user)
        with self._alone():
            return self._updated(checked_ticket(ticket, self._progress.issued), unit, hashed)

    def update_arm(self, arm: str | int, reward: float, user: str | None = None) -> Outcome:
        """Take a reward of an arm, by its name or else its number, whose ticket is not known any more.

        It is that of the oldest ticket of the open batch that has none, and `UNUSED` if there is none. One that is sent
        twice counts twice, other than in `update`. Otherwise as there. Refused with `user_key` and `wait_always`
        together: whose rewards are unused would follow from who sends some, without end.
        """
        both = self._wait_always and "users" in self._header
        require(not both, "wait_always", True, "False, or there is no user_key; else give the ticket to `update`")
        unit, hashed = self._domain.unit(reward), self._users.checked(user)
        number = number_of(arm, self._header)
        with self._alone():
            tickets = self._progress.open.of(number)
            while self._places[number] < len(tickets):
                outcome = self._updated(tickets[self._places[number]], unit, hashed)
                if outcome is not Outcome.REPEATED:
                    return outcome
                self._places[number] += 1
            return Outcome.UNUSED

    def _updated(self, ticket: int, unit: float, user: str | None) -> Outcome:
        if self._journal.has_reward(ticket):
            return Outcome.REPEATED
        if self._progress.open.arm_of(ticket) is None:
            return Outcome.UNUSED
        if self._users.is_full(user):
            return Outcome.EXCESS
        with self._journal.guarded():
            steps = self._steps(unit)
            self._journal.write(rewards={ticket: steps}, users=None if user is None else {ticket: user})
            self._count(ticket, steps)
            self._users.count(ticket, user)
            return Outcome.COUNTED

    def close_batches(self) -> bool:
        """Close the batches that are due, by a rule of your own on time, never on rewards. Returns whether any was due.

        Refused with `wait_always` until they have waited, or all pulls of the horizon were given out.
        """
        with self._alone():
            allowed = not self._wait_always or self._progress.may_close
            require(allowed, "wait_always", True, "False to close batches before they have waited")
            if not self._progress.run.due:
                return False
            with self._journal.guarded():
                self._release()
            return True

    def ledger(self) -> tuple[Release, ...]:
        """What was released, as an audit reads it: noisy sums, each moved by all rewards that one user has in it."""
        with self._alone():
            return ledger_of(self._progress, changed_at_once(self._header))

    def spent(self) -> Spent:
        """What the releases cost one user: contributions x epsilon, whatever their number, and 0 before the first.

        With a rho that is contributions^2 x rho, and no epsilon. With a `user_key` a user may come back in later
        batches: it is as much for each time that batches were closed, and at most horizon x epsilon to the end, or
        contributions x horizon x rho. With `wait_always`, too, take 2 x contributions for contributions.
        """
        with self._alone():
            return spent_by(self._progress, self._header, self._anchored, self._closings)

    def state(self) -> dict[str, Any]:
        """What is public, as plain data: tickets, pulls that count, whether it waits for rewards, what is known."""
        with self._alone():
            progress = self._progress
            return {
                "tickets": progress.issued,
                "pulls": progress.pulls,
                "horizon": self._horizon,
                "waiting": bool(progress.run.due),
                "releases": progress.released,
                **progress.run.summary(),
            }

    def _steps(self, unit: float, rewards: int = 1) -> int:
        """The sum of equal rewards in steps of the grid, to the nearest; on a policy's own grid each at random.

        The mean is that of the rewards.
        """
        whole, rest = divmod(on_grid(unit) * self._progress.run.grid, GRID)
        return whole * rewards + sum(secrets.randbelow(GRID) < rest for _ in range(rewards if rest else 0))

    def _closes(self) -> bool:
        """Whether the batches that are due are closed before the next ticket."""
        return self._progress.may_close or (not self._wait_always and not self._absent())

    def _absent(self) -> int:
        """The number of rewards that are missing in batches that are due."""
        return sum(map(self._absent_of, self._progress.run.due))

    def _absent_of(self, arm: int) -> int:
        return len(self._progress.open.of(arm)) - self._present[arm]

    def _release(self) -> None:
        """Close the batches that are due: draw the noise, and write it down before the policy sees it.

        Else a policy that fails on some noise would get other noise after a restart, until it does not fail.
        """
        progress, run = self._progress, self._progress.run
        due = [int(arm) for arm in run.due]
        require_numbers(run, len(due))
        body: dict[str, Any] = {"arms": due}
        if not self._wait_always:
            body["missing"] = self._absent()
        sums = [self._sums[arm] + self._steps(self._missing, self._absent_of(arm)) for arm in due]
        body["steps"] = [with_noise(int(total), run) for total in run.numbers_of(sums)]
        left = [ticket for arm in due for ticket in self._users.forget(progress.open.of(arm))]
        for arm in due:
            del self._sums[arm], self._present[arm], self._places[arm]
        self._journal.write([JournalRow("release", body)], users=dict.fromkeys(left))
        if self._closings is not None:
            self._closings += 1
        try:
            progress.release(body["steps"])
        except Exception as error:  # every restart will meet it, in the same row
            told_ = f"policy {self.policy.name} fails on a release that is on disk: {shortened(error)}"
            raise JournalError(f"{self._journal.path}: {told_}") from error


def session_header(
    policy: Policy,
    arms: int | Sequence[str],
    horizon: int,
    domain: tuple[float, float],
    contributions: int,
    missing: float | None,
    patience: int,
    wait_always: bool,
    users: str | None = None,
) -> dict[str, Any]:
    """The header of a session. Raises `ParameterError` for what no session has; a review believes nothing else."""
    require(isinstance(policy, Policy), "policy", repr(policy), "a policy, as in DPKLUCB(epsilon=1.0)")
    if isinstance(policy, LocalPolicy | LDPHalving):
        raise ParameterError("policy", f"{policy.name} learns from messages of clients: open a Server, no Session")
    ends = RewardDomain.of(domain)
    missing = ends.low if missing is None else missing
    ends.unit(missing, "missing")
    if users is not None:
        require_mark(users)
    return (
        shared_header(policy, arms, horizon, contributions)
        | ({} if users is None else {"users": users})
        | {
            "domain": [ends.low, ends.high],
            "missing": float(missing),
            "patience": whole_at_least(patience, "patience", 0),
            "wait_always": true_or_false(wait_always, "wait_always"),
        }
    )


def progress_of(policy: Policy, header: dict[str, Any]) -> SessionProgress:
    """The public state of a session that begins."""
    arms, horizon = header["arms"], header["horizon"]
    return SessionProgress(policy.batched_run(arms, horizon), arms, horizon, header["patience"], header["wait_always"])


def require_steps(ticket: int, steps: int, grid: int, path: object) -> None:
    """Raise `JournalError` for a reward outside its domain."""
    if not 0 <= steps <= grid:
        raise JournalError(f"{path}: ticket {ticket} of secret_rewards is damaged: {steps} of {grid} steps")


def ledger_of(progress: SessionProgress, changed: int) -> tuple[Release, ...]:
    """The releases of a session; `high` is what one user, who changes so many rewards, moves a sum by."""
    run, names = progress.run, [f"release {number}" for number in range(1, progress.released + 1)]
    steps = changed * steps_of_a_reward(run)
    if run.rho is not None:
        return tuple(GridNormal(name, "", steps, changed**2 * run.rho) for name in names)
    high, scale = float(changed), 1 / run.epsilon
    return tuple(GridRelease(name, "", 0.0, high, 1.0, scale, steps) for name in names)


def with_noise(steps: int, run: BatchedRun) -> int:
    """A sum in steps of the grid of a run, with the noise that the run is made for."""
    if run.rho is None:
        return add_noise(steps, run.grid, run.epsilon)
    return add_normal_noise(steps, run.grid, run.rho)
