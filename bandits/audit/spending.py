"""The epsilon of a whole run at a delta of one's choice, from both sides: what `audit/decision_vs_transcript` draws."""

import math
from typing import Any

from bandits.audit.audits import composed_epsilon, dearest, event, releases
from bandits.audit.lattice import BINS, run_laws
from bandits.audit.transcripts import Convention, transcripts
from bandits.audit.verdicts import Bounds
from bandits.learner import Learner
from bandits.parameters import ParameterError
from bandits.policies.perturbed_leader import PerturbedLeader

ENUMERATED = 7  # steps of two arms


def transcript_epsilon(policy: Learner[Any], arms: int, horizon: int, delta: float) -> Bounds:
    """The least epsilon at which the sequence of arms is (epsilon, delta)-private, between two bounds.

    Perturbed leaders: exact for rewards 0 or 1 up to `ENUMERATED` steps; beyond, what one pair of inputs shows and,
    for pure budgets, what all decisions add up to. Others: what their ledgers say. Raises `ParameterError` for a
    policy without a ledger.
    """
    if not isinstance(policy, PerturbedLeader):
        return _of_ledger(policy, arms, horizon, delta)
    if arms != 2:
        raise ParameterError("arms", f"must be 2 for {policy.name}, got {arms}")
    if horizon <= ENUMERATED:
        found = transcripts(lambda n, sums: policy.decision(n, sums, horizon), 2, horizon, Convention.STREAM)
        return found.epsilon() if delta == 0 else found.epsilon_at(delta)
    if delta == 0:
        bounds = event(policy, horizon).epsilon
        assert bounds is not None
        return bounds
    shown = run_laws(lambda n, sums: policy.decision(n, sums, horizon), horizon, policy.start).epsilon(delta)
    witness = f"first reward of arm 1 is 0 or 1, all others 0; all runs, merged into {BINS} bins at each pull"
    return Bounds(composed_epsilon(policy, 2, horizon), shown, witness, "exact law of one pair, merged", 1e-8)


def _of_ledger(policy: Learner[Any], arms: int, horizon: int, delta: float) -> Bounds:
    finding = dearest(releases(policy, arms, horizon, policy.domain), policy.guarantee.delta)
    if finding.delta is not None and 0 < finding.delta.kept <= delta:
        return Bounds(policy.guarantee.epsilon, 0.0, "none computed", finding.delta.method)
    kept = math.inf if finding.epsilon is None else finding.epsilon.kept
    return Bounds(kept, 0.0, "none computed", "ledger")
