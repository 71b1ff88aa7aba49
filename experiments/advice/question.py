"""A question for advice: what a user knows of the case, checked field by field."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bandits.guarantees import Guarantee, Scope
from experiments.config.values import shown, whole_number
from experiments.errors import UserError, nearest

TRUSTS = {
    "local": Scope.LOCAL,
    "shuffle": Scope.SHUFFLE,
    "distributed": Scope.DISTRIBUTED,
    "central": Scope.TRANSCRIPT,
}  # from the strongest promise to the weakest
REWARDS = ("clicks", "bounded")
FIELDS = ("arms", "users", "epsilon", "delta", "rho", "rate", "gap", "means", "trust", "rewards")
MOST_ARMS, MOST_USERS = 1000, 10**12
DIGITS = 9  # of means, so that scaling leaves no rounding in keys


@dataclass(frozen=True)
class Question:
    """A case: `means` of the arms in the order in which they are played, how many users, and the promise.

    Attributes
    ----------
    means: the best arm at a place that the content of the question draws.
    rewards: clicks (0 or 1) or bounded (Beta with these means, concentration 2).
    nearby: factors of all gaps at which the answer is repeated: half and twice, or the ends of a range of gaps.
    """

    means: tuple[float, ...]
    users: int
    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    trust: str = "central"
    rewards: str = "clicks"
    nearby: tuple[float, float] = (0.5, 2.0)

    @property
    def promise(self) -> Guarantee:
        """The guarantee that a policy must imply."""
        if self.rho is not None:
            return Guarantee.concentrated(self.rho, self.epsilon, TRUSTS[self.trust])
        return Guarantee(self.epsilon, self.delta, TRUSTS[self.trust])

    @property
    def uniform(self) -> float:
        """Expected reward that pulling all arms equally often loses: users times the mean gap."""
        return self.users * (max(self.means) - math.fsum(self.means) / len(self.means))

    def with_gaps(self, factor: float) -> "Question":
        """The same with all distances to the second best mean times `factor`, cut to [0, 1]; places stay."""
        second = sorted(self.means)[-2]
        low, high = (0.0, 1.0) if self.rewards == "clicks" else (1e-6, 1 - 1e-6)
        moved = (round(second + (mean - second) * factor, DIGITS) for mean in self.means)
        return replace(self, means=tuple(min(max(mean, low), high) for mean in moved))


def question(**fields: Any) -> Question:
    """The question of the fields that a user gave. Raises `UserError`, one line that names the field."""
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        if name not in FIELDS:
            raise UserError(f"{name}: unknown field; {nearest(name, FIELDS)}")
    rewards = _choice(given, "rewards", REWARDS, "clicks")
    trust = _choice(given, "trust", tuple(TRUSTS), "central")
    users = _whole(given, "users", 2, MOST_USERS)
    means, nearby = _means(given, rewards)
    if users < len(means):
        raise UserError(f"users: must be at least the {len(means)} arms, got {users}")
    epsilon, rho = _budget(given)
    delta = _number(given, "delta", 0.0, 1.0, 0.0)
    if rho is not None and delta:
        raise UserError("delta: leave it out beside rho, which says more")
    values = np.array(means)
    seed = int.from_bytes(hashlib.sha256(repr(sorted(means)).encode()).digest()[:8], "big")
    means = tuple(map(float, np.random.default_rng(seed).permutation(np.sort(values))))
    return Question(means, users, epsilon, delta, rho, trust, rewards, nearby)


def _means(given: Mapping[str, Any], rewards: str) -> tuple[tuple[float, ...], tuple[float, float]]:
    """The means in any order, and the factors of nearby gaps."""
    sources = [name for name in ("means", "rate") if name in given]
    if len(sources) != 1:
        raise UserError("means: give one of means=[...], or rate with arms and gap")
    if sources == ["rate"]:
        return _of_rate(given)
    for name in ("gap", "arms"):
        if name in given:
            raise UserError(f"{name}: leave it out beside {sources[0]}, which says it")
    means = _of_list(given["means"])
    if not all(0 <= mean <= 1 for mean in means) or (rewards == "bounded" and not all(0 < mean < 1 for mean in means)):
        inside = "(0, 1)" if rewards == "bounded" else "[0, 1]"
        raise UserError(f"{sources[0]}: means must be in {inside}, got {shown(list(means))}")
    if not 2 <= len(means) <= MOST_ARMS:
        raise UserError(f"{sources[0]}: must have 2 to {MOST_ARMS} arms, got {len(means)}")
    if sorted(means)[-1] == sorted(means)[-2]:
        raise UserError(f"{sources[0]}: one arm must be the best, two have the mean {max(means):g}")
    return tuple(round(mean, DIGITS) for mean in means), (0.5, 2.0)


def _of_list(means: Any) -> tuple[float, ...]:
    try:
        return tuple(float(mean) for mean in means)
    except (TypeError, ValueError):
        raise UserError(f"means: must be a list of numbers, as [0.03,0.033], got {shown(means)}") from None


def _of_rate(given: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[float, float]]:
    """One arm of mean rate + gap, of three or more one of rate - gap, all others `rate`.

    A range of gaps is answered at its geometric middle.
    """
    arms = _whole(given, "arms", 2, MOST_ARMS)
    rate = _number(given, "rate", 0.0, 1.0)
    ends = given.get("gap")
    ends = [ends, ends] if not isinstance(ends, Sequence) or isinstance(ends, str) else list(ends)
    if len(ends) != 2:
        raise UserError(f"gap: must be a number or [low,high], got {shown(given['gap'])}")
    low, high = (_number({"gap": end}, "gap", 0.0, 1.0) for end in ends)
    if not 0 < low <= high or rate + high > 1 or (arms > 2 and rate < high):
        raise UserError(f"gap: must be above 0, low before high, rate - gap and rate + gap in 0..1, got {shown(ends)}")
    middle = math.sqrt(low * high)
    nearby = (0.5, 2.0) if low == high else (low / middle, high / middle)
    worst = [round(rate - middle, DIGITS)] if arms > 2 else []
    return (round(rate + middle, DIGITS), *[rate] * (arms - 1 - len(worst)), *worst), nearby


def _budget(given: Mapping[str, Any]) -> tuple[float, float | None]:
    """Epsilon and rho; of a rho alone, epsilon is the one whose pure privacy implies it."""
    if ("epsilon" in given) == ("rho" in given):
        raise UserError("epsilon: give either epsilon or rho")
    if "rho" in given:
        rho = _number(given, "rho", 1e-9, 1e3)
        return math.sqrt(2 * rho), rho
    return _number(given, "epsilon", 1e-6, 100.0), None


def _number(given: Mapping[str, Any], name: str, low: float, high: float, default: float | None = None) -> float:
    value = given.get(name, default)
    good = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if not good or (name == "delta" and value == 1):
        raise UserError(f"{name}: must be a number from {low:g} to {high:g}, got {shown(value)}")
    return float(value)  # checked


def _whole(given: Mapping[str, Any], name: str, least: int, most: int) -> int:
    try:
        value = whole_number(given.get(name))
    except ValueError as error:
        raise UserError(f"{name}: must be {error}") from None
    if not least <= value <= most:
        raise UserError(f"{name}: must be from {least} to {most}, got {value}")
    return value


def _choice(given: Mapping[str, Any], name: str, words: Sequence[str], default: str) -> str:
    value = given.get(name, default)
    if value not in words:
        raise UserError(f"{name}: must be one of {', '.join(words)}, got {shown(value)}")
    return str(value)
