"""A search for the gap profile on which a policy under full information has the largest expected regret.

Wu and Wang (2025) leave two rates open: whether Laplace noise keeps log(K) / epsilon where losses never vary, and
whether B = 1 ever has a regret of log(K)^2 / epsilon. A search proves no rate; it shows how large the regret can be on
the profiles that it covers: the best arm and K - 1 arms in at most `scales` groups, gaps in [least_gap, 1].
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import FloatArray
from bandits.environments.gap_profiles import Free
from bandits.learner import Environment
from bandits.parameters import require, require_arms
from bandits.policies.full_information import RNMFTNL


@dataclass(frozen=True)
class WorstProfile(Environment):
    """An environment that chooses the gap profile which maximises expected regret.

    `generations` of differential evolution (Storn and Price 1997, as in scipy) over the logarithms of the
    gaps and of the groups' shares of arms, uniform over their ranges at first, then a local search.
    """

    name: ClassVar[str] = "worst_profile"
    citation: ClassVar[str] = "Wu and Wang (2025), section 3: the open questions"
    feedback: ClassVar[str] = "the losses of all arms"
    portable: ClassVar[bool] = False  # rounding of the expected regret may lead a search elsewhere
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

    def profile(self, place: FloatArray) -> Free:
        """The profile at a `place` of the unit cube, shape (2 scales,): gaps, then shares."""
        gaps = self.least_gap ** (1 - place[: self.scales])
        shares = self.arms ** place[self.scales :]
        spare = self.arms - 1 - self.scales  # beyond one arm for each group
        ends = np.rint(np.cumsum(shares / shares.sum()) * spare).astype(np.int64)
        counts = 1 + np.diff(ends, prepend=0)
        return Free(tuple(map(float, gaps)), tuple(map(int, counts)))

    def regret(self, profile: Free, policy: RNMFTNL, horizon: int) -> float:
        """Expected regret of `policy` on `profile`, the best arm without loss."""
        return float(policy.regret_of_groups(profile.gaps, profile.counts, [horizon], self.losses)[0])

    def search(self, policy: RNMFTNL, horizon: int, rng: np.random.Generator) -> tuple[Free, float, int]:
        """The worst profile that was found, its expected regret, and how many profiles were tried."""
        from scipy.optimize import Bounds, differential_evolution  # a slow import, not for every command

        def negated(place: FloatArray) -> float:
            return -self.regret(self.profile(place), policy, horizon)

        found = differential_evolution(
            negated,
            Bounds(np.zeros(2 * self.scales), np.ones(2 * self.scales)),
            maxiter=self.generations,
            popsize=10,
            tol=1e-6,
            rng=rng,
        )
        return self.profile(found.x), -float(found.fun), int(found.nfev)
