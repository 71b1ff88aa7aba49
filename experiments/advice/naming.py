"""Which arm is the best: how often a wrong one is named with so many users, or how many it takes, for a question."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from bandits import ParameterError
from bandits.exact.two_arms import TwoArms
from experiments.advice.fixed_budget import Namer, NamingCase, runs_to_show
from experiments.advice.question import MOST_USERS, Question, below, number_between, number_of_runs, question
from experiments.errors import UserError

FIRST = 16  # users an arm with which the search for the least number begins
FACTOR, STEPS = 4, 4  # it grows by this factor until it is enough, and is bisected so often
USUAL = 0.05  # the error of rules that stop by themselves, if none is given
RUNS = 1000  # of each policy, and more for a small error
TOO_FEW = f"error: no policy is seen to name the best arm so surely with {MOST_USERS:,} users"
CURVE = (1 / 16, 1 / 4, 4)  # times the number of users


@dataclass(frozen=True)
class Naming:
    """The answer about the best arm.

    Attributes
    ----------
    asking: with the number of users that was given, or the least that was found to be enough; of a range of gaps with
        the smallest.
    error: the probability of a wrong arm that is allowed; None if the number of users was given.
    rows: policies that promise enough, the least often wrong first.
    free: the least often wrong without privacy.
    curve: (users, the row that is least often wrong there of those that use all; at the number of `asking` of all).
    sure: of an `error`, (users, a rule that stops by itself and errs so seldom whatever the gaps are) with which it has
        stopped in time; None if it was not found.
    nearby: (factor, users, row): the same with all gaps times a factor, half and twice, or those to the middle and the
        largest of a range. The row is the one that is least often wrong of those that use all users; with an `error`,
        `users` are enough there, or None if none are.
    """

    asking: Question
    error: float | None
    rows: list[Namer]
    free: Namer
    curve: list[tuple[int, Namer]]
    sure: tuple[int, Namer] | None = None
    nearby: list[tuple[float, int | None, Namer | None]] = field(default_factory=list)


@dataclass(frozen=True)
class _Search:
    """Who is least often wrong, by the number of users, each simulated once."""

    case: NamingCase
    tell: Callable[[str], None]
    fixed: dict[int, list[Namer]] = field(default_factory=dict)

    def best(self, users: int) -> Namer:
        """The least often wrong of those that use all users."""
        return self.all_of(users)[0]

    def at_most(self, users: int) -> float:
        """The least probability of a wrong arm that is known of some policy that uses all users."""
        return min(row.at_most for row in self.all_of(users))

    def all_of(self, users: int) -> list[Namer]:
        """Those that use all users, the least often wrong first."""
        if users not in self.fixed:
            self.tell(f"{users:,} users")
            self.fixed[users] = self.case.namers(users, rules=False)
        return self.fixed[users]

    def fewest(self, error: float) -> int:
        """About the least number of users that is enough. Raises `UserError` if none is."""
        if len(self.case.means) == 2:
            return min(_fewest_of_two(design, error) for design in self.case.designs)
        return _fewest(self.at_most, FIRST * len(self.case.means), error)


def name_best(
    tell: Callable[[str], None] = lambda _: None,
    results_dir: str | None = None,
    runs: int | None = None,
    error: float | None = None,
    users: float | str | None = None,
    **fields: Any,
) -> Naming:
    """How often a wrong arm is named with these `users`, or how many it takes to err with probability `error` at most.

        name_best(means=[0.03, 0.033], epsilon=0.5, error=0.05).asking.users

    Fields are those of `advise`, and `users="?"` asks for their number. It is enough if the interval of the
    probability of a wrong arm ends below the error, or what is proved does, for some policy, so that the number of
    users is on the safe side; for two arms it is computed, and exact. `runs` of each policy, at least so many that this
    can be seen; enough for that if left out. A range of gaps is answered at its smallest, which is the hardest.
    Raises `UserError`, one line that names the field.
    """
    users = None if users == "?" else users
    if (users is None) == (error is None):
        raise UserError("users: give either users or the error that is allowed")
    asking = question(users=MOST_USERS if users is None else users, **fields).hardest
    if asking.rewards == "heavy":
        raise UserError("rewards: goal=best_arm is answered for clicks and bounded rewards, which are rounded")
    allowed = None if error is None else number_between(error, "error", 0.001, below(0.5))
    many = _runs(runs, None if len(asking.means) == 2 else allowed)
    case = _case(asking, allowed or USUAL, many, results_dir)
    search = _Search(case, tell)
    number = asking.users if allowed is None else search.fewest(allowed)
    if allowed is None or len(asking.means) == 2:
        for factor in CURVE:
            if FIRST * len(asking.means) <= round(number * factor) <= MOST_USERS:
                search.best(round(number * factor))
    best = case.namers(number)
    curve = sorted(({at: rows[0] for at, rows in search.fixed.items()} | {number: best[0]}).items())
    sure = None if allowed is None else _sure(case, number, allowed)
    nearby = []
    for factor in asking.nearby:
        tell(f"the same with {factor:.3g} times the gaps")
        there = _Search(replace(case, means=asking.with_gaps(factor).means), tell)
        nearby.append((factor, *_there(there, number, allowed)))
    return Naming(replace(asking, users=number), allowed, best, case.free.namers(number)[0], curve, sure, nearby)


def _case(asking: Question, beta: float, runs: int, results_dir: str | None) -> NamingCase:
    """The case of a question: a rho alone, or epsilon with its delta."""
    promise, by_rho = asking.promise, asking.rho is not None
    return NamingCase(
        means=asking.means,
        epsilon=None if by_rho else promise.epsilon,
        rho=promise.rho if by_rho else None,
        beta=beta,
        runs=runs,
        results_dir=results_dir,
        trust=asking.trust,
        delta=0.0 if by_rho else promise.delta,
    )


def _runs(runs: Any, error: float | None) -> int:
    """The number of runs of each policy, enough to see the error that is allowed, if any. Raises `UserError`."""
    least = 1 if error is None else runs_to_show(error)
    if runs is None:
        return max(RUNS, least)
    if (number := number_of_runs(runs)) < least:
        raise UserError(f"runs: must be at least {least} to see an error of at most {error:g}, got {number}")
    return number


def _there(search: _Search, users: int, error: float | None) -> tuple[int | None, Namer | None]:
    """The number of users, the given one or what is enough, and who is least often wrong."""
    try:
        number = users if error is None else search.fewest(error)
    except UserError:  # none is enough
        return None, None
    return number, search.best(number)


def _sure(case: NamingCase, number: int, error: float) -> tuple[int, Namer] | None:
    """The first of 1, 4, 16, ... times this number of users with which a rule that stops by itself has done so."""
    for _ in range(STEPS + 1):
        stopped = [row for row in case.namers(number) if row.stops and row.at_most <= error]
        if stopped:
            return number, min(stopped, key=lambda row: row.users)
        number *= FACTOR
    return None


def _fewest_of_two(design: TwoArms, error: float) -> int:
    """The least number of users with which one noisy difference of two arms errs so seldom."""
    try:
        number = 2 * design.pulls_for(error)
    except ParameterError as problem:
        raise UserError(f"error: {problem}") from None
    if number > MOST_USERS:
        raise UserError(TOO_FEW)
    return number


def _fewest(at_most: Callable[[int], float], first: int, error: float) -> int:
    """About the least number of users with which some policy errs with probability `error` at most."""

    def enough(number: int) -> bool:
        return at_most(number) <= error

    high = first
    while not enough(high):
        high *= FACTOR
        if high > MOST_USERS:
            raise UserError(TOO_FEW)
    low = high // FACTOR
    for _ in range(STEPS if high > first else 0):
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
