"""Planted faults, to learn whether an audit would see noise that is too small.

`with_budget` is the same policy with a larger budget, which is judged by the promise of the smaller one: whatever draws
its noise, a compiled loop too, draws less. What else follows the budget, as the length of an epoch, follows it as well.

`ScaledNoise` is a generator whose noise is scaled, for classes without a budget. A policy that is played with it is the
same policy with its noise removed (factor 0) or halved (factor 1/2). Draws of a law with a location are scaled about
the location, others about 0; counts (geometric, Poisson) are rounded. Choices are not noise and stay as they are:
`integers`, `random`, `uniform`, `choice`, `permutation`, `binomial`, `beta`.
"""

import dataclasses
from typing import Any

import numpy as np

from bandits.guarantees import Guarantee
from bandits.parameters import ParameterError

BUDGETS = {"epsilon": 1, "level": 1, "rho": 2}  # parameters, with the power of 1 / noise that they grow with

LOCATED = ("laplace", "normal", "logistic", "gumbel")  # laws whose first parameter is a location, 0 if none is given
FROM_ZERO = (
    *("exponential", "gamma", "rayleigh", "weibull", "chisquare"),
    *("standard_normal", "standard_exponential", "standard_gamma", "standard_cauchy", "standard_t"),
)
COUNTS = {"geometric": 1, "poisson": 0}  # the least value


class ScaledNoise(np.random.Generator):
    """A generator whose noise is multiplied by `factor`. It makes the same draws as one of the same bit generator.

    `draws` is the number of calls that were scaled. Compiled loops and generators that a policy makes for itself do not
    come here: then it stays 0.
    """

    def __init__(self, bits: np.random.BitGenerator, factor: float) -> None:
        super().__init__(bits)
        self.factor, self.draws = factor, 0


def _scaled(name: str) -> Any:
    draw = getattr(np.random.Generator, name)

    def scaled(self: ScaledNoise, *arguments: Any, **named: Any) -> Any:
        self.draws += 1
        location: Any = COUNTS.get(name, 0)
        if name in LOCATED:
            location = np.asarray(named["loc"] if "loc" in named else arguments[0] if arguments else 0.0)
        noise = self.factor * (draw(self, *arguments, **named) - location)
        value = location + (np.rint(noise).astype(int) if name in COUNTS else noise)
        return value if np.ndim(value) else value.item() if isinstance(value, np.generic | np.ndarray) else value

    return scaled


for _name in (*LOCATED, *FROM_ZERO, *COUNTS):
    setattr(ScaledNoise, _name, _scaled(_name))


def with_budget(policy: Any, factor: float) -> tuple[Any, str]:
    """The policy with noise divided by `factor` through its budget, and that budget in words, as `epsilon=2`.

    Raises `ParameterError` for a policy that has no budget, or that refuses this one.
    """
    inner = getattr(policy, "policy", policy)  # which `GivenMoments` plays
    fields = (
        [field.name for field in dataclasses.fields(inner) if field.init] if dataclasses.is_dataclass(inner) else []
    )
    given = {name: getattr(inner, name) for name in BUDGETS if name in fields}
    budget = {name: value * factor ** BUDGETS[name] for name, value in given.items() if value is not None}
    if not budget:
        raise ParameterError("policy", f"{policy.name} has no parameter {', '.join(BUDGETS)}: no fault is planted")
    planted = dataclasses.replace(inner, **budget)
    planted = planted if inner is policy else dataclasses.replace(policy, policy=planted)
    return planted, ", ".join(f"{name}={value:g}" for name, value in budget.items())


def promising(policy: Any, promise: Guarantee) -> Any:
    """The policy as it is, with another promise, at which its exact bounds are then computed."""
    name = type(policy).__name__
    other: Any = object.__new__(type(name, (type(policy),), {"guarantee": property(lambda _: promise)}))
    other.__dict__.update(vars(policy))
    return other
