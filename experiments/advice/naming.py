"""Which arm is the best: how often a wrong one is named with so many users, or how many it takes, for a question."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bandits import ParameterError
from bandits.exact.two_arms import TwoArms
from experiments.advice.question import MOST_USERS, Question, question
from experiments.config.compose import Composer
from experiments.errors import UserError, shown
from experiments.fixed_budget import Namer, namers

FIRST = 16  # users an arm with which the search for the least number begins
FACTOR, STEPS = 4, 4  # it grows by this factor until it is enough, and is bisected so often
USUAL = 0.05  # the error of rules that stop by themselves, if none is given
TOO_FEW = f"error: no policy names the best arm so surely with {MOST_USERS:,} users"
CURVE = (1 / 16, 1 / 4, 4)  # times the number of users


@dataclass(frozen=True)
class Naming:
    """The answer about the best arm.

    Attributes
    ----------
    asking: with the number of users that was given, or the least that was found to be enough.
    error: the probability of a wrong arm that is allowed; None if the number of users was given.
    rows: policies that promise enough, the least often wrong first.
    free: the least often wrong without privacy.
    curve: (users, the row that is least often wrong there).
    sure: of an `error`, (users, a rule that stops by itself and errs so seldom whatever the gaps are) with which it has
        stopped in time; None if it was not found.
    """

    asking: Question
    error: float | None
    rows: list[Namer]
    free: Namer
    curve: list[tuple[int, Namer]]
    sure: tuple[int, Namer] | None = None


def name_best(
    tell: Callable[[str], None] = lambda _: None,
    results_dir: str | None = None,
    runs: int = 1000,
    error: float | None = None,
    users: float | str | None = None,
    **fields: Any,
) -> Naming:
    """How often a wrong arm is named with these `users`, or how many it takes to err with probability `error` at most.

        name_best(means=[0.03, 0.033], epsilon=0.5, error=0.05).asking.users

    Fields are those of `advise`, and `users="?"` asks for their number. It is enough if the interval of the probability
    of a wrong arm ends below the error, for some policy, so that the number of users is on the safe side; for two arms
    it is computed, and exact. Raises `UserError`, one line that names the field.
    """
    users = None if users == "?" else users
    if (users is None) == (error is None):
        raise UserError("users: give either users or the error that is allowed")
    asking = question(users=MOST_USERS if users is None else users, **fields)
    if asking.trust != "central":
        raise UserError(f"trust: goal=best_arm is answered for trust=central, got {asking.trust}")
    if asking.rewards == "heavy":
        raise UserError("rewards: goal=best_arm is answered for clicks and bounded rewards, which are rounded")
    promise = asking.promise
    epsilon, rho = (promise.epsilon, None) if asking.rho is None else (None, promise.rho)
    curve: dict[int, list[Namer]] = {}
    composer = Composer()

    def rows(number: int) -> list[Namer]:
        if number not in curve:
            tell(f"{number:,} users")
            curve[number] = namers(
                asking.means,
                number,
                epsilon=epsilon,
                rho=rho,
                beta=error or USUAL,
                runs=runs,
                results_dir=results_dir,
                composer=composer,
            )
        return curve[number]

    if error is None:
        number = asking.users
    else:
        allowed = _checked(error)
        if len(asking.means) == 2:
            number = _fewest_of_two(TwoArms((asking.means[0], asking.means[1]), epsilon, rho), allowed)
        else:
            number = _fewest(rows, FIRST * len(asking.means), allowed)
    if error is None or len(asking.means) == 2:
        for factor in CURVE:
            if FIRST * len(asking.means) <= round(number * factor) <= MOST_USERS:
                rows(round(number * factor))
    best, others = rows(number), sorted(curve.items())
    free = namers(asking.means, number, runs=runs, results_dir=results_dir, composer=composer)[0]
    sure = None if error is None else _sure(rows, number, error)
    return Naming(replace(asking, users=number), error, best, free, [(at, there[0]) for at, there in others], sure)


def _sure(rows: Callable[[int], list[Namer]], number: int, error: float) -> tuple[int, Namer] | None:
    """The first of 1, 4, 16, ... times this number of users with which a rule that stops by itself has done so."""
    for _ in range(STEPS + 1):
        stopped = [row for row in rows(number) if row.stops and row.wrong.high <= error]
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


def _fewest(rows: Callable[[int], list[Namer]], first: int, error: float) -> int:
    """About the least number of users with which some policy errs with probability `error` at most."""

    def enough(number: int) -> bool:
        return min(row.wrong.high for row in rows(number)) <= error

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


def _checked(error: Any) -> float:
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0.001 <= error < 0.5:
        raise UserError(f"error: must be a number from 0.001 to 0.5, got {shown(error)}")
    return float(error)
