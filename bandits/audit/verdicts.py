"""Two numbers and one verdict: what is surely kept, what is surely spent, and what that says of a promise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bandits.guarantees import Guarantee

ROUNDING = 1e-9  # relative; numbers that agree to it are equal
COARSE = 0.01  # an error of so large a part of a promise is not small


class Verdict(StrEnum):
    """What two bounds on a privacy loss say of a promise.

    VIOLATED: the lower bound is above the promise. KEPT: the upper bound is not. TIGHT: both meet the promise.
    UNDECIDED: the promise lies between them.
    """

    KEPT = "kept"
    TIGHT = "tight"
    VIOLATED = "violated"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Bounds:
    """A privacy loss between two bounds.

    Attributes
    ----------
    kept: an upper bound, for all neighbouring inputs; infinite where there is none.
    shown: a lower bound, that of the `witness`.
    witness: two neighbouring inputs and an event, in words.
    method: how both were found.
    error: the absolute error of both numbers.
    failure: probability that `shown` is too large; 0 unless it was sampled.
    runs: sampled runs behind `shown`, 0 where it is exact.
    """

    kept: float
    shown: float
    witness: str
    method: str
    error: float = 0.0
    failure: float = 0.0
    runs: int = 0

    def from_ledger(self) -> "Bounds":
        """The upper bound alone, where nothing was computed of what is shown."""
        return replace(self, shown=0.0, witness="none computed", method="ledger")


NOTHING = Bounds(0.0, 0.0, "nothing that is released up to this horizon depends on a reward", "ledger")


def judge(claimed: float, bounds: Bounds) -> Verdict:
    """The verdict on a promise that a loss is at most `claimed`.

    Bounds whose error is not small beside it are taken by their far ends, and never call a promise tight.
    """
    if not math.isfinite(claimed):
        return Verdict.KEPT
    if bounds.error > COARSE * claimed > 0:
        if bounds.shown - bounds.error > claimed:
            return Verdict.VIOLATED
        return Verdict.KEPT if bounds.kept + bounds.error <= claimed else Verdict.UNDECIDED
    room = ROUNDING * abs(claimed) + bounds.error
    if bounds.shown > claimed + room:
        return Verdict.VIOLATED
    if bounds.kept > claimed + room:
        return Verdict.UNDECIDED
    return Verdict.TIGHT if bounds.shown >= claimed - room else Verdict.KEPT


@dataclass(frozen=True)
class Finding:
    """What an audit found: bounds on epsilon at delta = 0, on delta at the epsilon that is claimed, or on both.

    A bound that was not computed is None. The promise is judged by delta where it has one.
    """

    mechanism: str
    calibration: str
    epsilon: Bounds | None
    delta: Bounds | None = None

    def verdict(self, claimed: Guarantee) -> Verdict:
        """The verdict on a guarantee, by the bounds that belong to it; undecided without them."""
        bounds, promise = self.bounds_of(claimed)
        return Verdict.UNDECIDED if bounds is None else judge(promise, bounds)

    def bounds_of(self, claimed: Guarantee) -> tuple[Bounds | None, float]:
        """The bounds that decide about a guarantee, and the number that they are compared with."""
        return (self.delta, claimed.delta) if claimed.delta > 0 else (self.epsilon, claimed.epsilon)

    def slack(self, claimed: Guarantee) -> float:
        """How many times larger than needed a promise is: what is claimed over what is kept; NaN where unknown."""
        bounds, promise = self.bounds_of(claimed)
        if bounds is None:
            return math.nan
        return promise / bounds.kept if bounds.kept > 0 else math.inf


def dearest(costs: Sequence[Finding], delta: float) -> Finding:
    """The part of a ledger that costs the most; parts are about disjoint rewards, so that it is what all cost."""
    if not costs:
        return Finding("none", "", NOTHING, NOTHING if delta > 0 else None)

    def size(cost: Finding) -> float:
        bounds = cost.delta if delta > 0 else cost.epsilon
        return bounds.kept if bounds is not None else 0.0

    return max(costs, key=size)


def unseen(delta: Bounds | None) -> Bounds | None:
    """What is kept of a delta of releases if nothing is shown by arms."""
    return None if delta is None else replace(delta, shown=0.0, witness="none found", method="ledger")
