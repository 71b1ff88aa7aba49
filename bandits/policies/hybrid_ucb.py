"""Upper confidence bounds after Tossou and Dimitrakakis (2016), in the form that Wang and Zhu (2024) compare with."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import zeta

from bandits.arrays import FloatArray, IntArray
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Release, RunningSums
from bandits.audit.releases import RepeatedMeans
from bandits.audit.running_sums import hybrid
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.hybrid_ucb import dp_ucb_int_pulls, dp_ucb_pulls, released_index
from bandits.loops.leader import LARGEST_BLOCK, NoisySums, pulls_of_leaders
from bandits.mechanisms.hybrid import HybridMechanism, hybrid_scale
from bandits.mechanisms.tree import tree_levels
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.ucb import ucb1_width


@dataclass(frozen=True)
class DPUCBTossou(Policy):
    """DP-UCB (Tossou and Dimitrakakis 2016): UCB1 on sums released by hybrid mechanisms, without a bonus.

    At every step the mechanism of every arm takes an item, the reward if the arm was pulled and 0 if not,
    so the noise of all arms moves at every step and grows with log t. Each arm once, then the largest
    s_a / n_a + sqrt(2 log t / n_a) with the latest private sum s_a.

    Guarantee: epsilon-DP of the transcript, one reward changed. A reward is one item of one mechanism;
    the pulls follow from what the mechanisms release.
    """

    name: ClassVar[str] = "dp_ucb_tossou"
    label: ClassVar[str] = "DP-UCB (hybrid)"
    citation: ClassVar[str] = "Tossou and Dimitrakakis (2016), as compared in Wang and Zhu (2024), section 8"
    revision: ClassVar[int] = 2  # its loop skips steps that one arm surely leads; revision 1 drew all noise
    epsilon: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        released = [HybridMechanism(self.epsilon, rng) for _ in range(arms)]
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + ucb1_width(t, pulls)))
            pulls[arm] += 1
            reward = yield arm
            sums = np.array([stream.add(reward if number == arm else 0.0) for number, stream in enumerate(released)])

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        scale, levels = hybrid_scale(self.epsilon), tree_levels(horizon)
        return dp_ucb_pulls(instance.mean_rewards, horizon, checkpoints, scale, levels, LARGEST_BLOCK, rng)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mechanism of one arm, which takes an item at every step; the others cost the same."""
        return (hybrid(self.epsilon, horizon),)

    def index_rule(self, arms: int, horizon: int) -> IndexRule:
        return IndexRule(hybrid(self.epsilon, horizon), ucb1_width, every_step=True)


@dataclass(frozen=True)
class DPUCBBound(Policy):
    """DP-UCB-BOUND (Tossou and Dimitrakakis 2016): UCB1 on sums released by hybrid mechanisms, noise bounded.

    The mechanism of an arm takes the rewards of that arm only. Each arm once, then the largest

        s_a / n_a + sqrt(2 log t / n_a) + nu_a / n_a,

    s_a the private sum and nu_a the bound on its noise: (sqrt(8) / epsilon) log(4 t^4), times log(n_a) + 1
    unless n_a is a power of two.

    Guarantee: epsilon-DP of the transcript, one reward changed. A reward is one item of one mechanism;
    the pulls follow from what the mechanisms release.
    """

    name: ClassVar[str] = "dp_ucb_bound"
    label: ClassVar[str] = "DP-UCB-BOUND"
    citation: ClassVar[str] = "Tossou and Dimitrakakis (2016), as compared in Wang and Zhu (2024), section 8"
    revision: ClassVar[int] = 3  # its loop draws low sums of blocks; revision 2 drew more of the noise
    epsilon: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        released = [HybridMechanism(self.epsilon, rng) for _ in range(arms)]
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + self.bonus(t, pulls)))
            pulls[arm] += 1
            sums[arm] = released[arm].add((yield arm))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        released = self.released(horizon)
        return pulls_of_leaders(instance.mean_rewards, horizon, checkpoints, released, LARGEST_BLOCK, rng)

    def bonus(self, t: int, pulls: FloatArray) -> FloatArray:
        """What is added to private means: the confidence width and the bound on the noise, shape (arms,)."""
        growth = np.where(np.log2(pulls) % 1 == 0, 1.0, np.log(pulls) + 1)
        bounds = math.sqrt(8) / self.epsilon * (math.log(4) + 4 * math.log(t)) * growth
        return np.asarray(bounds / pulls + ucb1_width(t, pulls))

    def released(self, horizon: int) -> NoisySums:
        """The parameters of the loop of index policies."""
        bound, levels = math.sqrt(8) / self.epsilon, tree_levels(horizon)
        return NoisySums(0.0, hybrid_scale(self.epsilon), levels, hybrid=True, noise_bound=bound)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.laplace(self.epsilon)

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The mechanism of one arm; the others cost the same."""
        return (hybrid(self.epsilon, horizon - arms + 1),)

    def index_rule(self, arms: int, horizon: int) -> IndexRule:
        return IndexRule(hybrid(self.epsilon, horizon - arms + 1), self.bonus)


@dataclass(frozen=True)
class DPUCBInt(Policy):
    """DP-UCB-INT (Tossou and Dimitrakakis 2016): means released once in f = ceil(1 / epsilon_0) pulls.

    f rounds of all arms; then the arm with the largest index. The index of an arm is renewed when its
    pulls n_a have reached another multiple of f, at the step t that follows, once, and kept until the next:

        s_a / n_a + Lap(n_a^-(1 - v/2)) + sqrt(2 log t / n_a).

    Guarantee: (2x + sqrt(2x log(1/delta)), delta)-DP of the transcript, one reward changed, where x = epsilon_0
    zeta(v), at any horizon. A reward enters one arm's means after jf, (j+1)f, ... pulls. It moves a mean of n rewards
    by 1/n, at the cost e = n^-(v/2). The squares of all costs sum to at most f^-v zeta(v) <= x, and e (exp(e) - 1) <= 2
    e^2 as e <= 1: advanced composition (Dwork, Rothblum and Vadhan 2010). The pseudo-code can also be read as drawing
    new noise at each step at which n_a is such a multiple, which would spend more with every step.

    `calibrate` solves for the epsilon_0 that spends (epsilon, delta). Without it epsilon_0 = epsilon,
    and the guarantee is the one above: 31 instead of 1 for epsilon = 1, delta = 0.01, v = 1.1.
    """

    name: ClassVar[str] = "dp_ucb_int"
    label: ClassVar[str] = "DP-UCB-INT"
    citation: ClassVar[str] = "Tossou and Dimitrakakis (2016), as compared in Wang and Zhu (2024), section 8"
    epsilon: float
    delta: float
    v: float = 1.1
    calibrate: bool = True

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(0 < self.delta < 1, "delta", self.delta, "a number in (0, 1)")
        require(1 < self.v <= 1.5, "v", self.v, "a number in (1, 1.5]")

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        sums, pulls, index = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        leader = 0
        for t in itertools.count(1):
            if t > arms * self.interval and (t - 1) % self.interval == 0:
                renewed = range(arms) if t == arms * self.interval + 1 else [leader]
                for arm in renewed:
                    index[arm] = released_index(sums[arm], int(pulls[arm]), t, self.v, rng)
                leader = int(np.argmax(index))
            arm = (t - 1) % arms if t <= arms * self.interval else leader
            pulls[arm] += 1
            sums[arm] += yield arm

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        interval = min(self.interval, horizon)  # a longer interval also plays the first round-robin only
        return dp_ucb_int_pulls(instance.mean_rewards, horizon, checkpoints, interval, self.v, rng, rng)

    @property
    def internal_epsilon(self) -> float:
        """The epsilon_0 of the paper; calibrated, the root of 2x + sqrt(2x log(1/delta)) = epsilon, over zeta(v)."""
        if not self.calibrate:
            return self.epsilon
        linear = math.sqrt(2 * math.log(1 / self.delta))
        root_of_x = 2 * self.epsilon / (linear + math.sqrt(linear**2 + 8 * self.epsilon))
        return root_of_x**2 / float(zeta(self.v))

    @property
    def interval(self) -> int:
        """Pulls between two releases, f."""
        return math.ceil(1 / self.internal_epsilon)

    @property
    def guarantee(self) -> Guarantee:
        if self.calibrate:
            return Guarantee(self.epsilon, self.delta)
        x = self.internal_epsilon * float(zeta(self.v))
        return Guarantee(2 * x + math.sqrt(2 * x * math.log(1 / self.delta)), self.delta)

    def legend(self) -> str:
        return self.label if self.calibrate else f"{self.label} (ε₀ = ε)"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    # For audits: what is released, and what it costs.
    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The means of one arm that contain its first reward; no other reward is in more means."""
        counts = np.arange(self.interval, horizon - arms + 2, self.interval, dtype=float)
        calibration = "calibrated" if self.calibrate else "epsilon_0 = epsilon"
        return (RepeatedMeans("means in intervals", calibration, counts ** (-self.v / 2)),)

    def index_rule(self, arms: int, horizon: int) -> IndexRule:
        """Means of n rewards plus Lap(n^-(1 - v/2)) are sums plus Lap(n^(v/2)), each with a draw of its own."""
        items = max(1, horizon - arms + 1)
        alone, low, high = np.zeros(items, dtype=np.int64), np.zeros(items), np.ones(items)
        sums = RunningSums("means in intervals", "", alone, np.arange(1.0, items + 1) ** (self.v / 2), low, high)
        return IndexRule(sums, ucb1_width, self.interval, lasting=True)
