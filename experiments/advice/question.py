"""A question for advice: what a user knows of the case, checked field by field."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandits.guarantees import Guarantee
from experiments.advice.budgets import TRUSTS
from experiments.advice.past import Past, read_past
from experiments.config.plan import Combination
from experiments.errors import UserError, is_number, nearest, shown, whole_in
from experiments.evidence.contests import FEWEST

REWARDS = ("clicks", "bounded", "heavy")
SOURCES = ("means", "rate", "data")  # of what is known of the arms
FIELDS = (*SOURCES, "arms", "users", "epsilon", "delta", "rho", "gap", "trust", "rewards", "moment", "contributions")
MOST_ARMS, MOST_USERS, MOST_CONTRIBUTIONS = 1000, 10**12, 10**6
MOST_RUNS = 100_000
LEAST_MOMENT = 1.01  # with less, numbers of policies overflow for many users
TRIES = 8  # draws for an order that is wanted, as some are the same
USUAL_NEARBY = (0.5, 2.0)  # of gaps that are said to be known
DIGITS = 9  # of means, so that scaling leaves no rounding in keys
LEAST_GAP = 2e-9  # so that half of it is not rounded to 0


@dataclass(frozen=True)
class Question:
    """A case: `means` of the arms in the order in which they are played, how many users, and the promise.

    Attributes
    ----------
    means: the best arm at a place that the content of the question draws.
    rewards: clicks (0 or 1), bounded (Beta with these means, concentration 2), or heavy (Pareto with these means and a
        finite moment of order `moment`, the largest number known to the policy).
    contributions: how many rewards one user gives; `epsilon`, `delta` and `rho` are about all of them.
    past: rewards that were observed, drawn again with replacement in place of a law.
    nearby: factors of all gaps at which the answer is repeated: half and twice, or the ends of a range of gaps.
    ranged: whether a range of gaps was given, of which `means` have the geometric middle, or those of `hardest`.
    believed: means for which a policy may be designed, if they are not those that are played: of the question before
        its gaps were changed.
    """

    means: tuple[float, ...]
    users: int
    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    trust: str = "central"
    rewards: str = "clicks"
    moment: float | None = None
    contributions: int = 1
    past: Past | None = None
    nearby: tuple[float, float] = USUAL_NEARBY
    ranged: bool = False
    believed: tuple[tuple[float, ...], ...] = ()

    @property
    def promise(self) -> Guarantee:
        """The guarantee about one reward that a policy must imply, so that one user has that of the question.

        By group privacy m rewards have m epsilon and delta sum_(i < m) e^(i epsilon), or m^2 rho.
        """
        many, scope = self.contributions, TRUSTS[self.trust]
        epsilon = self.epsilon / many
        if self.rho is not None:
            return Guarantee.concentrated(self.rho / many**2, epsilon, scope)
        return Guarantee(epsilon, self.delta / sum(math.exp(i * epsilon) for i in range(many)), scope)

    @property
    def instance(self) -> Combination:
        """The values of a config that make the instance."""
        means = ("instance.means", list(self.means))
        if self.past is not None and self.rewards == "bounded":
            values, counts = (list(map(list, part)) for part in (self.past.values, self.past.counts))
            return (("instance", "empirical"), ("instance.values", values), ("instance.counts", counts))
        if self.moment is not None:
            return (("instance", "pareto"), means, ("instance.v", round(self.moment - 1, DIGITS)))
        return (("instance", "bernoulli" if self.rewards == "clicks" else "beta"), means)

    @property
    def uniform(self) -> float:
        """Expected reward that pulling all arms equally often loses: users times the mean gap."""
        return self.users * (max(self.means) - math.fsum(self.means) / len(self.means))

    def orders(self, most: int) -> list[tuple[int, ...]]:
        """Up to `most` different orders in which to play the arms, the present one first, others drawn at random.

        Two orders are the same if all means are.
        """
        draw, different = np.random.default_rng(seed_of(self.means)), {self.means: tuple(range(len(self.means)))}
        for _ in range(TRIES * most):
            order = tuple(map(int, draw.permutation(len(self.means))))
            if len(different) < most:
                different.setdefault(tuple(self.means[arm] for arm in order), order)
        return list(different.values())

    def in_order(self, order: Sequence[int]) -> "Question":
        """The same with arm order[i] in place i."""
        past = None if self.past is None else self.past.in_order(order)
        return replace(self, means=tuple(self.means[arm] for arm in order), past=past)

    def with_gaps(self, factor: float) -> "Question":
        """The same with all distances to the second best mean times `factor`, cut to what rewards may be; places stay.

        Rewards that were observed become Beta ones.
        """
        second = sorted(self.means)[-2]
        low, high = {"clicks": (0.0, 1.0), "bounded": (1e-6, 1 - 1e-6), "heavy": (1e-6, math.inf)}[self.rewards]
        moved = (round(second + (mean - second) * factor, DIGITS) for mean in self.means)
        means = tuple(min(max(mean, low), high) for mean in moved)
        return replace(self, means=means, past=None, believed=self.designs)

    @property
    def gap(self) -> float:
        """By how much the best mean is above the second."""
        *_, second, best = sorted(self.means)
        return float(round(best - second, DIGITS))

    @property
    def hardest(self) -> "Question":
        """Of a range of gaps the question at its smallest, repeated at its middle and its largest; else the same."""
        if not self.ranged:
            return self
        low, high = self.nearby
        return replace(self.with_gaps(low), nearby=(1 / low, high / low))

    @property
    def designs(self) -> tuple[tuple[float, ...], ...]:
        """The means that whoever asks holds possible: those given, and the ends of a range of gaps."""
        if self.believed or not self.ranged:
            return self.believed or (self.means,)
        at_one_gap = replace(self, ranged=False)
        return (self.means, *(at_one_gap.with_gaps(factor).means for factor in self.nearby))

    def with_budget(self, factor: float) -> "Question":
        """The same with `factor` times epsilon, and the square of it times rho; delta stays."""
        rho = None if self.rho is None else self.rho * factor**2
        return replace(self, epsilon=self.epsilon * factor, rho=rho)

    @property
    def weaker(self) -> list[str]:
        """Weaker trusts than that of the question, the strongest first."""
        return list(TRUSTS)[list(TRUSTS).index(self.trust) + 1 :]


def question(**fields: Any) -> Question:
    """The question of the fields that a user gave. Raises `UserError`, one line that names the field."""
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        if name not in FIELDS:
            raise UserError(f"{name}: unknown field; {nearest(name, FIELDS)}")
    trust = _choice(given, "trust", tuple(TRUSTS), "central")
    users = whole_in({"users": None} | given, "users", 2, MOST_USERS)
    means, rewards, past, ends = _arms_of(given)
    if users < len(means):
        raise UserError(f"users: must be at least the {len(means)} arms, got {users}")
    moment = _moment(given, rewards)
    epsilon, rho = _budget(given)
    delta = number_between(given.get("delta", 0.0), "delta", 0.0, below(1.0))
    if rho is not None and delta:
        raise UserError("delta: leave it out beside rho, which says more")
    many = whole_in({"contributions": 1} | given, "contributions", 1, MOST_CONTRIBUTIONS)
    order = np.random.default_rng(seed_of(means)).permutation(np.argsort(means, kind="stable"))
    means = tuple(float(round(means[arm], DIGITS)) for arm in order)
    past = None if past is None else past.in_order(order)
    nearby, ranged = ends or USUAL_NEARBY, ends is not None
    return Question(means, users, epsilon, delta, rho, trust, rewards, moment, many, past, nearby, ranged)


Ends = tuple[float, float]  # of a range of gaps, as factors of its middle


def _arms_of(given: Mapping[str, Any]) -> tuple[tuple[float, ...], str, Past | None, Ends | None]:
    """The means of the arms, what rewards are, those that were observed, and the range of gaps, from the one source."""
    sources = [name for name in SOURCES if name in given]
    if len(sources) != 1:
        raise UserError("means: give one of means=[...], rate with arms and gap, or data=file.csv")
    for name in ("gap", "arms"):
        if name in given and "rate" not in given:
            raise UserError(f"{name}: leave it out beside {sources[0]}, which says it")
    if "data" in given:
        return _of_data(given)
    rewards = _choice(given, "rewards", REWARDS, "clicks")
    if "rate" in given:
        means, ends = _of_rate(given, rewards)
        return means, rewards, None, ends
    means = _of_list(given["means"])
    _check(means, rewards, "means")
    return means, rewards, None, None


def _of_data(given: Mapping[str, Any]) -> tuple[tuple[float, ...], str, Past, None]:
    heavy = given.get("rewards") == "heavy"
    if "rewards" in given and not heavy:
        raise UserError("rewards: leave it out beside data, which says it, or say heavy")
    past = read_past(given["data"], heavy)
    _check(past.means, past.rewards, f"data: {given['data']}")
    return past.means, past.rewards, past, None


def number_of_runs(runs: Any, least: int = FEWEST) -> int:
    """The number of runs of each policy that is judged, at least so many. Raises `UserError`."""
    return whole_in({"runs": runs}, "runs", least, MOST_RUNS)


def seed_of(means: Sequence[float]) -> int:
    """A seed that follows from the means, in any order."""
    return int.from_bytes(hashlib.sha256(repr(sorted(means)).encode()).digest()[:8], "big")


def _check(means: Sequence[float], rewards: str, source: str) -> None:
    """Refuse means outside the range of rewards, too few or too many, or two that are the largest once rounded."""
    means = [round(mean, DIGITS) for mean in means]
    inside, good = {
        "clicks": ("[0, 1]", all(0 <= mean <= 1 for mean in means)),
        "bounded": ("(0, 1)", all(0 < mean < 1 for mean in means)),
        "heavy": ("(0, 1e9)", all(0 < mean < 1e9 for mean in means)),
    }[rewards]
    if not good:
        raise UserError(f"{source}: means must be in {inside}, got {shown(list(means))}")
    if not 2 <= len(means) <= MOST_ARMS:
        raise UserError(f"{source}: must have 2 to {MOST_ARMS} arms, got {len(means)}")
    if round(sorted(means)[-1] - sorted(means)[-2], DIGITS) < LEAST_GAP:
        raise UserError(f"{source}: one arm must be the best by {LEAST_GAP:g}, two have about the mean {max(means):g}")


def _moment(given: Mapping[str, Any], rewards: str) -> float | None:
    if rewards != "heavy":
        if "moment" in given:
            raise UserError("moment: only for rewards=heavy")
        return None
    return number_between(given.get("moment", 1.5), "moment", LEAST_MOMENT, 2.0)


def _of_list(means: Any) -> tuple[float, ...]:
    try:
        return tuple(float(mean) for mean in means)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"means: must be a list of numbers, as [0.03,0.033], got {shown(means)}") from None


def _of_rate(given: Mapping[str, Any], rewards: str) -> tuple[tuple[float, ...], Ends | None]:
    """One arm of mean rate + gap, of three or more one of rate - gap, all others `rate`.

    A range of gaps is answered at its geometric middle.
    """
    arms, largest = whole_in({"arms": None, **given}, "arms", 2, MOST_ARMS), 1.0 if rewards != "heavy" else 1e9
    rate = number_between(given["rate"], "rate", 0.0, largest)
    ends = given.get("gap")
    ends = [ends, ends] if not isinstance(ends, Sequence) or isinstance(ends, str) else list(ends)
    if len(ends) != 2:
        raise UserError(f"gap: must be a number or [low,high], got {shown(given['gap'])}")
    low, high = (number_between(end, "gap", 0.0, largest) for end in ends)
    most = math.inf if rewards == "heavy" else 1.0
    if not LEAST_GAP <= low <= high or rate + high > most or (arms > 2 and rate < high):
        raise UserError(
            f"gap: must be at least {LEAST_GAP:g}, low before high, rate - gap and rate + gap in 0..{most:g}, "
            f"got {shown(ends)}"
        )
    middle = math.sqrt(low * high)
    worst = [round(rate - middle, DIGITS)] if arms > 2 else []
    means = (round(rate + middle, DIGITS), *[rate] * (arms - 1 - len(worst)), *worst)
    _check(means, rewards, "rate")
    return means, None if low == high else (low / middle, high / middle)


def _budget(given: Mapping[str, Any]) -> tuple[float, float | None]:
    """Epsilon and rho; of a rho alone, epsilon is the one whose pure privacy implies it."""
    if ("epsilon" in given) == ("rho" in given):
        raise UserError("epsilon: give either epsilon or rho")
    if "rho" in given:
        rho = number_between(given["rho"], "rho", 1e-9, 1e3)
        return math.sqrt(2 * rho), rho
    return number_between(given["epsilon"], "epsilon", 1e-6, 100.0), None


def number_between(value: Any, name: str, low: float, high: float) -> float:
    """A number from `low` to `high`. Raises `UserError`."""
    if not is_number(value) or not low <= value <= high:
        raise UserError(f"{name}: must be a number from {low:g} to {high:g}, got {shown(value)}")
    return float(value)


def below(limit: float) -> float:
    """The largest number that is less."""
    return math.nextafter(limit, -math.inf)


def _choice(given: Mapping[str, Any], name: str, words: Sequence[str], default: str) -> str:
    value = given.get(name, default)
    if value not in words:
        raise UserError(f"{name}: must be one of {', '.join(words)}, got {shown(value)}")
    return str(value)
