"""Checks of arguments: whole numbers, budgets, and rewards with their domain."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from bandits.parameters import ParameterError, is_real, require

MOST = 2**62  # of whole numbers here, which a journal holds in 64 bits


def whole_at_least(value: Any, parameter: str, least: int) -> int:
    """A whole number of at most 2^62, which may be written 1e6. Raises `ParameterError` for any other value."""
    allowed = is_real(value) and abs(as_float(value)) <= MOST and value == int(value) and value >= least
    require(allowed, parameter, repr(value), f"a whole number >= {least}")
    return int(value)


def is_integer(value: Any) -> bool:
    """Whether it is of an integer type; a boolean is not, though it is an `int` in Python."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_numbers(values: Any) -> list[int]:
    """A list of integers, as a row of a journal has it. Raises `ValueError` for anything else."""
    if not isinstance(values, list) or not all(map(is_integer, values)):
        raise ValueError(f"{shortened(values)} is no list of whole numbers")
    return values


def pulls_in_a_row(body: Mapping[str, Any], arms: int, most: int) -> list[tuple[int, int]]:
    """Pulls in a row, pairs of an arm and a number, as the whole body of a row: at most `most` pulls of `arms` arms.

    Raises `ValueError` for anything else.
    """
    only(body, "arms")
    if not isinstance(body["arms"], list) or not body["arms"]:
        raise ValueError(f"{shortened(body['arms'])} is no list of pulls")
    pairs = [tuple(whole_numbers(pair)) for pair in body["arms"]]
    for pair in pairs:
        if len(pair) != 2 or not 0 <= pair[0] < arms or pair[1] < 1:
            raise ValueError(f"{shortened(pair)} is no pair of one of {arms} arms and a number of pulls")
    if sum(count for _, count in pairs) > most:
        raise ValueError(f"it has more than the {most} pulls that are left")
    return [(arm, count) for arm, count in pairs]


def only(body: Mapping[str, Any], *keys: str) -> None:
    """Raise `ValueError` for a key that such a row does not have."""
    for key in body:
        if key not in keys:
            raise ValueError(f"it has a key {shortened(key)}")


def shortened(value: Any) -> str:
    """A value from a file, in one line of at most 200 characters."""
    return " ".join(str(value).split())[:200]


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: JSON may carry halves of characters, as "\\ud800"."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def budget(epsilon: Any) -> float:
    """A privacy budget to compare with. Raises `ParameterError` for NaN, which no budget exceeds."""
    require(is_real(epsilon) and epsilon >= 0, "epsilon", repr(epsilon), "a number >= 0")
    return as_float(epsilon)


def true_or_false(value: Any, parameter: str) -> bool:
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
            numbers = all(map(is_real, ends))
            low, high = map(as_float, ends)
            allowed = numbers and low < high and math.isfinite(high - low)
        except (TypeError, ValueError):
            allowed = False
        if not allowed:
            raise ParameterError("domain", f"must be two finite numbers, the lower one first, got {ends!r}")
        return cls(low, high, clamp)

    def unit(self, reward: Any, parameter: str = "reward") -> float:
        """A reward on the scale from 0 to 1. Raises `ParameterError` for one outside the domain, and for NaN."""
        require(is_real(reward), parameter, repr(reward), "a number")
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


TYPES: Mapping[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (is_integer, "an integer"),
    float: (is_real, "a number"),
    str: (lambda value: isinstance(value, str), "a text"),
    NoneType: (lambda value: value is None, "None"),
}  # of JSON: the check of a value, and what it allows


def require_type(value: Any, hint: Any, parameter: str) -> None:
    """Raise `ParameterError` unless a value is of the type of its field; of one that JSON lacks the policy decides."""
    require(_fits(value, hint), parameter, repr(value), _in_words(hint))


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    return TYPES[hint][0](value) if hint in TYPES else True


def _in_words(hint: Any) -> str:
    return TYPES[hint][1] if hint in TYPES else " or ".join(map(_in_words, get_args(hint)))
