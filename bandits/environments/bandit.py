"""The base class of bandit instances: arms, their means, and how their rewards are drawn."""

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.learner import Environment


class Instance(Environment):
    """A stochastic bandit with K arms; `support` is the smallest interval known to hold every reward."""

    feedback: ClassVar[str] = "the reward of the arm pulled"
    support: ClassVar[tuple[float, float]]

    @abstractmethod
    def define_means(self) -> FloatArray:
        """Mean reward of every arm, shape (arms,), from the parameters of the instance."""

    @cached_property
    def mean_rewards(self) -> FloatArray:
        """Mean reward of every arm, shape (arms,), read-only."""
        means = np.array(self.define_means(), dtype=np.float64)
        means.flags.writeable = False
        return means

    @cached_property
    def gaps(self) -> FloatArray:
        """How far the mean of every arm lies below the largest, shape (arms,)."""
        return np.asarray(self.mean_rewards.max() - self.mean_rewards)

    @property
    def number_of_arms(self) -> int:
        return len(self.mean_rewards)

    @abstractmethod
    def sample(self, arm: int, rng: np.random.Generator) -> float:
        """One reward of `arm`."""

    @abstractmethod
    def sums(self, arms: IntArray, rounds: int, rng: np.random.Generator) -> FloatArray:
        """Sum of `rounds` fresh rewards of each of `arms`, shape (len(arms),).

        If the law of the sum is known it is drawn directly, so that the cost does not grow with `rounds`.
        """
