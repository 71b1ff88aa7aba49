"""Who can answer a question: policies whose promise implies the one wanted, each at its largest budget."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from bandits.environments.bernoulli import BernoulliInstance
from bandits.exact.two_arms import LostReward, TwoArms, best_pulls
from bandits.policies.base import Policy
from bandits.policies.local_halving import LDPHalving
from experiments.advice.budgets import largest_budget
from experiments.advice.fixed_budget import HALVING, KNOCKOUT, LOCAL_HALVING, noise_draws
from experiments.advice.question import Question
from experiments.config.build import EXCUSE
from experiments.config.compose import Composer
from experiments.config.plan import Plan, Combination, attempts

Attempt = Callable[[list[Combination]], list[Plan | str]]  # plans each setting, or says why it is refused


@dataclass(frozen=True)
class Contender:
    """A policy, and the plan of one run of it in the case of a question.

    Attributes
    ----------
    rounded: it takes zeros and ones only, so that each reward x is replaced by 1 with probability x, else 0.
    law: what it loses, where that is computed: of two arms of which it explores and then commits to one.
    """

    name: str
    policy: Policy
    planned: Plan
    rounded: bool = False
    law: LostReward | None = None

    @property
    def label(self) -> str:
        explored = getattr(self.policy, "explored", None)
        first = "" if explored is None else f", {explored:,} explore"
        return self.policy.label + first + (", rounded" if self.rounded else "")

    def plan(self, runs: int) -> Plan:
        """The plan of `runs` runs."""
        (request,) = self.planned.requests
        return replace(self.planned, requests=[replace(request, replications=runs)])


def contenders(
    asking: Question, composer: Composer, among: Collection[str] | None = None, results_dir: str | None = None
) -> tuple[list[Contender], list[Contender]]:
    """Those that promise enough, at the largest budget with which they do, and those that promise nothing.

    A policy whose promise is known to be violated, as its YAML says, is neither. `among`: names of policies, if not all
    of them are looked at. `results_dir`: where their runs are stored, that of the config if it is None.
    """
    attempt = partial(attempts, composer=composer, extra=[] if results_dir is None else [f"results_dir={results_dir}"])
    names = composer.choices("policy") if among is None else sorted(among)
    private: dict[str, Contender] = {}
    free: dict[str, Contender] = {}
    for choice, budget in _budgets(asking):
        left = [name for name in names if name not in private]
        more = _built(asking, {name: (("budget", choice), *budget.items()) for name in left}, attempt)
        free |= {name: one for name, one in more.items() if not one.policy.guarantee.private}
        again: dict[str, Combination] = {}
        for name in more.keys() - free.keys():
            key = "rho" if "rho" in vars(more[name].policy) else "epsilon"
            value = largest_budget(more[name].policy, key, asking.promise)
            if value == getattr(more[name].policy, key):
                private[name] = more[name]
            elif value is not None:
                again[name] = (("budget", choice), *(budget | {f"budget.{key}": value}).items())
        private |= _built(asking, again, attempt)
    return [private[name] for name in sorted(private)], [free[name] for name in sorted(free)]


def _budgets(asking: Question) -> Iterable[tuple[str, dict[str, float]]]:
    """The kinds of budget that can imply the promise of a question, and their values."""
    epsilon, delta, rho = asking.promise.epsilon, asking.promise.delta, asking.promise.rho
    yield "pure", {"budget.epsilon": epsilon}
    if asking.delta:
        yield "approximate", {"budget.epsilon": epsilon, "budget.delta": delta}
    if asking.delta or rho is not None:
        yield "zcdp", {"budget.rho": rho or epsilon**2 / 2}


def _built(asking: Question, budgets: dict[str, Combination], attempt: Attempt) -> dict[str, Contender]:
    """A contender of each bandit policy that can be built with its budget in the case."""
    made = _planned(asking, budgets, attempt, rounded=False)
    if asking.rewards == "bounded":
        left = {name: budget for name, budget in budgets.items() if name not in made}
        made |= _planned(replace(asking, rewards="clicks"), left, attempt, rounded=True)
    return made


def _planned(asking: Question, budgets: dict[str, Combination], attempt: Attempt, rounded: bool) -> dict[str, Contender]:
    case = (*asking.instance, ("horizon", asking.users), ("recorded", 1), ("runner", "threads"), ("replications", 1))
    designs = {name: _designs(asking, name, dict(budget)) for name, budget in budgets.items()}
    pulls = {name: _best(several, asking.users) for name, several in designs.items() if several}
    settings = [
        (*case, ("policy", name), *budget, *((("policy.explored", 2 * pulls[name]),) if name in pulls else ()))
        for name, budget in budgets.items()
    ]
    made = {}
    for name, planned in zip(budgets, attempt(settings), strict=True):
        if isinstance(planned, str) or EXCUSE in planned.requests[0].config["policy"]:
            continue
        policy = planned.requests[0].cell.policy
        if isinstance(policy, Policy):
            law = None
            if name in pulls and isinstance(planned.requests[0].cell.instance, BernoulliInstance):
                design = replace(designs[name][0], means=_seen(asking.means, name, dict(budgets[name])))
                law = _law(design, abs(asking.means[0] - asking.means[1]), pulls[name], asking.users)
            made[name] = Contender(name, policy, planned, rounded, law)
    return made


def _designs(asking: Question, name: str, budget: dict[str, Any]) -> tuple[TwoArms, ...]:
    """Of a policy that explores two arms and then commits to one: its tests, for all means that are held possible.

    So many explore that the mean lost reward is the least, of the worst of these means.
    """
    names = *HALVING.values(), *KNOCKOUT.values(), LOCAL_HALVING
    if len(asking.means) != 2 or asking.rewards == "heavy" or name not in names:
        return ()
    key = next((key for some in (HALVING, KNOCKOUT) for key, one in some.items() if one == name and key), "")
    noise = {key: budget.get(f"budget.{key}")} if key else {}
    return tuple(TwoArms(_seen(means, name, budget), **noise, draws=noise_draws(name)) for means in asking.designs)


def _seen(means: tuple[float, ...], name: str, budget: dict[str, Any]) -> tuple[float, float]:
    """The means of what the policy sees of two arms: rewards, or the bits of randomised response."""
    first, second = means
    if name == LOCAL_HALVING:
        first, second = LDPHalving(budget["budget.epsilon"]).chance(np.array(means)).tolist()
    return first, second


@cache
def _best(designs: tuple[TwoArms, ...], users: int) -> int:
    """`best_pulls`, which takes up to seconds and is asked for again by every part of an answer."""
    return best_pulls(designs, users)


@cache
def _law(design: TwoArms, gap: float, pulls: int, users: int) -> LostReward:
    """What is lost; `gap` is that of rewards, which is larger than that of bits."""
    return LostReward(gap * pulls, gap * (users - pulls), design.wrong(pulls))
