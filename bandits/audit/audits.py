"""The levels of an audit: what a policy releases, one decision, or the whole transcript."""

from enum import StrEnum
from typing import Any

from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain, Release
from bandits.audit.transcripts import Convention
from bandits.guarantees import ROUNDING, Scope
from bandits.learner import Learner
from bandits.mechanisms.gaussian import gaussian_delta, level_of_pure
from bandits.parameters import ParameterError
from bandits.policies.perturbed_leader import PerturbedLeader, WithStartPhase


class Level(StrEnum):
    """What is audited: noisy numbers, a leader's value, a decision given the history, all arms, or one sequence."""

    RELEASE = "release"
    VALUE = "value"
    DECISION = "decision"
    TRANSCRIPT = "transcript"
    EVENT = "event"


PROMISED = {
    Scope.TRANSCRIPT: Level.TRANSCRIPT,
    Scope.DECISION: Level.DECISION,
    Scope.LOCAL: Level.RELEASE,
    Scope.SHUFFLE: Level.RELEASE,
    Scope.DISTRIBUTED: Level.RELEASE,
    Scope.NONE: Level.TRANSCRIPT,
}

SHARES = (0.1, 0.5, 1.0, 2.0, 4.0)  # of a level: the epsilons at which the delta that it promises is looked at


def beyond_promise(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> str:
    """What the ledger spends more of than the rho or the level that is promised, in words; empty if nothing is known.

    A pair (epsilon, delta) says little of either. Nothing is known of promises about decisions, and without a ledger.
    """
    claimed = policy.guarantee
    if claimed.scope in (Scope.DECISION, Scope.NONE) or type(policy).ledger is Learner.ledger:
        return ""
    for release in policy.ledger(arms, horizon):
        if claimed.rho is not None and (rho := release.rho(domain)) > claimed.rho * (1 + ROUNDING):
            return f"rho is {claimed.rho:g}, and a release has {rho:g}"
        if claimed.level is not None and (why := _beyond_level(claimed.level, release, domain)):
            return f"level is {claimed.level:g}, and a release has {why}"
    return ""


def _beyond_level(level: float, release: Release, domain: Domain) -> str:
    for epsilon in (share * level for share in SHARES):
        allowed, bounds = gaussian_delta(level, epsilon), release.delta(epsilon, domain)
        if bounds is None:
            implied = level_of_pure(release.cost(domain).kept)
            return f"{implied:g}" if implied > level * (1 + ROUNDING) else ""
        if bounds.kept > allowed * (1 + ROUNDING) + bounds.error:
            return f"delta {bounds.kept:.4g} at epsilon {epsilon:.4g}, where the level allows {allowed:.4g}"
    return ""


def cost_at(
    level: Level, policy: Learner[Any], arms: int, horizon: int, domain: Domain, convention: Convention
) -> PrivacyCost:
    """The cost of one reward at a level. Raises `ParameterError` for a policy that has no such level."""
    if level is Level.RELEASE:
        return policy.release_cost(arms, horizon, domain)
    if level is Level.DECISION:
        return policy.decision_cost(arms, horizon, domain)
    if level is Level.TRANSCRIPT:
        return policy.transcript_cost(arms, horizon, domain, convention)
    if level is Level.VALUE:
        if not isinstance(policy, WithStartPhase):
            raise ParameterError("level", f"value is for policies with a start phase, not {policy.name}")
        return policy.value_cost(horizon)
    if not isinstance(policy, PerturbedLeader):
        raise ParameterError("level", f"event is for perturbed leaders, not {policy.name}; take level=transcript")
    return policy.sequence_cost(horizon)
