"""Base classes of environments and learners, for bandits, full information and streams."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from bandits.audit.ledger import Domain, Release
from bandits.guarantees import NO_PROMISE, Guarantee
from bandits.parameters import ParameterError


class Environment(ABC):
    """What a learner faces. Subclasses are frozen dataclasses of their parameters.

    `name` is the word used in configs and results, `citation` says where the environment comes from,
    `revision` is raised by the author when the numbers that the environment draws change, and `feedback`
    says in words what a learner sees.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    feedback: ClassVar[str]
    revision: ClassVar[int] = 1
    portable: ClassVar[bool] = True  # False: last digits depend on the processor, as those of a matrix product do

    @property
    @abstractmethod
    def number_of_arms(self) -> int:
        """K, the number of arms."""


Faced = TypeVar("Faced", bound=Environment, contravariant=True)


class Learner(ABC, Generic[Faced]):
    """An algorithm that learns from an environment. Subclasses are frozen dataclasses of their parameters.

    Attributes
    ----------
    name: the word used in configs and results.
    label: the name printed in legends.
    citation: paper and place of the pseudo-code.
    revision: raised by the author when the numbers that the learner produces change.
    faces: the kind of environment that it learns from.
    domain: the rewards that its noise is calibrated for; others are refused, or cut off at a bound.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    citation: ClassVar[str]
    revision: ClassVar[int] = 1
    faces: ClassVar[type[Any]]
    domain: ClassVar[Domain] = Domain.UNIT

    @property
    def guarantee(self) -> Guarantee:
        """What the learner promises about privacy: no promise by default; one without privacy returns `NOT_PRIVATE`."""
        return NO_PROMISE

    @property
    def paper_guarantee(self) -> Guarantee:
        """What the paper promises for these parameters; equal to `guarantee` unless a class overrides it.

        `guarantee` is what is really spent. The two differ where the algorithm as printed contradicts its theorem.
        """
        return self.guarantee

    def legend(self) -> str:
        """The label with the constants that a reader of a figure must know."""
        return self.label

    def caveats(self, instance: Faced, horizon: int) -> tuple[str, ...]:
        """Reasons why a theorem about the learner does not apply to these results, for the reader of the results."""
        return ()

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """What is released about rewards up to the horizon, as releases about disjoint sets of rewards.

        The choices follow from these releases and from public numbers, so they spend no more than the most expensive
        release (parallel composition). Raises `ParameterError` for a policy without a ledger.
        """
        raise ParameterError("policy", f"{self.name} has no ledger: define ledger(arms, horizon), or audit its runs")

    def check(self, instance: Faced) -> None:
        """Raise `ParameterError("instance", why)` if the learner cannot play `instance`, or promises nothing there."""
