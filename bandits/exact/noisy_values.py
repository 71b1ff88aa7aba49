"""Laws of the noisy values that report-noisy-max compares, and the probabilities with which arms win.

An arm's value is -G + Q: G the sum of its losses over the rounds of an epoch, Q its noise. With F, S and f the
distribution function, survival function and density of the values, an arm of group g wins with probability

    counts_g * integral of f_g(x) / F_g(x) * product over h of F_h(x)^counts_h  dx.

F, S and f are computed as sums of positive terms, so that their relative errors are small, and counts * log F is
precise for any counts. `floor` is a negligible probability: results have an absolute error of a few `floor` besides
their relative error.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import scipy

from bandits.arrays import FloatArray

LARGEST_WORK = 3e8  # evaluations of a law for one estimate of the probabilities, about 20 s
LARGEST_LATTICE = 2e7  # possible sums of all groups, which are kept in memory


class QuadratureError(ArithmeticError):
    """An integral that cannot be computed to its tolerance, or that would take too long."""


def require_work(work: float, largest: float, what: str) -> None:
    """Raise `QuadratureError` for more than `largest` of `what`."""
    if work > largest:
        raise QuadratureError(f"needs {work:.3g} {what}, more than {largest:.3g}")


@dataclass(frozen=True)
class Binomial:
    """The values -Bin(rounds, mean) + origin, without the tails that together have a probability below `cut`.

    Attributes
    ----------
    bottom: the least value.
    mass: the probabilities of bottom, bottom + 1, ..., shape (values,).
    """

    rounds: int
    mean: float
    cut: float
    origin: int
    bottom: int = field(init=False)
    mass: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        reach = binomial_reach(self.rounds, self.mean, self.cut)
        centre = min(round(self.rounds * self.mean), self.rounds)
        least, most = max(0, centre - reach), min(self.rounds, centre + reach)
        if self.mean in (0.0, 1.0):
            least = most = centre
        # Ratios from the centre outwards: log Gamma of a large number of rounds is not precise enough.
        up = np.arange(centre, most)
        down = np.arange(centre, least, -1)
        rising = np.cumprod((self.rounds - up) / (up + 1) * (self.mean / (1 - self.mean))) if len(up) else up
        falling = np.cumprod(down / (self.rounds - down + 1) * ((1 - self.mean) / self.mean)) if len(down) else down
        mass = np.concatenate([rising[::-1], [1.0], falling])
        object.__setattr__(self, "bottom", self.origin - most)
        object.__setattr__(self, "mass", mass / mass.sum())

    @property
    def top(self) -> int:
        return self.bottom + len(self.mass) - 1

    @property
    def variance(self) -> float:
        return self.rounds * self.mean * (1 - self.mean)


def binomial_reach(rounds: int, mean: float, cut: float) -> int:
    """A distance from its mean that Bin(rounds, mean) exceeds with probability < `cut` (Bernstein's inequality)."""
    depth = math.log(2 / cut)
    return math.ceil(depth / 3 + math.sqrt(depth * depth / 9 + 2 * rounds * mean * (1 - mean) * depth)) + 1


@dataclass(frozen=True)
class LawAtNodes:
    """F, S and f of all groups at the same points, shapes (groups, ...)."""

    cdf: FloatArray
    survival: FloatArray
    density: FloatArray

    def log_cdf(self) -> FloatArray:
        """Log F from whichever of F and S is the smaller."""
        with np.errstate(divide="ignore"):
            log_cdf: FloatArray = np.where(self.cdf < 0.5, np.log(self.cdf), np.log1p(-np.minimum(self.survival, 0.75)))
        return log_cdf


def winning_density(law: LawAtNodes, counts: FloatArray) -> FloatArray:
    """Density of the largest value on the event that an arm of group g has it, the shape of `law`."""
    columns = counts.reshape(-1, *[1] * (law.cdf.ndim - 1))
    largest = np.exp((columns * law.log_cdf()).sum(axis=0))
    possible = law.cdf > 1e-290
    hazard: FloatArray = np.where(possible, law.density / np.where(possible, law.cdf, 1.0), 0.0)
    return np.asarray(columns * hazard * largest)


class Values(ABC):
    """The values of all groups. A point is an edge `start` of a panel plus an `offset` within the panel."""

    counts: FloatArray

    @abstractmethod
    def at(self, start: FloatArray, offset: FloatArray) -> LawAtNodes:
        """The law at start + offset, shapes (panels,) and (panels, nodes); `Law` of shape (groups, panels, nodes)."""

    def narrow(self, low: float, high: float, floor: float) -> tuple[float, float]:
        """The part of the window [low, high] that holds the largest value, except with probability 2 `floor`."""
        points = np.floor(np.linspace(low, high, 65)) if self.lattice else np.linspace(low, high, 65)
        law = self.at(points, np.zeros((len(points), 1)))
        below = self.counts @ law.log_cdf()[:, :, 0] <= math.log(floor)
        above = self.counts @ law.survival[:, :, 0] <= floor
        first = int(np.flatnonzero(below)[-1]) if below.any() else 0
        last = int(np.flatnonzero(above)[0]) if above.any() else len(points) - 1
        return (float(points[first]), float(points[last])) if first < last else (low, high)

    @property
    @abstractmethod
    def lattice(self) -> bool:
        """Whether only whole numbers can be edges of panels."""


@dataclass(frozen=True)
class FixedValues(Values):
    """Values -lag + Laplace(scale), or -lag + Exp(scale) if `one_sided`; lags and counts of shape (groups,)."""

    lags: FloatArray
    counts: FloatArray
    scale: float
    one_sided: bool

    def at(self, start: FloatArray, offset: FloatArray) -> LawAtNodes:
        points = (start[:, None] + offset + self.lags[:, None, None]) / self.scale
        if self.one_sided:
            outside = np.where(points > 0, np.exp(-np.maximum(points, 0)), 1.0)
            inside = -np.expm1(-np.maximum(points, 0))
            return LawAtNodes(inside, outside, np.where(points > 0, outside / self.scale, 0.0))
        smaller = np.exp(-np.abs(points)) / 2
        left = points < 0
        below, above = np.where(left, smaller, 1 - smaller), np.where(left, 1 - smaller, smaller)
        return LawAtNodes(below, above, smaller / self.scale)

    @property
    def lattice(self) -> bool:
        return False


@dataclass(frozen=True)
class LatticeValues(Values):
    """Values `sums` + noise, by cells [i, i + 1) of whole numbers i, u = x - i in [0, 1).

    noise: "laplace" or "exponential" of `scale`, or "none". The latter is noise uniform in (-1, 0], which keeps the
    order of unequal sums and chooses uniformly among arms with the same sum. Its cells are (i - 1, i], u in (-1, 0],
    because with many arms precision is needed at the right end of a cell.
    """

    sums: tuple[Binomial, ...]
    counts: FloatArray
    noise: str
    scale: float
    _cells: list["_Cells"] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cells", [_Cells.of(sums, self.noise, self.scale) for sums in self.sums])

    def at(self, start: FloatArray, offset: FloatArray) -> LawAtNodes:
        parts = [self._of_group(cells, start, offset) for cells in self._cells]
        return LawAtNodes(*(np.stack([part[index] for part in parts]) for index in range(3)))

    def _of_group(self, cells: "_Cells", start: FloatArray, offset: FloatArray) -> tuple[FloatArray, ...]:
        # Outside of the range of the sums, the first and the last cell are continued without end.
        index = np.clip(np.floor(start) - cells.first, 0, len(cells.near) - 1)
        u = (start - cells.first - index)[:, None] + offset
        lower, near, upper, far = (array[index.astype(np.int64), None] for array in cells.arrays)
        if self.noise == "none":
            return lower + (1 + u) * near, upper - u * near, near + 0 * u
        decay = np.exp(-np.maximum(u, 0) / self.scale)
        if self.noise == "exponential":
            rest = -np.expm1(-np.maximum(u, 0) / self.scale)
            return lower + rest * near, upper + decay * near, decay * near / self.scale
        growth = np.exp(np.minimum(u - 1, 0) / self.scale) / 2
        decay = decay / 2
        return (
            lower + (1 - decay) * near + growth * far,
            upper + decay * near + (1 - growth) * far,
            (decay * near + growth * far) / self.scale,
        )

    @property
    def lattice(self) -> bool:
        return True

    @property
    def anchor(self) -> int:
        """Which end of a cell is its number i: 0 for the left one, 1 for the right one."""
        return int(self.noise == "none")


@dataclass(frozen=True)
class _Cells:
    """Sums over the probabilities p(n) of the sums n from which the law in each cell i = `first`, ... follows.

    Arrays of shape (cells,). With q = exp(-1/scale): near = sum of p(n) q^(i-n) over n <= i, lower = sum of p(n) (1 -
    q^(i-n)) over n <= i; far and upper are the same sums over n > i, with q^(n-i-1). One-sided noise has upper = sum
    of p(n) over n > i instead.
    """

    first: int
    lower: FloatArray
    near: FloatArray
    upper: FloatArray
    far: FloatArray

    @staticmethod
    def of(sums: Binomial, noise: str, scale: float) -> "_Cells":
        # One empty cell on either side, for points below and above all sums.
        mass = np.concatenate([[0.0], sums.mass, [0.0]])
        above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
        if noise == "none":
            below = np.append(0.0, np.cumsum(mass)[:-1])
            return _Cells(sums.bottom - 1, below, mass, above, np.zeros_like(mass))
        near, lower = _decayed(mass, scale)
        if noise == "exponential":
            return _Cells(sums.bottom - 1, lower, near, above, np.zeros_like(mass))
        far, upper = (np.append(array[::-1][1:], 0.0) for array in _decayed(mass[::-1], scale))
        return _Cells(sums.bottom - 1, lower, near, upper, far)

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return self.lower, self.near, self.upper, self.far


def _decayed(mass: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Sums over n <= i of mass(n) q^(i-n) and of mass(n) (1 - q^(i-n)), q = exp(-1/scale), without cancellation."""
    q = math.exp(-1 / scale)
    near = scipy.signal.lfilter([1.0], [1.0, -q], mass)
    lower = scipy.signal.lfilter([0.0, -math.expm1(-1 / scale)], [1.0, -q], np.cumsum(mass))
    return np.asarray(near), np.asarray(lower)
