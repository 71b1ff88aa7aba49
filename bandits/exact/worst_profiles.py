"""A search for the gap profile on which a policy under full information has the largest expected regret.

Wu and Wang (2025) leave two rates open: whether Laplace noise has log(K) / epsilon where losses never vary, and whether
regret with B = 1 ever is of order log(K)^2 / epsilon. A search proves no rate; it shows how large the regret can be on
the profiles that it covers: the best arm and K - 1 arms in at most `scales` groups, gaps in [least_gap, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.environments.gap_profiles import Free
from bandits.exact.many_profiles import LARGEST_SUM, ManyProfiles, largest_sum
from bandits.learner import Environment
from bandits.parameters import require, require_arms
from bandits.policies.full_information import RNMFTNL

GRID = 128  # gaps that are searched


@dataclass(frozen=True)
class WorstProfile(Environment):
    """An environment that chooses the gap profile which maximises expected regret.

    `generations` of differential evolution (Storn and Price 1997, as in scipy) over the logarithms of the gaps, on a
    grid of 128, and of the groups' shares of arms, uniform over their ranges at first. Profiles are compared by
    tabulated laws (`bandits.exact.many_profiles`); the regret of the worst profile is then computed to eight digits.
    """

    name: ClassVar[str] = "worst_profile"
    citation: ClassVar[str] = "Wu and Wang (2025), section 3: the open questions"
    feedback: ClassVar[str] = "the losses of all arms"
    revision: ClassVar[int] = 2  # compares profiles on a grid of gaps; revision 1 ended with a local search
    portable: ClassVar[bool] = False  # rounding of the expected regret may change the path of a search
    arms: int
    least_gap: float
    losses: Literal["deterministic", "bernoulli"] = "deterministic"
    scales: int = 4
    generations: int = 40

    def __post_init__(self) -> None:
        require(self.scales >= 1, "scales", self.scales, "a whole number >= 1")
        require_arms(self.arms)
        require(self.arms > self.scales, "arms", self.arms, f"a whole number > scales = {self.scales}")
        require(0 < self.least_gap < 1, "least_gap", self.least_gap, "a number in (0, 1)")
        require(self.generations >= 1, "generations", self.generations, "a whole number >= 1")

    @property
    def number_of_arms(self) -> int:
        return self.arms

    @property
    def grid(self) -> FloatArray:
        """The gaps that are searched, from `least_gap` to 1, increasing by a constant factor; shape (`GRID`,)."""
        return np.asarray(self.least_gap ** np.linspace(1, 0, GRID))

    def places(self, points: FloatArray) -> tuple[IntArray, IntArray]:
        """The profiles at `points` of the unit cube, shape (points, 2 scales): gaps, then shares.

        Places of the gaps in the `grid`, and counts, both of shape (points, scales).
        """
        gaps = np.rint(points[:, : self.scales] * (GRID - 1)).astype(np.int64)
        shares = self.arms ** points[:, self.scales :]
        spare = self.arms - 1 - self.scales  # beyond one arm for each group
        ends = np.rint(np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1) * spare).astype(np.int64)
        return gaps, 1 + np.diff(ends, prepend=0)

    def profile(self, point: FloatArray) -> Free:
        """The profile at a `point` of the unit cube, shape (2 scales,)."""
        gaps, counts = self.places(point[None])
        return Free(tuple(map(float, self.grid[gaps[0]])), tuple(map(int, counts[0])))

    def regret(self, profile: Free, policy: RNMFTNL, horizon: int) -> float:
        """Expected regret of `policy` on `profile`, the best arm without loss."""
        return float(policy.regret_of_groups(profile.gaps, profile.counts, [horizon], self.losses)[0])

    def search(self, policy: RNMFTNL, horizon: int, rng: np.random.Generator) -> tuple[Free, float, int]:
        """The worst profile that was found, its expected regret, and how many profiles were tried."""
        tried = 0
        regrets = self._regrets(policy, horizon)

        def negated(points: FloatArray) -> Any:  # for many points at once, which the types of scipy do not know
            nonlocal tried
            tried += points.shape[1]
            return -regrets(points.T)

        best = scipy.optimize.differential_evolution(
            negated,
            scipy.optimize.Bounds(np.zeros(2 * self.scales), np.ones(2 * self.scales)),
            maxiter=self.generations,
            popsize=10,
            tol=1e-6,
            polish=False,
            vectorized=True,
            updating="deferred",
            rng=rng,
        )
        worst = self.profile(best.x)
        return worst, self.regret(worst, policy, horizon), tried

    def _regrets(self, policy: RNMFTNL, horizon: int) -> Callable[[FloatArray], FloatArray]:
        """Expected regret at points of the unit cube; one by one if the policy has other epochs, or too much noise."""
        binomial = policy.resample or self.losses == "bernoulli"
        if type(policy) is RNMFTNL and largest_sum(policy.noise, policy.scale, self.arms) <= LARGEST_SUM:
            many = ManyProfiles(self.grid, self.arms, policy.noise, policy.scale, binomial, horizon)
            return lambda points: many.regret(*self.places(points))
        return lambda points: np.array([self.regret(self.profile(point), policy, horizon) for point in points])
