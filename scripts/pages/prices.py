"""Regret divided by lower bounds under privacy, and the trust model of each policy."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from bandits.arrays import FloatArray
from bandits.bounds.azize2025 import lower_bound_line
from bandits.bounds.local_privacy import local_bernoulli_asymptote
from bandits.environments.bernoulli import BernoulliInstance
from bandits.guarantees import Guarantee, Scope
from bandits.mechanisms.gaussian import gaussian_level
from experiments.errors import UserError
from experiments.evidence.contests import began, form_of
from experiments.store.stored import Cells, Stored
from scripts.drawing import words
from scripts.drawing.legend import names_behind
from scripts.drawing.numbers import parameter


class Trust(StrEnum):
    """Trust models, from the strongest promise to the weakest; the guarantee of a policy may imply several."""

    LOCAL = "local: every reward is ε-private before it is sent"
    SHUFFLE = "shuffle, (ε, δ): the shuffled messages of every batch of users are (ε, δ)-private, δ > 0"
    DISTRIBUTED = "distributed: every sum that the server sees is ε-private"
    ROUNDED = "distributed, (ε, δ): every sum that the server sees is (ε, δ)-private, δ > 0"
    PURE = "central: the whole sequence of arms is ε-private"
    GAUSSIAN = "central, Gaussian: the whole sequence of arms, at the level that is (ε, δ)-private, δ > 0"
    CONCENTRATED = "central, zCDP: the whole sequence of arms is ρ-zCDP, ρ = ε²/2, as ε-privacy implies"
    APPROXIMATE = "central, (ε, δ): the whole sequence of arms is (ε, δ)-private, δ > 0"
    DECISION = "one decision, (ε, δ): a single arm, given the history, δ > 0; far less than the others"
    NONE = "not private"

    @property
    def short(self) -> str:
        return self.partition(":")[0]

    def in_words(self, delta: float) -> str:
        """The trust model as text, with the value of delta."""
        return self.replace("δ > 0", f"δ = {parameter(delta)}")

    def required(self, epsilon: float, delta: float) -> Guarantee:
        """The guarantee that is required at this epsilon and delta."""
        if self is Trust.GAUSSIAN:
            return Guarantee.gaussian(gaussian_level(epsilon, delta), epsilon)
        if self is Trust.CONCENTRATED:
            return Guarantee.concentrated(epsilon**2 / 2, epsilon)
        return Guarantee(epsilon, delta if "(ε, δ)" in self.short else 0.0, SCOPES[self])


SCOPES = {
    Trust.LOCAL: Scope.LOCAL,
    Trust.SHUFFLE: Scope.SHUFFLE,
    Trust.DISTRIBUTED: Scope.DISTRIBUTED,
    Trust.ROUNDED: Scope.DISTRIBUTED,
    Trust.PURE: Scope.TRANSCRIPT,
    Trust.APPROXIMATE: Scope.TRANSCRIPT,
    Trust.DECISION: Scope.DECISION,
}


def trust_of(guarantee: Guarantee) -> Trust:
    """The trust model of a guarantee."""
    if guarantee.scope is Scope.TRANSCRIPT:
        if guarantee.level is not None:
            return Trust.GAUSSIAN
        if guarantee.rho is not None and guarantee.delta:
            return Trust.CONCENTRATED
        return Trust.APPROXIMATE if guarantee.delta else Trust.PURE
    if guarantee.scope is Scope.DISTRIBUTED:
        return Trust.ROUNDED if guarantee.delta else Trust.DISTRIBUTED
    return {Scope.LOCAL: Trust.LOCAL, Scope.SHUFFLE: Trust.SHUFFLE, Scope.DECISION: Trust.DECISION}.get(
        guarantee.scope, Trust.NONE
    )


@dataclass(frozen=True)
class Priced:
    """The stored runs of a policy on Bernoulli arms; `label` is its name in tables, `budget` its own epsilon.

    Raises `UserError` for other arms, for which no bound is known.
    """

    stored: Stored
    label: str

    def __post_init__(self) -> None:
        if not isinstance(self.stored.cell.instance, BernoulliInstance):
            name = self.stored.cell.instance.name
            raise UserError(f"cells: {name} has no Bernoulli arms; the bounds of the atlas are for those")

    @property
    def budget(self) -> float:
        return self.stored.cell.policy.guarantee.epsilon

    @property
    def horizon(self) -> int:
        return self.stored.cell.horizon

    @property
    def place(self) -> str:
        """The instance with its parameters, as a key."""
        return repr(self.stored.cell.instance)

    @cached_property
    def began(self) -> bool:
        """Whether every run pulled every arm; if not, T is within a start phase that does not depend on rewards."""
        return began(self.stored)

    @cached_property
    def trust(self) -> Trust:
        """That of its guarantee; zCDP if it takes a rho, as its `budget` is then the epsilon whose square is 2 rho."""
        policy = self.stored.cell.policy
        return Trust.CONCENTRATED if "rho" in vars(policy) else trust_of(policy.guarantee)

    @cached_property
    def central(self) -> FloatArray:
        """Regret of each run divided by log(T) times the least slope of epsilon-private policies, shape (runs,)."""
        return self._over(lower_bound_line)

    @cached_property
    def local(self) -> FloatArray:
        """Regret of each run divided by the same bound for epsilon-locally private policies, shape (runs,)."""
        return self._over(local_bernoulli_asymptote)

    def _over(self, bound: Callable[[FloatArray, float, float], float]) -> FloatArray:
        instance = self.stored.cell.instance
        assert isinstance(instance, BernoulliInstance)
        return self.stored.headline / bound(instance.mean_rewards, self.budget, self.horizon)


def priced(cells: Cells) -> list[Priced]:
    """A `Priced` for every cell; several forms of a policy are labelled as in legends. Raises `UserError`."""
    behind = names_behind(cells)
    forms = {(stored.cell.policy.name, form_of(stored.cell.policy)) for stored in cells}
    several = [name for name, many in Counter(name for name, _ in forms).items() if many > 1]

    def label(stored: Stored) -> str:
        name = stored.cell.policy.name
        return (words.legend_of if name in several else words.label_of)(stored, behind[name])

    return [Priced(stored, label(stored)) for stored in cells]


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of numbers >= 0; it is 0 if one of them is 0."""
    array = np.array(list(values), dtype=np.float64)
    return 0.0 if (array == 0).any() else math.exp(float(np.log(array).mean()))
