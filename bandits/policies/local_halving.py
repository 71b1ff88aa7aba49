"""Best-arm identification with a fixed number of users who send one random bit each: sequential halving on bits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arrays import FloatArray, IntArray
from bandits.environments.bandit import Instance
from bandits.policies.base import Choices
from bandits.policies.halving import Allocation, HalvingPolicy
from bandits.policies.randomised_response import RandomisedResponse


@dataclass(frozen=True)
class LDPHalving(RandomisedResponse, HalvingPolicy):
    """LDP-Halving (ours): sequential halving by sums of one round of the bits that users send.

    See `HalvingPolicy` and `RandomisedResponse`. Of equal sums the first arm stays. bandits/bounds/halving.md, 15.5,
    bounds how often a wrong arm is named.

    Guarantee: epsilon-DP of every reward before the learner sees it, for rewards in [0, 1].
    """

    name: ClassVar[str] = "ldp_halving"
    label: ClassVar[str] = "LDP-Halving"
    citation: ClassVar[str] = "this repository, after Karnin, Koren and Somekh (2013)"
    order_matters: ClassVar[bool] = True  # of equal sums the first arm stays
    epsilon: float
    explored: int | None = None
    allocation: Allocation = "halving"

    def __post_init__(self) -> None:
        self._require_budget()
        self._require_explored()

    def sums(self, instance: Instance, arms: IntArray, pulls: int, rng: np.random.Generator) -> FloatArray:
        """The sums of the bits of a round."""
        return rng.binomial(pulls, self.chance(instance.mean_rewards[arms])).astype(np.float64)

    def scores(self, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The sums: all noise is in their bits."""
        return sums

    def choices(self, arms: int, horizon: int, rng: np.random.Generator) -> Choices:
        steps = super().choices(arms, horizon, rng)
        arm = next(steps)
        while True:
            arm = steps.send(self.report((yield arm), rng))
