"""What all environments and all learners have in common, for any feedback."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.transcripts import Convention
from bandits.audit.verdicts import Bounds, Finding, dearest, unseen
from bandits.guarantees import NO_PROMISE, Guarantee, Scope
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

    def release_costs(self, arms: int, horizon: int, domain: Domain) -> tuple[Finding, ...]:
        """What one reward of the domain costs in each part of the ledger."""
        epsilon = self.guarantee.epsilon
        return tuple(
            Finding(entry.mechanism, entry.calibration, entry.cost(domain), entry.delta(epsilon, domain))
            for entry in self.ledger(arms, horizon)
        )

    def release_cost(self, arms: int, horizon: int, domain: Domain) -> Finding:
        """What all releases cost: the dearest part of the ledger, by delta where the guarantee has one."""
        return dearest(self.release_costs(arms, horizon, domain), self.guarantee.delta)

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> Finding:
        """What one decision costs, the history fixed but for one reward.

        Lower bounds are those of two arms: more arms can only add outcomes. Raises `ParameterError` for a policy whose
        single decisions have no law of their own, which is any that does not define this.
        """
        require_domain(0.0, domain)
        raise ParameterError("level", f"decision: {self.name} carries noise over; take level=release or transcript")

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> Finding:
        """What the whole sequence of arms costs, or when a rule halts and its estimate."""
        if not self.guarantee.private:
            return Finding("none", "", Bounds(math.inf, 0.0, "none computed", "none: nothing is promised"))
        if type(self).ledger is Learner.ledger:
            epsilon = Bounds(math.inf, 0.0, "none: the policy has no ledger", "none")
            return Finding("unknown", "", epsilon, replace(epsilon, kept=1.0) if self.guarantee.delta > 0 else None)
        return self.transcript_within(self.release_cost(arms, horizon, domain), arms, horizon, domain, convention)

    def transcript_within(
        self, releases: Finding, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> Finding:
        """What the transcript costs that follows from `releases`: by default no more, and nothing is shown by arms."""
        if releases.epsilon is None:
            return releases
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=unseen(releases.delta))

    def transcript_epsilon(self, arms: int, horizon: int, delta: float) -> Bounds:
        """The least epsilon at which the sequence of arms is (epsilon, delta)-private, between two bounds.

        By default what the ledger says. Raises `ParameterError` for a policy without one.
        """
        cost = self.release_cost(arms, horizon, self.domain)
        if cost.delta is not None and 0 < cost.delta.kept <= delta:
            return Bounds(self.guarantee.epsilon, 0.0, "none computed", cost.delta.method)
        return Bounds(math.inf if cost.epsilon is None else cost.epsilon.kept, 0.0, "none computed", "ledger")

    def composed_budget(self, arms: int, horizon: int) -> tuple[float, float]:
        """Epsilon and delta of all decisions that a reward may move: they add up to a promise about the transcript.

        That of the first pull of an arm moves none of the first pulls of the others.
        """
        return self.guarantee.composed(horizon - arms)

    def promised_epsilon(self, arms: int, horizon: int) -> float:
        """An upper bound on pure epsilon of the transcript, from what is promised; infinite where there is none."""
        guarantee = self.guarantee
        pure = guarantee.scope in (Scope.TRANSCRIPT, Scope.LOCAL) and guarantee.delta == 0
        return guarantee.epsilon if pure else math.inf

    def check(self, instance: Faced) -> None:
        """Raise `ParameterError("instance", why)` if the learner cannot play `instance`, or promises nothing there."""
