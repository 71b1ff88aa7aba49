"""Base classes of environments and learners, for bandits, full information and streams."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, wraps
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np

from bandits.arrays import IntArray
from bandits.audit.costs import Bounds, PrivacyCost, dearest, unseen_bounds
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.transcripts import Convention
from bandits.guarantees import NO_PROMISE, Guarantee, Scope
from bandits.parameters import ParameterError, as_whole, require

MOST_STEPS = 2**62  # loops count steps with 64 bits


class _Parameters:
    """Base of frozen dataclasses of parameters: a field that is a `Literal` takes no other value, or `ParameterError`.

    It is checked before what the `__post_init__` of a subclass checks, which need not call this one.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__post_init__" in vars(cls):
            cls.__post_init__ = _after_literals(vars(cls)["__post_init__"])  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, allowed in _literals_of(cls).items():
            value = getattr(self, name)
            require(value in allowed, name, repr(value), f"one of {', '.join(map(repr, allowed))}")


@cache
def _literals_of(cls: Any) -> dict[str, tuple[Any, ...]]:
    """The values that each `Literal` field takes."""
    return {field.name: get_args(field.type) for field in fields(cls) if get_origin(field.type) is Literal}


def _after_literals(own: Callable[..., None]) -> Callable[..., None]:
    @wraps(own)
    def checked(self: _Parameters, *given: Any) -> None:
        _Parameters.__post_init__(self)
        own(self, *given)

    return checked


class Environment(_Parameters, ABC):
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

    def in_order(self, order: IntArray) -> "Environment":
        """The environment with its arms in another order: arm `order`[i] of this one as arm i.

        Raises `ParameterError` where that is not defined.
        """
        raise ParameterError("instance", f"the arms of {self.name} cannot be put in another order")


Simulation = Callable[..., IntArray]


def with_checked_steps(simulate: Simulation) -> Simulation:
    """`simulate` of a policy, given `horizon` as an int and `checkpoints` as an array, increasing steps in 1..horizon.

    It raises `ParameterError` for all that cannot be made so.
    """

    @wraps(simulate)
    def checked(self: Any, instance: Any, horizon: Any, checkpoints: Any, rng: Any) -> IntArray:
        steps = as_whole(horizon, "horizon")
        require(1 <= steps <= MOST_STEPS, "horizon", steps, f"a number of steps in 1..{MOST_STEPS}")
        return simulate(self, instance, steps, _increasing(checkpoints, steps), rng)

    return checked


def _increasing(checkpoints: Any, horizon: int) -> IntArray:
    allowed = f"increasing steps in 1..{horizon}"
    try:
        given = np.asarray(checkpoints)
    except ValueError:  # lists of several lengths
        raise ParameterError("checkpoints", f"must be {allowed}") from None
    numbers = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "iuf"
    within = numbers and given[0] >= 1 and given[-1] <= horizon and bool((given[1:] > given[:-1]).all())  # no NaN is
    require(bool(within), "checkpoints", checkpoints, allowed)
    steps: IntArray = given.astype(np.int64, copy=False)
    require(steps is given or bool((steps == given).all()), "checkpoints", checkpoints, allowed)
    return steps


Faced = TypeVar("Faced", bound=Environment, contravariant=True)


class Learner(_Parameters, ABC, Generic[Faced]):
    """An algorithm that learns from an environment. Subclasses are frozen dataclasses of their parameters.

    Attributes
    ----------
    name: the word used in configs and results.
    label: the name printed in legends.
    citation: paper and place of the pseudo-code.
    revision: raised by the author when the numbers that the learner produces change.
    faces: the kind of environment that it learns from.
    domain: the rewards that its noise is calibrated for; others are refused or truncated.
    time_grows: whether the time of a simulation grows with the horizon; False if it is simulated batch by batch.
    keeps_sums: whether the noise of every batch stays in the index of its arm for ever, so that a best arm with a bad
        start may be left for as long as the horizon. Such runs are rare and may carry the mean regret at long horizons:
        no number of plain runs shows it (`experiments.evidence.means`).
    order_matters: whether the order of the arms changes what is lost, as where ties go to the first arm, or arms are
        pulled for long one after the other. Every run of a cell then has the arms in a random order, so that the place
        of the best arm favours nobody; `simulate`, `choices` and deployed runs have the order that they are given.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    citation: ClassVar[str]
    revision: ClassVar[int] = 1
    faces: ClassVar[type[Any]]
    domain: ClassVar[Domain] = Domain.UNIT
    time_grows: ClassVar[bool] = True
    keeps_sums: ClassVar[bool] = False
    order_matters: ClassVar[bool] = False

    @property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee: none declared by default; a learner without privacy returns `NOT_PRIVATE`."""
        return NO_PROMISE

    @property
    def paper_guarantee(self) -> Guarantee:
        """What the paper promises for these parameters; equal to `guarantee` unless a class overrides it.

        `guarantee` is what the code really spends. The two differ where the printed algorithm contradicts its theorem.
        """
        return self.guarantee

    def legend(self) -> str:
        """The label with the constants that a reader of a figure must know."""
        return self.label

    def caveats(self, instance: Faced, horizon: int) -> tuple[str, ...]:
        """Reasons why a theorem about the learner does not apply to these results."""
        return ()

    def fixed_steps(self, arms: int, horizon: int) -> int:
        """Steps of a start phase, whose arms no reward changes; 0 for a learner without one.

        If it is as long as the horizon, regret says which arm comes first and nothing else.
        """
        return 0

    def ledger(self, arms: int, horizon: int) -> tuple[Release, ...]:
        """What is released about rewards up to the horizon, as releases about disjoint sets of rewards.

        The choices follow from these releases and from public numbers, so they spend no more than the most expensive
        release (parallel composition). Raises `ParameterError` for a policy without a ledger.
        """
        raise ParameterError("policy", f"{self.name} has no ledger: define ledger(arms, horizon), or audit its runs")

    def release_costs(self, arms: int, horizon: int, domain: Domain) -> tuple[PrivacyCost, ...]:
        """The cost of one reward of the domain in each release of the ledger."""
        epsilon = self.guarantee.epsilon
        return tuple(
            PrivacyCost(entry.mechanism, entry.calibration, entry.cost(domain), entry.delta(epsilon, domain))
            for entry in self.ledger(arms, horizon)
        )

    def release_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The cost of all releases: that of the most expensive one, by delta where the guarantee has one."""
        return dearest(self.release_costs(arms, horizon, domain), self.guarantee.delta)

    def decision_cost(self, arms: int, horizon: int, domain: Domain) -> PrivacyCost:
        """The cost of one decision, the history fixed except for one reward.

        Lower bounds are those of two arms: more arms can only add outcomes. Raises `ParameterError` for a policy that
        does not define this, as its decisions depend on noise of earlier steps.
        """
        require_domain(0.0, domain)
        raise ParameterError(
            "level", f"decision: {self.name} uses noise of earlier decisions again; take level=release or transcript"
        )

    def transcript_cost(self, arms: int, horizon: int, domain: Domain, convention: Convention) -> PrivacyCost:
        """The cost of the whole sequence of arms, or of halting time and estimate of a stopping rule."""
        if not self.guarantee.private:
            return PrivacyCost("none", "", Bounds(math.inf, 0.0, "none computed", "none: nothing is promised"))
        if type(self).ledger is Learner.ledger:
            epsilon = Bounds(math.inf, 0.0, "none: the policy has no ledger", "none")
            return PrivacyCost("unknown", "", epsilon, replace(epsilon, kept=1.0) if self.guarantee.delta > 0 else None)
        return self.transcript_within(self.release_cost(arms, horizon, domain), arms, horizon, domain, convention)

    def transcript_within(
        self, releases: PrivacyCost, arms: int, horizon: int, domain: Domain, convention: Convention
    ) -> PrivacyCost:
        """The cost of the transcript that follows from `releases`: by default no more, with a lower bound of 0."""
        if releases.epsilon is None:
            return releases
        return replace(releases, epsilon=releases.epsilon.from_ledger(), delta=unseen_bounds(releases.delta))

    def transcript_epsilon(self, arms: int, horizon: int, delta: float) -> Bounds:
        """The least epsilon at which the sequence of arms is (epsilon, delta)-private, between two bounds.

        By default from the ledger. Raises `ParameterError` for a policy without one.
        """
        cost = self.release_cost(arms, horizon, self.domain)
        if cost.delta is not None and 0 < cost.delta.kept <= delta:
            return Bounds(self.guarantee.epsilon, 0.0, "none computed", cost.delta.method)
        return Bounds(math.inf if cost.epsilon is None else cost.epsilon.kept, 0.0, "none computed", "ledger")

    def composed_budget(self, arms: int, horizon: int) -> tuple[float, float]:
        """The sums of epsilon and of delta over all decisions that a reward may change: a guarantee about the
        transcript.

        The first pulls of all arms do not depend on rewards.
        """
        return self.guarantee.composed(horizon - arms)

    def promised_epsilon(self, arms: int, horizon: int) -> float:
        """An upper bound on pure epsilon of the transcript, from the guarantee; infinite if there is none."""
        guarantee = self.guarantee
        pure = guarantee.scope in (Scope.TRANSCRIPT, Scope.LOCAL) and guarantee.delta == 0
        return guarantee.epsilon if pure else math.inf

    def check(self, instance: Faced) -> None:
        """Raise `ParameterError("instance", why)` if the learner cannot play `instance`, or promises nothing there."""
