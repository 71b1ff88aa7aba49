"""Bounds on a privacy loss from above and below, and the verdict on a promise that follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bandits.guarantees import Guarantee

ROUNDING = 1e-9  # relative; numbers that are closer count as equal
COARSE = 0.01  # a larger error, as a share of the promise, weakens both bounds


class AuditVerdict(StrEnum):
    """What two bounds on a privacy loss imply for a promise.

    VIOLATED: the lower bound is above the promise.
    KEPT: the upper bound is not.
    TIGHT: both meet the promise.
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
    kept: an upper bound, for all neighbouring inputs; infinite if there is none.
    shown: a lower bound, from the `witness`.
    witness: two neighbouring inputs and an event, in words.
    method: how both were found.
    error: the absolute error of both numbers.
    failure: probability that `shown` is too large; 0 unless it was sampled.
    runs: sampled runs behind `shown`, 0 if it is exact.
    """

    kept: float
    shown: float
    witness: str
    method: str
    error: float = 0.0
    failure: float = 0.0
    runs: int = 0

    def from_ledger(self) -> "Bounds":
        """The upper bound alone, with a lower bound of 0."""
        return replace(self, shown=0.0, witness="none computed", method="ledger")


NOTHING = Bounds(0.0, 0.0, "nothing that is released up to this horizon depends on a reward", "ledger")


def verdict_on(claimed: float, bounds: Bounds) -> AuditVerdict:
    """The verdict on a promise that a loss is at most `claimed`.

    If the error is not small compared with the promise, both bounds are weakened by it, and the verdict is never tight.
    """
    if math.isnan(claimed) or math.isnan(bounds.kept) or math.isnan(bounds.shown):
        return AuditVerdict.UNDECIDED  # a bound that was not computed
    if not math.isfinite(claimed):
        return AuditVerdict.KEPT
    if bounds.error > COARSE * claimed > 0:
        if bounds.shown - bounds.error > claimed:
            return AuditVerdict.VIOLATED
        return AuditVerdict.KEPT if bounds.kept + bounds.error <= claimed else AuditVerdict.UNDECIDED
    room = ROUNDING * abs(claimed) + bounds.error
    if bounds.shown > claimed + room:
        return AuditVerdict.VIOLATED
    if bounds.kept > claimed + room:
        return AuditVerdict.UNDECIDED
    return AuditVerdict.TIGHT if bounds.shown >= claimed - room else AuditVerdict.KEPT


@dataclass(frozen=True)
class PrivacyCost:
    """The cost of one reward: bounds on epsilon at delta = 0, on delta at the claimed epsilon, or on both.

    Bounds that were not computed are None. A promise with delta > 0 is judged by delta.
    """

    mechanism: str
    calibration: str
    epsilon: Bounds | None
    delta: Bounds | None = None

    def verdict(self, claimed: Guarantee) -> AuditVerdict:
        """The verdict on a guarantee, from the bounds that apply to it; undecided without them."""
        bounds, promise = self.bounds_of(claimed)
        return AuditVerdict.UNDECIDED if bounds is None else verdict_on(promise, bounds)

    def bounds_of(self, claimed: Guarantee) -> tuple[Bounds | None, float]:
        """The bounds that apply to a guarantee, and the number that they are compared with."""
        return (self.delta, claimed.delta) if claimed.delta > 0 else (self.epsilon, claimed.epsilon)

    def as_declared(self) -> "PrivacyCost":
        """The upper bounds alone: what a ledger shows is what its author says of the code, and not the code."""
        of_ledger = [
            bounds and (bounds.from_ledger() if bounds.shown else bounds) for bounds in (self.epsilon, self.delta)
        ]
        return replace(self, epsilon=of_ledger[0], delta=of_ledger[1])

    def slack(self, claimed: Guarantee) -> float:
        """The factor by which a promise is larger than needed: claimed over kept; NaN if unknown."""
        bounds, promise = self.bounds_of(claimed)
        if bounds is None:
            return math.nan
        return promise / bounds.kept if bounds.kept > 0 else math.inf


def dearest(costs: Sequence[PrivacyCost], delta: float) -> PrivacyCost:
    """The release of a ledger that costs the most: the cost of all, since releases are about disjoint rewards."""
    if not costs:
        return PrivacyCost("none", "", NOTHING, NOTHING if delta > 0 else None)

    def size(cost: PrivacyCost) -> float:
        bounds = cost.delta if delta > 0 else cost.epsilon
        return bounds.kept if bounds is not None else 0.0

    return max(costs, key=size)


def unseen_bounds(delta: Bounds | None) -> Bounds | None:
    """The bounds on delta of releases, with lower bound 0, for the arms if no lower bound was computed for them."""
    return None if delta is None else replace(delta, shown=0.0, witness="none found", method="ledger")
