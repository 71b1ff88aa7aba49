"""Thompson sampling that is private by its own Gaussian draws: Ou, Avella Medina and Cummings (2024), Hu et al. (2025).

No noise is added. A draw around a mean is the mean with Gaussian noise, so that the guarantees are levels of Gaussian
differential privacy (GDP). A level implies a curve of pairs (epsilon, delta), and a guarantee is quoted at one of them.
"""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.ledger import Release
from bandits.audit.releases import GaussianDraws
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee, Scope
from bandits.loops.perturbed_values import GAUSS, Constants
from bandits.loops.reused_draws import reused_draws_pulls
from bandits.mechanisms.gaussian import gaussian_level, require_one
from bandits.parameters import require
from bandits.policies.base import Choices, Policy, require_sums, require_unit_rewards
from bandits.policies.gaussian_budget import GaussianBudget
from bandits.policies.perturbed_leader import PerturbedLeader

ENOUGH_DRAWS = 2 * math.sqrt(2 * math.pi * math.e)  # c0, our choice, see `DPTSUCB.draws`
LONGEST_EPOCH = 2**62


@dataclass(frozen=True)
class ThompsonGDP(PerturbedLeader):
    """TS-Gaussian(b, c) (Ou, Avella Medina and Cummings 2024): Thompson sampling with a start phase and more variance.

    Every arm `start_pulls` = b times; then the value of an arm is Normal(R / (N + 1), c / (N + 1)), N its pulls, R
    their reward sum and c the `variance`. With b = 0 and c = 1 it is `thompson_gauss`. Left out, `variance` is the
    least with which one decision is (epsilon, delta)-private.

    Guarantee: 1 / sqrt(c (b + 1))-GDP of one decision, the history fixed except for one reward: one reward moves a
    value by 1 / (N + 1), and N >= b. The values of T steps together are sqrt(T / (c (b + 1)))-GDP, which is too weak to
    be of use: the class promises nothing about the transcript. Only a summary of the paper was read; the formulas are
    derived here.
    """

    name: ClassVar[str] = "thompson_gdp"
    label: ClassVar[str] = "TS-Gaussian"
    citation: ClassVar[str] = "Ou, Avella Medina and Cummings (2024), arXiv 2407.14879"
    epsilon: float
    delta: float | None = None
    start_pulls: int = 1
    variance: float | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.start_pulls, int) and 0 <= self.start_pulls <= LONGEST_EPOCH
        require(whole, "start_pulls", self.start_pulls, "a whole number >= 0")
        require_one(self.delta, self.variance, "variance")
        if self.variance is not None:
            require(1e-50 <= self.variance <= 1e50, "variance", self.variance, "a finite number > 0 (in 1e-50..1e50)")
        _ = self.guarantee

    @property
    def spread(self) -> float:
        """The factor c of the variance."""
        if self.variance is not None:
            return self.variance
        assert self.delta is not None
        return gaussian_level(self.epsilon, self.delta) ** -2 / (self.start_pulls + 1)

    @property
    def level(self) -> float:
        """The level of GDP of one decision."""
        return 1 / math.sqrt(self.spread * (self.start_pulls + 1))

    @property
    def guarantee(self) -> Guarantee:
        if self.delta is None:
            return Guarantee.gaussian(self.level, self.epsilon, Scope.DECISION)
        return Guarantee(self.epsilon, self.delta, Scope.DECISION, level=self.level)

    @property
    def start(self) -> int:
        return self.start_pulls

    def legend(self) -> str:
        return f"{self.label} (b = {self.start_pulls}, c = {self.spread:.3g}: {self.level:.3g}-GDP)"

    def law(self, horizon: int) -> tuple[int, Constants]:
        return GAUSS, Constants(prior=1.0, variance=self.spread)


@dataclass(frozen=True)
class DPTSUCB(GaussianBudget, Policy):
    """DP-TS-UCB (Hu et al. 2025): Thompson sampling with few draws per epoch, the largest of which is reused.

    Epochs of an arm have n0, 2 n0, 4 n0, ... fresh rewards; only the mean of the last complete one counts. With a mean
    of n rewards the arm draws Normal(mean, log(T)^alpha / n) at most `draws` times, and then its value is the largest
    of these draws. The arm with the largest value is pulled. `alpha` in [0, 1] trades regret against the level.

    The paper begins with n0 = 1, which fixes the level. Here the `level` is given, or is the largest that is
    (epsilon, delta)-private, and n0 is as large as this level needs (`first_epoch`): a level at or above sqrt(draws /
    log(T)^alpha), 2.9 to 3.02 for alpha = 1, gives the paper's policy. Only summaries of the paper were read: the
    constant of `draws` is our reconstruction.

    Guarantee: `level`-GDP of the transcript, one reward changed. A reward is in one epoch, of n >= n0 rewards, whose
    mean is seen through at most `draws` values: sqrt(draws / log(T)^alpha / n)-GDP. Reusing the largest costs nothing.
    """

    name: ClassVar[str] = "dp_ts_ucb"
    label: ClassVar[str] = "DP-TS-UCB"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2505.02383, with a first epoch of our own"
    time_grows: ClassVar[bool] = False
    epsilon: float
    delta: float | None = None
    level: float | None = None
    alpha: float = 1.0

    def __post_init__(self) -> None:
        require(0 <= self.alpha <= 1, "alpha", self.alpha, "a number in [0, 1]")
        self.require_budget()
        _ = self.guarantee

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        draws, spread, first = self.draws(horizon), self.spread(horizon), self.first_epoch(horizon)
        means = np.zeros(arms)
        for arm in range(arms):
            for _ in range(first):
                means[arm] += (yield arm) / first
        sizes, left = np.full(arms, first), np.full(arms, draws)
        largest, waiting = np.full(arms, -math.inf), [[0.0] * 0 for _ in range(arms)]
        for _ in itertools.count():
            fresh = left > 0
            drawn = rng.normal(means[fresh], np.sqrt(spread / sizes[fresh]))
            values = largest.copy()
            values[fresh] = drawn
            largest[fresh] = np.maximum(largest[fresh], drawn)
            left[fresh] -= 1
            arm = int(np.argmax(values))
            waiting[arm].append((yield arm))
            if len(waiting[arm]) == 2 * sizes[arm]:
                sizes[arm] *= 2
                means[arm], left[arm], largest[arm] = np.mean(waiting[arm]), draws, -math.inf
                waiting[arm] = []

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = np.arange(len(instance.mean_rewards))
        lengths = np.array(self.epochs(horizon), dtype=np.int64)
        ending = lengths <= horizon
        sums = [require_sums(self, instance.sums(arms, int(n), rng), 0, int(n)) for n in lengths[ending]]
        means = np.zeros((len(lengths), len(arms)))
        means[: len(sums)] = np.array(sums).reshape(len(sums), len(arms)) / lengths[ending, None]
        draws, spread = self.draws(horizon), self.spread(horizon)
        return reused_draws_pulls(means, lengths, draws, spread, horizon, checkpoints, rng)

    def fixed_steps(self, arms: int, horizon: int) -> int:
        return self.first_epoch(horizon) * arms

    def spread(self, horizon: int) -> float:
        """v = log(T)^alpha: a value drawn from the mean of n rewards has variance v / n. T = 1 counts as T = 2."""
        return float(math.log(max(horizon, 2)) ** self.alpha)

    def draws(self, horizon: int) -> int:
        """phi = ceil(c0 T^((1 - alpha) / 2) log(T)^((3 - alpha) / 2)), with c0 = 2 sqrt(2 pi e).

        With so many draws, all are below the true mean with probability at most 1 / T whenever the mean of an epoch is
        at most sqrt(log T / n) below it, for T >= 3 and every alpha: one draw is above with probability Q(x) >= x
        exp(-x^2 / 2) / ((1 + x^2) sqrt(2 pi)), x^2 = log(T)^(1 - alpha) >= 1, and x^2 <= 1 + (1 - alpha) log T, so that
        phi Q(x) >= log T. The paper prints the level sqrt(2 c0 T^((1 - alpha) / 2) log(T)^(1.5 (1 - alpha))), sqrt(2)
        times what follows from phi.
        """
        log = math.log(max(horizon, 2))
        return math.ceil(ENOUGH_DRAWS * math.exp((1 - self.alpha) / 2 * log) * float(log ** ((3 - self.alpha) / 2)))

    def first_epoch(self, horizon: int) -> int:
        """n0, the fewest rewards with which all draws of an epoch keep the level."""
        rewards = math.ceil(self.draws(horizon) / self.spread(horizon) / self.promised**2)
        return max(1, min(rewards, LONGEST_EPOCH))

    def epochs(self, horizon: int) -> list[int]:
        """Lengths of the epochs of an arm up to the first that cannot end within the horizon; at least two."""
        lengths = [self.first_epoch(horizon)]
        while len(lengths) < 2 or sum(lengths) < horizon:
            lengths.append(min(2 * lengths[-1], LONGEST_EPOCH))
        return lengths

    @property
    def guarantee(self) -> Guarantee:
        return self.gaussian_guarantee()

    def legend(self) -> str:
        return f"{self.label} (α = {self.alpha:g}, {self.promised:.3g}-GDP)"

    def check(self, instance: Instance) -> None:
        require_unit_rewards(self, instance)

    def caveats(self, instance: Instance, horizon: int) -> tuple[str, ...]:
        needed = self.fixed_steps(instance.number_of_arms, horizon)
        return (f"the first epochs need {needed} steps and were never left",) if horizon <= needed else ()

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """All values drawn in each epoch."""
        draws, spread = self.draws(horizon), self.spread(horizon)
        return tuple(
            GaussianDraws(f"values of epoch {number}", "", length, draws, spread / length)
            for number, length in enumerate(self.epochs(horizon)[:-1], 1)
        )
