"""Upper confidence bounds without privacy."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.guarantees import NOT_PRIVATE, Guarantee
from bandits.loops.leader import LARGEST_BLOCK, NoisySums, pulls_of_leaders
from bandits.mechanisms.tree import tree_levels
from bandits.policies.base import Choices, Policy, require_bernoulli


def ucb1_width(t: int, pulls: FloatArray) -> FloatArray:
    """sqrt(2 log t / n_a), shape (arms,)."""
    return np.asarray(np.sqrt(2 * math.log(t) / pulls))


@dataclass(frozen=True)
class UCB1(Policy):
    """UCB1 (Auer, Cesa-Bianchi and Fischer 2002, Figure 1): each arm once, then the largest
    mean + sqrt(2 log t / n_a). Not private; the counterpart of DP-UCB.
    """

    name: ClassVar[str] = "ucb1"
    label: ClassVar[str] = "UCB1"
    citation: ClassVar[str] = "Auer, Cesa-Bianchi and Fischer (2002), Figure 1"

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        sums, pulls = np.zeros(arms), np.zeros(arms)
        for t in itertools.count(1):
            arm = t - 1 if t <= arms else int(np.argmax(sums / pulls + ucb1_width(t, pulls)))
            pulls[arm] += 1
            sums[arm] += yield arm

    def simulate(self, instance: Instance, horizon: int, checkpoints: IntArray, rng: np.random.Generator) -> IntArray:
        noiseless = NoisySums(bonus=0.0, scale=0.0, levels=tree_levels(horizon))
        return pulls_of_leaders(instance.mean_rewards, horizon, checkpoints, noiseless, LARGEST_BLOCK, rng)

    @property
    def guarantee(self) -> Guarantee:
        return NOT_PRIVATE

    def check(self, instance: Instance) -> None:
        require_bernoulli(self, instance)
