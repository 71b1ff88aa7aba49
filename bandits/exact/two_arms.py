"""Two arms, the commonest test of all: the exact law of the arm that is named and of the reward that is lost.

Each arm is pulled n times, and the difference of their sums is released once with noise (two_arms.md, 15.4). The arm
ahead is named, and all other users get it. Rewards are Bernoulli.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from bandits.arrays import FloatArray
from bandits.mechanisms.concentrated import require_rho
from bandits.parameters import ParameterError, require, require_epsilon

MOST_PULLS = 10**10  # of an arm; the laws of the two sums then have some 10^6 values each
TRIED = 33  # numbers of pulls in each pass of a search
TAIL = 46.0  # probabilities below e^-46 are left out


@dataclass(frozen=True)
class LostReward:
    """The law of pseudo-regret: `right` if the better arm is named, `wrong` with probability `chance`."""

    right: float
    wrong: float
    chance: float

    @property
    def mean(self) -> float:
        return self.right + self.chance * (self.wrong - self.right)

    def quantile(self, level: float) -> float:
        """The least value that is not exceeded with probability `level`."""
        return self.right if level <= 1 - self.chance else self.wrong


@dataclass(frozen=True)
class TwoArms:
    """A test of two arms with these `means`, and noise of the difference of their sums: Laplace, normal, or none.

    `epsilon` is for Laplace noise of scale 1 / epsilon, `rho` for normal noise of variance 1 / (2 rho): one reward
    moves the difference by at most 1. With `draws` = 2 each of the two sums has this noise, as in DP-Halving, whose law
    with two arms this is. Without noise equal sums are decided by a coin.

    Guarantee: epsilon-DP, or rho-zCDP, of the arm that is named and of all that follows, one reward changed.
    """

    means: tuple[float, float]
    epsilon: float | None = None
    rho: float | None = None
    draws: int = 1

    def __post_init__(self) -> None:
        within = len(self.means) == 2 and all(0 <= mean <= 1 for mean in self.means)
        require(within, "means", self.means, "two numbers in [0, 1]")
        require(self.epsilon is None or self.rho is None, "rho", self.rho, "left out beside epsilon")
        require(self.draws in (1, 2), "draws", self.draws, "1, or 2 for noise of each sum")
        if self.epsilon is not None:
            require_epsilon(self.epsilon)
        if self.rho is not None:
            require_rho(self.rho)

    @property
    def gap(self) -> float:
        return abs(self.means[0] - self.means[1])

    def wrong(self, pulls: int) -> float:
        """The probability that the worse arm is named after `pulls` of each; 0 for equal means, where none is worse.

        Exact up to an absolute error of 1e-14.
        """
        require(1 <= pulls <= MOST_PULLS, "pulls", pulls, f"a whole number in 1..{MOST_PULLS:.0e}")
        if self.gap == 0:
            return 0.0
        worse, low = _binomial(pulls, min(self.means))
        better, least = _binomial(pulls, max(self.means))
        chances = scipy.signal.convolve(better, worse[::-1])
        leads = least - (low + len(worse) - 1) + np.arange(len(chances), dtype=float)
        return float(np.clip(chances @ self.behind(leads), 0.0, 1.0))

    def behind(self, leads: FloatArray) -> FloatArray:
        """The probabilities that noise takes these leads of one sum over the other below 0."""
        if self.epsilon is None and self.rho is None:
            return np.asarray((1 - np.sign(leads)) / 2)
        if self.rho is not None:
            return np.asarray(scipy.special.ndtr(-leads * math.sqrt(2 * self.rho / self.draws)))
        assert self.epsilon is not None
        distance = self.epsilon * np.abs(leads)
        tail = np.exp(-distance) * (0.5 if self.draws == 1 else 0.5 + distance / 4)
        return np.asarray(np.where(leads >= 0, tail, 1 - tail))

    def lost(self, pulls: int, users: int) -> LostReward:
        """The reward that is lost on `users`, of whom 2 `pulls` explore and the others get the arm that is named."""
        require(2 * pulls <= users, "pulls", pulls, f"at most half of the users, {users}")
        return LostReward(self.gap * pulls, self.gap * (users - pulls), self.wrong(pulls))

    def pulls_for(self, error: float) -> int:
        """The fewest pulls of each arm after which the worse one is named at most this often, by bisection.

        Raises `ParameterError` for equal means, and if `MOST_PULLS` are not enough.
        """
        require(0 < error < 1, "error", error, "a number in (0, 1)")
        require(self.gap > 0, "means", self.means, "two different numbers: of equal arms none is worse")
        high = 1
        while self.wrong(high) > error:
            if high == MOST_PULLS:
                raise ParameterError("error", f"{error:g} needs more than {MOST_PULLS:.0e} pulls of each arm")
            high = min(2 * high, MOST_PULLS)
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.wrong(middle) <= error else (middle, high)
        return high


def best_pulls(designs: Sequence[TwoArms], users: int) -> int:
    """The pulls of each arm, 1..users / 2, with the least mean lost reward: the largest of several designs.

    Several designs are means that one cannot exclude, such as those of a range of gaps. Searched on a grid that is
    refined around its best point: exact where the loss falls and then rises.
    """
    require(users >= 2, "users", users, "a whole number, at least 2")
    require(len(designs) > 0, "designs", designs, "at least one")

    def loss(pulls: int) -> float:
        return max(design.lost(pulls, users).mean for design in designs)

    return _least(loss, min(users // 2, MOST_PULLS))


def _least(loss: Callable[[int], float], most: int) -> int:
    """The whole number in 1..`most` with the least loss."""
    tried = np.unique(np.rint(np.geomspace(1, most, TRIED)).astype(np.int64))
    while True:
        place = int(np.argmin([loss(int(pulls)) for pulls in tried]))
        low, high = int(tried[max(place - 1, 0)]), int(tried[min(place + 1, len(tried) - 1)])
        if high - low <= 2:
            return int(tried[place])
        tried = np.unique(np.rint(np.linspace(low, high, TRIED)).astype(np.int64))


def _binomial(pulls: int, mean: float) -> tuple[FloatArray, int]:
    """The probabilities of the likely sums of so many bits, and the least of these sums.

    By Bernstein's inequality sums further away together have less than 4e-20. Logarithms of ratios of neighbours are
    added up from the centre outwards: log Gamma of many pulls is not precise enough.
    """
    variance = pulls * mean * (1 - mean)
    reach = TAIL / 3 + math.sqrt((TAIL / 3) ** 2 + 2 * TAIL * variance)
    least, most = max(0, math.floor(pulls * mean - reach)), min(pulls, math.ceil(pulls * mean + reach))
    if mean in (0.0, 1.0):
        return np.ones(1), pulls * int(mean)
    centre = round(pulls * mean)
    away = np.arange(least - centre, most - centre)
    ahead = float(Fraction(float(mean)) * (pulls + 1) - centre - 1)
    with np.errstate(divide="ignore"):  # a ratio may be 0
        growth = np.log1p((ahead - away) / ((centre + away + 1) * (1 - mean)))
    falling, rising = np.cumsum(growth[: centre - least][::-1]), np.cumsum(growth[centre - least :])
    masses = np.exp(np.concatenate([-falling[::-1], [0.0], rising]))
    return np.asarray(masses / masses.sum()), least
