"""Upper confidence bounds on privately released sums."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.audit.index_rules import IndexRule
from bandits.audit.ledger import Release, RunningSums
from bandits.audit.running_sums import tree
from bandits.environments.bandit import Instance
from bandits.guarantees import Guarantee
from bandits.loops.leader import LARGEST_BLOCK, NoisySums, pulls_of_leaders
from bandits.mechanisms.tree import TreeMechanism, node_scale, tree_levels
from bandits.parameters import require, require_epsilon
from bandits.policies.base import Choices, Policy, require_bernoulli
from bandits.policies.ucb import ucb1_width


@dataclass(frozen=True)
class DPUCB(Policy):
    """DP-UCB (Mishra and Thakurta 2015), the baseline of Sajed and Sheffet (2019).

    A tree mechanism over the rewards of each arm; each arm once, then the largest

        (private sum + Gamma) / n_a + sqrt(2 log t / n_a).

    Sajed and Sheffet give no constants. `confidence` chooses Gamma, the bound on the tree's noise,
    with e the budget of one tree:

    - `mishra2015`: log(T)^2 log(K T log(T) / gamma) / e, as in independent implementations;
    - `tight`: log(T)^2.5 / e, the order that Sajed and Sheffet quote.

    `split_budget` gives every tree e = epsilon / K, the literature's choice, instead of epsilon.

    Guarantee: epsilon-DP of the transcript, one reward changed. A reward enters one tree only, so
    that trees of budget epsilon already give it (parallel composition), and with `split_budget`
    the transcript is in fact (epsilon / K)-DP.
    """

    name: ClassVar[str] = "dp_ucb"
    label: ClassVar[str] = "DP-UCB"
    citation: ClassVar[str] = "Mishra and Thakurta (2015), as compared in Sajed and Sheffet (2019), section 5"
    epsilon: float
    split_budget: bool = True
    confidence: Literal["mishra2015", "tight"] = "mishra2015"
    gamma: float = 0.1

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        require(0 < self.gamma < 1, "gamma", self.gamma, "a number in (0, 1)")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.epsilon)

    def legend(self) -> str:
        return f"{self.label} ({self.confidence}{'' if self.split_budget else ', undivided budget'})"

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)

    def tree_epsilon(self, arms: int) -> float:
        """The budget of one arm's tree."""
        return self.epsilon / arms if self.split_budget else self.epsilon

    def bonus(self, arms: int, horizon: int) -> float:
        """Gamma, added to every private sum."""
        log_horizon = math.log(horizon)
        if self.confidence == "tight":
            return float(log_horizon**2.5) / self.tree_epsilon(arms)
        log_union = math.log(arms * horizon * log_horizon / self.gamma)
        return log_horizon**2 * log_union / self.tree_epsilon(arms)

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """The tree of one arm; the others cost the same."""
        return (self._tree(arms, horizon),)

    def _tree(self, arms: int, horizon: int) -> RunningSums:
        return tree(horizon, self.tree_epsilon(arms), horizon - arms + 1)

    def index_rule(self, arms: int, horizon: int) -> IndexRule:
        return IndexRule(self._tree(arms, horizon), self._added(arms, horizon))

    def _added(self, arms: int, horizon: int) -> Callable[[int, FloatArray], FloatArray]:
        """What is added to noisy means at step t: Gamma / n_a and the width of UCB1."""
        most = self.bonus(arms, horizon)
        return lambda t, pulls: most / pulls + ucb1_width(t, pulls)

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        trees = [TreeMechanism(horizon, self.tree_epsilon(arms), rng) for _ in range(arms)]
        added = self._added(arms, horizon)
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + added(t, pulls)))
            pulls[arm] += 1
            sums[arm] = trees[arm].add((yield arm))

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        arms = len(instance.mean_rewards)
        released = NoisySums(
            bonus=self.bonus(arms, horizon),
            scale=node_scale(horizon, self.tree_epsilon(arms)),
            levels=tree_levels(horizon),
        )
        return pulls_of_leaders(instance.mean_rewards, horizon, checkpoints, released, LARGEST_BLOCK, rng)
