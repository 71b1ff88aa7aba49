"""The power of a verdict: which estimate would have made a setting fail.

The further an estimate can be from the limits without failing, the less a verdict in favour says. Intervals are those
of the verdict, corrected for the number of settings.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from experiments import intervals
from experiments.claims.settings import ANYTHING, Range, Setting
from experiments.intervals import Interval
from experiments.store.stored import Stored


def possible_of(cell: Stored, quantity: str, t: float) -> Range:
    """The range of possible values of a `quantity` of a cell after `t` steps, whatever its policy does."""
    if quantity in ("regret", "found_regret", "worst_regret"):
        gaps = getattr(cell.cell.instance, "gaps", None)  # a search for profiles has them in [0, 1]
        return Range(0.0, t * (1.0 if gaps is None else float(gaps.max())))
    if quantity == "suboptimal_pulls":
        return Range(0.0, t)
    return Range(1.0, t) if quantity == "samples" else ANYTHING


def in_turn(cell: Stored, quantity: str, t: float) -> float:
    """What a `quantity` of a cell is after `t` steps if all arms are pulled in turn; NaN where that is not known."""
    instance = cell.cell.instance
    gaps = getattr(instance, "gaps", None)
    if gaps is None or quantity not in ("regret", "suboptimal_pulls"):
        return math.nan
    counts = getattr(getattr(instance, "profile", None), "counts", np.ones(len(gaps)))
    return t * float(np.average(gaps if quantity == "regret" else gaps > 0, weights=counts))


def scaled(interval: Interval, at_least: float, at_most: float) -> Range:
    """The range of estimates that do not fail, if noise is proportional to a positive number, as regret or a ratio."""
    estimate, low, high = interval
    above = at_most * estimate / low if low > 0 else math.inf
    below = at_least * (estimate / high if estimate > 0 else 0.0) if at_least > 0 else -math.inf
    return Range(below, at_most if estimate == low else above)


@lru_cache(maxsize=100)
def counted(runs: int, at_least: float, at_most: float, error: float) -> Range:
    """The range of shares of `runs` that do not fail, by Clopper and Pearson's intervals."""
    low, high = intervals.share_ends(runs, error)
    kept = np.flatnonzero((low <= at_most) & (high >= at_least))
    return Range(float(kept[0]) / runs, float(kept[-1]) / runs)


def power_of(settings: Sequence[Setting]) -> str:
    """What would have made these settings fail, in a sentence; only for settings that count."""
    slack = [setting.slack for setting in settings if not math.isnan(setting.slack)]
    parts = [_of_slack(slack)] if slack else _of_departures(settings)
    reach = [setting.reach for setting in settings if not math.isnan(setting.reach)]
    if slack and reach:
        parts.append(f"the bound is {_between(reach)} of what is possible at all")
    return "; ".join(parts)


def _of_slack(slack: Sequence[float]) -> str:
    if min(slack) <= 0:
        return "no factor turns it: a bound is 0 or less"
    if min(slack) < 1:
        return f"it would not fail if the bound were further from the data by a factor {1 / min(slack):.3g}"
    nearest = f"it fails once the bound is nearer to the data by a factor {min(slack):.3g}"
    return nearest if len(slack) == 1 else f"{nearest}, in the weakest setting by {max(slack):.3g}"


def _of_departures(settings: Sequence[Setting]) -> list[str]:
    """For each limit that is claimed: the nearest estimate that fails, in the strongest and in the weakest setting."""
    parts = []
    for word, ends, limits in (
        ("below", [setting.silent.low for setting in settings], [setting.at_least for setting in settings]),
        ("above", [setting.silent.high for setting in settings], [setting.at_most for setting in settings]),
    ):
        strays = sorted(
            (abs(end - limit), end) for end, limit in zip(ends, limits, strict=True) if math.isfinite(limit)
        )
        if strays:
            strongest, weakest = (
                f"{word} {end:.4g}" if math.isfinite(end) else "at no value" for _, end in (strays[0], strays[-1])
            )
            more = "" if strongest == weakest else f", in the weakest setting {weakest}"
            parts.append(f"an estimate {strongest} fails{more}")
    return parts


def _between(numbers: Sequence[float]) -> str:
    low, high = f"{min(numbers):.2g}", f"{max(numbers):.2g}"
    return low if low == high else f"{low} to {high}"
