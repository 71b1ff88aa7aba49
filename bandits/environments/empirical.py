"""Rewards drawn with replacement from rewards that were observed."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.parameters import require


@dataclass(frozen=True)
class Empirical(Instance):
    """Each reward of an arm is one of its `values` in [0, 1], drawn in proportion to `counts`, with replacement.

    Attributes
    ----------
    values: of each arm, any number of them.
    counts: how often each value was observed, in the same form.
    """

    name: ClassVar[str] = "empirical"
    citation: ClassVar[str] = "rewards that were observed"
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)
    values: tuple[tuple[float, ...], ...]
    counts: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        require(len(self.values) >= 2, "values", list(self.values), "a list for each of at least 2 arms")
        require(all(0 <= x <= 1 for arm in self.values for x in arm), "values", list(self.values), "in [0, 1]")
        sizes, shape = [len(arm) for arm in self.counts], [len(arm) for arm in self.values]
        require(sizes == shape and min(shape) > 0, "counts", sizes, f"lists of the sizes of values, {shape}")
        positive = all(count > 0 for arm in self.counts for count in arm)
        require(positive, "counts", list(self.counts), "whole numbers > 0")

    @cached_property
    def laws(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """The values of each arm and their probabilities."""
        arrays = [(np.array(x), np.array(n, dtype=float)) for x, n in zip(self.values, self.counts, strict=True)]
        return tuple((values, counts / counts.sum()) for values, counts in arrays)

    def define_means(self) -> FloatArray:
        return np.array([math.fsum(values * shares) for values, shares in self.laws])

    def in_order(self, order: IntArray) -> "Empirical":
        values, counts = (tuple(part[arm] for arm in order) for part in (self.values, self.counts))
        return Empirical(values, counts)

    def sample(self, arm: int, rng: np.random.Generator) -> float:
        values, shares = self.laws[arm]
        return float(values[np.searchsorted(shares.cumsum()[:-1], rng.random(), side="right")])

    def sums(self, arms: IntArray, rounds: int, rng: np.random.Generator) -> FloatArray:
        """The counts of the values are multinomial, so that the cost does not grow with `rounds`."""
        drawn = [(self.laws[arm][0], rng.multinomial(rounds, self.laws[arm][1])) for arm in arms]
        return np.array([float(values @ counts) for values, counts in drawn])
