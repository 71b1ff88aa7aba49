"""Checks of arguments: whole numbers, budgets, and rewards with their domain."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from bandits.parameters import ParameterError, require


def whole(value: Any, parameter: str, least: int) -> int:
    """A whole number, which may be written 1e6. Raises `ParameterError` for any other value."""
    allowed = is_number(value) and math.isfinite(as_float(value)) and value == int(value) and value >= least
    require(allowed, parameter, repr(value), f"a whole number >= {least}")
    return int(value)


def is_integer(value: Any) -> bool:
    """Whether it is of an integer type; a boolean is not, though it is an `int` in Python."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def budget(epsilon: Any) -> float:
    """A privacy budget to compare with. Raises `ParameterError` for NaN, which no budget exceeds."""
    require(is_number(epsilon) and epsilon >= 0, "epsilon", repr(epsilon), "a number >= 0")
    return as_float(epsilon)


def truth(value: Any, parameter: str) -> bool:
    """True or False. Raises `ParameterError` for anything else, such as "no", which is true in Python."""
    require(isinstance(value, bool), parameter, repr(value), "True or False")
    return bool(value)


@dataclass(frozen=True)
class RewardDomain:
    """The least and the largest reward. Raises `ParameterError` for anything else than two numbers in this order.

    Attributes
    ----------
    clamp: whether rewards outside are moved to the nearest end, or else refused.
    """

    low: float
    high: float
    clamp: bool = False

    @classmethod
    def of(cls, ends: Any, clamp: bool = False) -> "RewardDomain":
        """The domain with these two ends."""
        try:
            numbers = all(map(is_number, ends))
            low, high = map(as_float, ends)
            allowed = numbers and low < high and math.isfinite(high - low)
        except (TypeError, ValueError):
            allowed = False
        if not allowed:
            raise ParameterError("domain", f"must be two finite numbers, the lower one first, got {ends!r}")
        return cls(low, high, clamp)

    def unit(self, reward: Any, parameter: str = "reward") -> float:
        """A reward on the scale from 0 to 1. Raises `ParameterError` for one outside the domain, and for NaN."""
        require(is_number(reward), parameter, repr(reward), "a number")
        value = as_float(reward)
        if self.clamp and not math.isnan(value):
            value = min(max(value, self.low), self.high)
        allowed = self.low <= value <= self.high
        require(allowed, parameter, reward, f"a number in [{self.low:g}, {self.high:g}]")
        return min(1.0, (value - self.low) / (self.high - self.low))


def as_float(number: Any) -> float:
    """A number as a double: in the caller's type a difference may wrap around, as 100 - -100 = -56 in 8 bits."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_number(value: Any) -> bool:
    """Whether it is a real number; a boolean is not, though it is an `int` in Python."""
    return isinstance(value, Real) and not isinstance(value, bool)
