"""A search for losses for which more data makes the choice of RNM-FTNL(1, Q) worse on average.

Conjecture (ours, monotone.md, section 4): for independent Bernoulli losses the expected gap f(n) of the arm that
is chosen after n loss vectors does not increase in n, for Laplace, Gumbel and exponential noise. It is true for two
arms. It would imply the rate log(K)/epsilon + log(K)/gap for the algorithm as printed, with B = 1.

If gaps are tiny, or noise is large, f hardly changes. So f(n+1) - f(n) is measured in units of its size without
sampling error, min(1, epsilon/2) times the variance of the gap of the choice; without sampling error this is -1, for
small steps and Gumbel noise. A positive `steepness` refutes the conjecture.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from bandits.arrays import FloatArray, IntArray
from bandits.exact.noisy_values import QuadratureError
from bandits.exact.regret import selection_probabilities
from bandits.mechanisms.report_noisy_max import NoiseName
from bandits.parameters import require

FLAT = 1e-5  # least drop, relative to f, that the error of 1e-8 cannot hide
LEAST = 1e-10  # least f for which steepness is computed


@dataclass(frozen=True)
class Trial:
    """Bernoulli losses in groups, the noise, and a number of loss vectors.

    Attributes
    ----------
    means, counts: of the groups, means increasing, shape (groups,).
    """

    means: FloatArray
    counts: IntArray
    noise: NoiseName
    epsilon: float
    rounds: int

    @property
    def steepness(self) -> float:
        """f(n+1) - f(n) in units of the drop without sampling error; NaN if f or the drop is too small."""
        now, next_one = (
            selection_probabilities(
                self.means, self.counts, self.noise, self.epsilon, rounds, losses="bernoulli", calibration="proved"
            )
            for rounds in (self.rounds, self.rounds + 1)
        )
        gaps = self.means - self.means.min()
        before, after = float(now @ gaps), float(next_one @ gaps)
        drop = min(1.0, self.epsilon / 2) * float(now @ (gaps - before) ** 2)
        return (after - before) / drop if before > LEAST and drop > FLAT * before else math.nan


@dataclass(frozen=True)
class MonotoneSearch:
    """Differential evolution for the largest steepness, as in `bandits.exact.worst_profiles`.

    Over the logits of `groups` means in [-8, 8], 1 to 2^20 arms in each, epsilon in [0.01, 100] and 1 to `rounds` loss
    vectors.
    """

    noise: NoiseName
    groups: int
    rounds: int = 128
    generations: int = 20

    def __post_init__(self) -> None:
        require(self.groups >= 2, "groups", self.groups, "a whole number >= 2")
        require(self.rounds >= 1, "rounds", self.rounds, "a whole number >= 1")
        require(self.generations >= 1, "generations", self.generations, "a whole number >= 1")

    def trial(self, place: FloatArray) -> Trial:
        """The trial at a `place` of the unit cube, shape (2 groups + 2,)."""
        means = 1 / (1 + np.exp(8 - 16 * place[: self.groups]))
        counts = np.rint(2.0 ** (20 * place[self.groups : 2 * self.groups])).astype(np.int64)
        order = np.argsort(means)
        epsilon, rounds = 10.0 ** (4 * place[-2] - 2), int(self.rounds ** place[-1])
        return Trial(means[order], counts[order], self.noise, float(epsilon), rounds)

    def search(self, rng: np.random.Generator) -> tuple[Trial, float, int]:
        """The trial of the largest steepness that was found, that steepness, and how many trials had a steepness."""
        computed = 0

        def negated(place: FloatArray) -> float:
            nonlocal computed
            try:
                steepness = self.trial(place).steepness
            except QuadratureError:
                return math.inf
            if math.isnan(steepness):
                return math.inf
            computed += 1
            return -steepness

        size = 2 * self.groups + 2
        box = scipy.optimize.Bounds(np.zeros(size), np.ones(size))
        best = scipy.optimize.differential_evolution(
            negated, box, maxiter=self.generations, popsize=6, polish=False, rng=rng
        )
        return self.trial(best.x), -float(best.fun), computed
