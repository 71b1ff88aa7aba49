"""How many samples DP-Bernstein takes: theorem 10.2 of bandits/policies/bernstein_stopping.md, ours."""

import math

from bandits.parameters import require
from bandits.policies.bernstein_stopping import DPBernstein


def bernstein_samples(
    mean: float, deviation: float, bound: float, epsilon: float, accuracy: float, beta: float
) -> float:
    """A number of samples that DP-Bernstein exceeds with probability at most beta.

    2^(k + 1) - 2 for the first block k with |mean| >= (2 + 1/accuracy) w', where w' is the width w at the V that is
    exceeded with probability at most 1.5 e^-L: sigma^2 + sigma R sqrt(8L/n) + (4/3 + 8/epsilon) R^2 L/n. Of the order
    sigma^2/(accuracy mean)^2 + R/(accuracy |mean|) (1 + 1/epsilon), times log(1/beta) + log log.

    Raises `ParameterError` for a bound that is not positive, a mean of 0 or beyond the bound, a deviation that the
    bound excludes, and what `DPBernstein` refuses; `OverflowError` for more than 2^1000 samples.
    """
    rule = DPBernstein(epsilon, accuracy, beta)
    require(0 < bound < math.inf, "bound", bound, "a number above 0")
    require(0 < abs(mean) <= bound, "mean", mean, f"a number other than 0 in [-{bound:g}, {bound:g}]")
    most = math.sqrt(bound**2 - mean**2)
    require(0 <= deviation <= most * (1 + 1e-12), "deviation", deviation, f"a number in [0, {most:g}]")
    for block in range(1, 1000):
        n, log = 2.0**block, rule.log_term(block)
        spread = deviation**2 + deviation * bound * math.sqrt(8 * log / n)
        spread += (4 / 3 + 8 / epsilon) * bound**2 * log / n
        if abs(mean) >= (2 + 1 / accuracy) * rule.width(block, spread, bound):
            return 2.0 ** (block + 1) - 2
    raise OverflowError("DP-Bernstein may take more than 2^1000 samples")
