"""The promises that are wanted by whom users trust, and the largest budget with which a policy keeps one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from bandits import ParameterError
from bandits.guarantees import Guarantee, Scope
from bandits.policies.base import Policy
from bandits.policies.gaussian_budget import ConcentratedBudget

TRUSTS = {
    "local": Scope.LOCAL,
    "shuffle": Scope.SHUFFLE,
    "distributed": Scope.DISTRIBUTED,
    "central": Scope.TRANSCRIPT,
}  # from the strongest promise to the weakest
WIDEST = 64.0  # a budget is sought up to this many times the wanted one, and down to its inverse
STEPS = 24  # of bisection, on a logarithmic scale
DIGITS = 3  # significant ones of a budget that is not the wanted one


def deployed(policy: Policy) -> Guarantee:
    """What a policy promises where it is deployed: there normal noise is discrete, and its rho is all that is known.

    Simulated noise has a level, which implies a smaller delta.
    """
    guarantee = policy.guarantee
    if isinstance(policy, ConcentratedBudget):
        return Guarantee.concentrated(policy.rho, guarantee.epsilon, guarantee.scope)
    return guarantee


def largest_budget(policy: Policy, key: str, promise: Guarantee) -> float | None:
    """The largest value of `key`, epsilon or rho, with which a policy implies `promise` where it is `deployed`.

    The value that the policy has if it is the largest within one per cent, else one rounded down. None if there is none
    down to its 64th part.
    """
    start = float(getattr(policy, key))

    def enough(value: float) -> bool:
        try:
            changed: Policy = replace(cast(Any, policy), **{key: value})
            return deployed(changed).implies(promise)
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
