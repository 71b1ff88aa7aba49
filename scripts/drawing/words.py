"""How figures write numbers, axes and cells."""

import math
from collections.abc import Iterable, Sequence

from experiments.stored import Stored


def power_of_ten(number: int) -> str:
    """`number` as mathematical text, as in 5 x 10^7; 2^20 where it is a power of two."""
    if number >= 1024 and number.bit_count() == 1:
        return f"$2^{{{number.bit_length() - 1}}}$"
    exponent = math.floor(math.log10(number))
    factor = number / 10**exponent
    return f"$10^{{{exponent}}}$" if factor == 1 else f"${factor:g}\\cdot10^{{{exponent}}}$"


def horizons(cells: Iterable[Stored]) -> str:
    """The horizons of `cells` as mathematical text."""
    return " and ".join(power_of_ten(horizon) for horizon in sorted({stored.cell.horizon for stored in cells}))


def runs(cells: Iterable[Stored]) -> str:
    """How many runs there are of the cells that are simulated; empty where there are none."""
    counts = sorted({stored.replications for stored in cells if not stored.exact})
    return " and ".join(map(str, counts))


def axes(scales: Sequence[str]) -> str:
    """Linear axes, or logarithmic ones."""
    words = {"linear": "linear", "log": "logarithmic"}
    return f"{' and '.join(dict.fromkeys(words[scale] for scale in scales))} axes"


def label(stored: Stored, behind: str = "") -> str:
    """The policy of a cell with its budget and scope, as a legend says it; `behind` follows the policy."""
    policy = stored.cell.policy
    guarantee = policy.guarantee
    if not guarantee.private:
        return f"{policy.legend()}{behind}, not private"
    budget = f"ε = {guarantee.epsilon:g}" + (f", δ = {guarantee.delta:.3g}" if guarantee.delta else "")
    return f"{policy.legend()}{behind}, {budget}, {guarantee.scope.value}"
