"""Errors of one line for parameters that a class refuses."""

import math


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


def require_epsilon(epsilon: float) -> None:
    """A privacy budget is a finite number above zero (a NaN is neither), and not so small that noise overflows."""
    require(1e-100 <= epsilon < math.inf, "epsilon", epsilon, "a finite number > 0 (and at least 1e-100)")


def require_arms(arms: int) -> None:
    """A bandit has at least two arms."""
    require(arms >= 2, "arms", arms, "a whole number >= 2")
