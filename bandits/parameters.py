"""`ParameterError`, the one-line error for a parameter that is refused, and common checks."""

import math
from numbers import Real
from typing import Any


class ParameterError(ValueError):
    """A parameter outside its range.

    Attributes
    ----------
    parameter: the name of the dataclass field.
    problem: what is allowed and what was given.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter}: {problem}")
        self.parameter = parameter
        self.problem = problem

    def __reduce__(self) -> tuple[type["ParameterError"], tuple[str, str]]:
        return type(self), (self.parameter, self.problem)


def require(condition: bool, parameter: str, value: object, allowed: str) -> None:
    """Raise `ParameterError` unless `condition` holds."""
    if not condition:
        raise ParameterError(parameter, f"must be {allowed}, got {value}")


def is_real(value: Any) -> bool:
    """Whether it is a real number; a boolean is not, though it is an `int` in Python."""
    return isinstance(value, Real) and not isinstance(value, bool)


def real_number(value: Any, parameter: str) -> float:
    """A real number, of numpy too, as a float. Raises `ParameterError` for all else, a bool too, and if too large."""
    if not is_real(value):
        raise ParameterError(parameter, f"must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(parameter, "must be a number that a float can hold") from None


def as_whole(value: Any, parameter: str) -> int:
    """A whole number, also as a float (1e6) or of numpy, as an int. Raises `ParameterError` for all else."""
    whole = is_real(value) and math.isfinite(value) and value == int(value)
    require(whole, parameter, repr(value), "a whole number")
    return int(value)


def require_epsilon(epsilon: float) -> None:
    """Refuse a privacy budget that is not positive, is NaN, or whose square overflows or underflows."""
    require(isinstance(epsilon, Real) and not isinstance(epsilon, bool), "epsilon", repr(epsilon), "a number")
    require(1e-100 <= epsilon <= 1e100, "epsilon", epsilon, "a finite number > 0 (in 1e-100..1e100)")


def require_arms(arms: int, most: int = 2**62) -> None:
    """Refuse fewer than two arms, or more than `most`: what 64 bits count, or what fits into memory one by one."""
    require(2 <= arms <= most, "arms", arms, f"a whole number >= 2 (and at most {most})")
