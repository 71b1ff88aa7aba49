"""Planted faults: a generator whose noise is scaled, to learn whether an audit would see noise that is too small.

A policy that is played with it is the same policy with its noise removed (factor 0) or halved (factor 1/2). Draws of a
law with a location are scaled about the location, others about 0; counts (geometric, Poisson) are rounded. Choices are
not noise and stay as they are: `integers`, `random`, `uniform`, `choice`, `permutation`, `binomial`, `beta`.
"""

from typing import Any

import numpy as np

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
