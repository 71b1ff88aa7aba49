"""Does an upper bound match a lower bound up to constants? No finite set of numbers settles it; growth may refute it.

The ratio of the two must never be below 1, or one of them is wrong. And it must not grow along any parameter: a factor
log T that only one of them has trebles from T = 10^100 to 10^300, one of log K grows sixfold from 4 to 4096 arms.
"""

from collections.abc import Callable, Mapping

from experiments.claims.settings import Setting
from experiments.intervals import exactly

GROWTH = 0.05  # ours: allowed growth of a ratio along a parameter, for lower-order terms

Parameters = Mapping[str, float]


def matching(ratio: Callable[..., float], base: Parameters, further: Parameters, **labels: object) -> list[Setting]:
    """The `ratio` of upper to lower bound at `base`, and its growth when one parameter takes its value in `further`."""
    start = ratio(**base)
    settings = [Setting({**labels, "of": "upper over lower bound"}, exactly(start), at_least=1.0)]
    for name, value in further.items():
        growth = ratio(**{**base, name: value}) / start - 1
        where = {**labels, "of": f"growth from {start:.4g}, {name} from {base[name]:g} to {value:g}"}
        settings.append(Setting(where, exactly(growth), at_most=GROWTH))
    return settings
