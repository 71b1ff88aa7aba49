"""What all environments and all learners have in common, for any feedback."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from bandits.audit.ledger import Domain, Release
from bandits.guarantees import NO_PROMISE, Guarantee
from bandits.parameters import ParameterError


class Environment(ABC):
    """What a learner faces. Subclasses are frozen dataclasses of their parameters.

    `name` is the word used in configs and results, `citation` says where the environment comes from,
    `revision` is raised by the author when the numbers that it draws change, and `feedback` says in
    words what a learner sees of it.
    """

    name: ClassVar[str]
    citation: ClassVar[str]
    feedback: ClassVar[str]
    revision: ClassVar[int] = 1
    portable: ClassVar[bool] = True  # False: its numbers are rounded as the processor likes, as a matrix product is

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
    domain: the rewards that its noise is made for; others are refused, or cut off at a bound.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    citation: ClassVar[str]
    revision: ClassVar[int] = 1
    faces: ClassVar[type[Any]]
    domain: ClassVar[Domain] = Domain.UNIT

    @property
    def guarantee(self) -> Guarantee:
        """What the learner promises about privacy: no promise until a class defines it, `NOT_PRIVATE` to say so."""
        return NO_PROMISE

    @property
    def paper_guarantee(self) -> Guarantee:
        """What the paper promises of the algorithm with these parameters; `guarantee` unless a class says more.

        `guarantee` is what is really spent. Where the printed form breaks its theorem, the two differ.
        """
        return self.guarantee

    def legend(self) -> str:
        """The label with the constants that a reader of a figure must know."""
        return self.label

    def caveats(self, instance: Faced, horizon: int) -> tuple[str, ...]:
        """Reasons why a theorem about the learner does not apply to these results, for the reader of the results."""
        return ()

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """What is released about rewards up to the horizon, in disjoint parts: each reward is in one of them.

        The choices follow from these releases and from public numbers, so that they cost no more than the dearest
        part. Raises `ParameterError` for a policy that does not say.
        """
        raise ParameterError("policy", f"{self.name} has no ledger: define ledger(arms, horizon), or audit its runs")

    def check(self, instance: Faced) -> None:
        """Raise `ParameterError("instance", why)` if the learner cannot play `instance`, or promises nothing there."""
