"""All pairs of neighbouring inputs as an environment, for exact computations of the privacy of a whole run."""

from dataclasses import dataclass
from typing import ClassVar

from bandits.learner import Environment
from bandits.parameters import require, require_arms


@dataclass(frozen=True)
class NeighbouringRewards(Environment):
    """All pairs of tables of rewards 0 or 1 that differ in one reward, as an environment.

    `at_delta` is the delta at which the epsilon of the transcript is computed.
    """

    name: ClassVar[str] = "neighbouring_rewards"
    revision: ClassVar[int] = 2  # far tails of Beta values are sums; the integrals of revision 1 lost digits there
    citation: ClassVar[str] = "Dwork, McSherry, Nissim and Smith (2006), Definition 1"
    feedback: ClassVar[str] = "the reward of the arm that is pulled, under two inputs"
    portable: ClassVar[bool] = False  # the last digits of integrals depend on the processor
    at_delta: float = 0.0
    arms: int = 2

    def __post_init__(self) -> None:
        require_arms(self.arms)
        require(0 <= self.at_delta < 1, "at_delta", self.at_delta, "a number in [0, 1)")

    @property
    def number_of_arms(self) -> int:
        return self.arms
