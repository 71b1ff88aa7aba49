"""What a policy releases about rewards, as data: a tuple of releases about disjoint rewards."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.costs import Bounds
from bandits.mechanisms.concentrated import rho_of_laplace, rho_of_pure
from bandits.parameters import ParameterError


class Domain(StrEnum):
    """The allowed rewards: [-B, B], [0, 1], {0, 1} or [0, B], B the bound at which a policy truncates them."""

    SIGNED = "signed"
    UNIT = "unit"
    BINARY = "binary"
    NONNEGATIVE = "nonnegative"


class Release(ABC):
    """Numbers that are released with noise. Two releases of a ledger use disjoint rewards, so costs do not add up.

    Attributes
    ----------
    mechanism, calibration: the mechanism that adds the noise, and the reading of the paper that sets its scale.
    """

    mechanism: str
    calibration: str

    @abstractmethod
    def cost(self, domain: Domain) -> Bounds:
        """Upper and lower bound on the pure epsilon of one reward of the domain."""

    def delta(self, epsilon: float, domain: Domain) -> Bounds | None:
        """Upper and lower bound on the delta of one reward of the domain at `epsilon`; None if there is no formula."""
        return None

    def rho(self, domain: Domain) -> float:
        """An upper bound on the rho of zCDP of one reward of the domain: by default what its pure epsilon implies."""
        return rho_of_pure(self.cost(domain).kept)

    @abstractmethod
    def touches(self) -> int:
        """The largest number of released numbers that contain one reward."""


class LaplaceSums(Release):
    """Sums of items with Laplace noise, from which all else follows."""

    def rho(self, domain: Domain) -> float:
        """The rho of Laplace noise of the same pure epsilon: that of several draws together is no larger."""
        return rho_of_laplace(self.cost(domain).kept)


def lowest(low: FloatArray, domain: Domain) -> FloatArray:
    """The least value of items in [low, high] for rewards of `domain`; high is always allowed.

    Raises `ParameterError` for a domain that the policy does not accept.
    """
    require_domain(float(low[0]), domain)
    return np.maximum(low, 0.0) if domain is Domain.NONNEGATIVE else low


def require_domain(least: float, domain: Domain) -> None:
    """Raise `ParameterError` unless a policy whose items are at least `least` takes rewards of the domain."""
    if least < 0 and domain in (Domain.UNIT, Domain.BINARY):
        raise ParameterError("domain", f"{domain}: these rewards are truncated at a bound; known: signed, nonnegative")
    if least >= 0 and domain in (Domain.SIGNED, Domain.NONNEGATIVE):
        raise ParameterError("domain", f"{domain}: rewards outside [0, 1] are refused; known: unit, binary")


@dataclass(frozen=True)
class LaplaceRelease(LaplaceSums):
    """One number plus Lap(scale), which a change of one item moves by (high - low) / divisor."""

    mechanism: str
    calibration: str
    low: float
    high: float
    divisor: float
    scale: float

    def cost(self, domain: Domain) -> Bounds:
        low = float(lowest(np.array([self.low]), domain)[0])
        epsilon = (self.high - low) / self.divisor / self.scale
        witness = f"one reward from {low:.6g} to {self.high:.6g}; the released number lies beyond both means"
        return Bounds(epsilon, epsilon, witness, "linear algebra")

    def touches(self) -> int:
        return 1


class ReleasedSums(LaplaceSums):
    """Running sums of items, each with the noise of several Laplace draws.

    Attributes
    ----------
    scales: of the draws, shape (draws,).
    low, high: limits of each item, shape (items,).
    """

    scales: FloatArray
    low: FloatArray
    high: FloatArray

    @abstractmethod
    def draws_in(self, items: int) -> list[int]:
        """The draws in the noise of the sum of `items` items, each a number in 1..draws."""


class UnitItemSums(ReleasedSums):
    """Running sums of `items` items in [0, 1]."""

    items: int

    @property
    def low(self) -> FloatArray:  # type: ignore[override]
        return np.zeros(self.items)

    @property
    def high(self) -> FloatArray:  # type: ignore[override]
        return np.ones(self.items)

    def touches(self) -> int:
        return self.items


@dataclass(frozen=True)
class RunningSums(ReleasedSums):
    """Running sums of items, the noise of each a fresh draw plus the noise of one earlier sum.

    Attributes
    ----------
    parents: the number of items of that earlier sum, 0 for none; shape (items,), for the sums of 1, 2, ... items.
    scales: of the fresh draws, shape (items,).
    low, high: limits of each item, shape (items,).
    """

    mechanism: str
    calibration: str
    parents: IntArray
    scales: FloatArray
    low: FloatArray
    high: FloatArray

    def draws_in(self, items: int) -> list[int]:
        """A draw is identified by the number of items when it was drawn."""
        draws = []
        while items:
            draws.append(items)
            items = int(self.parents[items - 1])
        return draws

    def losses(self, domain: Domain) -> FloatArray:
        """The cost of each item, shape (items,).

        B^-1 subtracts from each sum the earlier one (`bandits.audit.running_sums`), so that component n contains the
        items after `parents[n]` up to n: B^-1 A has ones there, and its columns are summed in one pass.
        """
        return self._added(1 / self.scales) * (self.high - lowest(self.low, domain))

    def _added(self, amounts: FloatArray) -> FloatArray:
        """For each item the sum of the `amounts` of the components that contain it."""
        counts = np.arange(1, len(self.parents) + 1)
        change = np.zeros(len(counts) + 1)
        np.add.at(change, self.parents, amounts)
        np.subtract.at(change, counts, amounts)
        return np.asarray(np.cumsum(change)[:-1])

    def cost(self, domain: Domain) -> Bounds:
        losses = self.losses(domain)
        item = int(np.argmax(losses))
        witness = (
            f"item {item + 1} of {len(losses)} from {lowest(self.low, domain)[item]:.6g} to {self.high[item]:.6g}, in "
            f"{int(self._added(np.ones(len(losses)))[item])} draws; every one of them lies beyond both centers"
        )
        error = 1e-15 * len(losses) * float(losses[item])
        return Bounds(float(losses[item]), float(losses[item]), witness, "linear algebra", error)

    def touches(self) -> int:
        return int(self._added(np.ones(len(self.parents))).max())
