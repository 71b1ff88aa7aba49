"""The levels of an audit: what a policy releases, one decision, or the whole transcript."""

from enum import StrEnum
from typing import Any

from bandits.audit.costs import PrivacyCost
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.guarantees import Scope
from bandits.learner import Learner
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
