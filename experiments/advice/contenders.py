"""Who can answer a question: policies whose promise implies the one wanted, each at its largest budget."""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from bandits import ParameterError
from bandits.guarantees import Guarantee
from bandits.policies.base import Policy
from experiments.advice.question import Question
from experiments.config.compose import Composer
from experiments.config.joining import Setting
from experiments.config.plan import Plan, plan_settings

WIDEST = 64.0  # a budget is sought up to this many times the wanted one, and down to its inverse
STEPS = 24  # of bisection, on a logarithmic scale
DIGITS = 3  # significant ones of a budget that is not the wanted one


@dataclass(frozen=True)
class Contender:
    """A policy, and the plan of one run of it in the case of a question."""

    name: str
    policy: Policy
    planned: Plan

    def plan(self, runs: int) -> Plan:
        """The plan of `runs` runs."""
        (request,) = self.planned.requests
        return dataclasses.replace(self.planned, requests=[dataclasses.replace(request, replications=runs)])


@cache
def composer() -> Composer:
    """The composer of this repository, one for all plans, as it keeps what it has composed."""
    return Composer()


def contenders(asking: Question, extra: tuple[str, ...] = ()) -> tuple[list[Contender], list[Contender]]:
    """Those that promise enough, at the largest budget with which they do, and those that promise nothing."""
    names = composer().choices("policy")
    private: dict[str, Contender] = {}
    free: dict[str, Contender] = {}
    for choice, budget in _budgets(asking):
        left = [name for name in names if name not in private]
        more = _built(asking, {name: (("budget", choice), *budget.items()) for name in left}, extra)
        free |= {name: one for name, one in more.items() if not one.policy.guarantee.private}
        again: dict[str, Setting] = {}
        for name in more.keys() - free.keys():
            key = "rho" if "rho" in vars(more[name].policy) else "epsilon"
            value = largest_budget(more[name].policy, key, asking.promise)
            if value == getattr(more[name].policy, key):
                private[name] = more[name]
            elif value is not None:
                again[name] = (("budget", choice), *(budget | {f"budget.{key}": value}).items())
        private |= _built(asking, again, extra)
    return [private[name] for name in sorted(private)], [free[name] for name in sorted(free)]


def _budgets(asking: Question) -> Iterable[tuple[str, dict[str, float]]]:
    """The kinds of budget that can imply the promise of a question, and their values."""
    yield "pure", {"budget.epsilon": asking.epsilon}
    if asking.delta:
        yield "approximate", {"budget.epsilon": asking.epsilon, "budget.delta": asking.delta}
    if asking.delta or asking.rho is not None:
        yield "zcdp", {"budget.rho": asking.rho or asking.epsilon**2 / 2}


def _built(asking: Question, budgets: dict[str, Setting], extra: tuple[str, ...]) -> dict[str, Contender]:
    """A contender of each bandit policy that can be built with its budget in the case."""
    instance = "bernoulli" if asking.rewards == "clicks" else "beta"
    means = ",".join(map(repr, asking.means))
    words = [f"instance={instance}", f"instance.means=[{means}]", f"horizon={asking.users}", "recorded=1", *extra]
    settings = [(("policy", name), *budget) for name, budget in budgets.items()]
    plans = plan_settings([*words, "runner=threads", "replications=1"], settings, composer())
    made = {}
    for name, planned in zip(budgets, plans, strict=True):
        policy = None if isinstance(planned, str) else planned.requests[0].cell.policy
        if isinstance(policy, Policy) and not isinstance(planned, str):
            made[name] = Contender(name, policy, planned)
    return made


def largest_budget(policy: Policy, key: str, promise: Guarantee) -> float | None:
    """The largest value of `key`, epsilon or rho, with which the guarantee of a policy implies `promise`.

    The value that the policy has if it is the largest within one per cent, else one rounded down. None if there is none
    down to its 64th part.
    """
    start = float(getattr(policy, key))

    def enough(value: float) -> bool:
        try:
            changed: Policy = dataclasses.replace(cast(Any, policy), **{key: value})
            return changed.guarantee.implies(promise)
        except ParameterError:
            return False

    return _largest(start, enough)


def _largest(start: float, enough: Callable[[float], bool]) -> float | None:
    if enough(start) and not enough(start * 1.01):
        return start
    low, high = (start, start * WIDEST) if enough(start) else (start / WIDEST, start)
    if not enough(low):
        return None
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if enough(middle) else (low, middle)
    rounded = float(f"{low * (1 - 10**-DIGITS):.{DIGITS}g}")
    return rounded if enough(rounded) else low
