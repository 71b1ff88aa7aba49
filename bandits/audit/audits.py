"""Audits of policies at three levels: what is released, one decision, the whole transcript."""

import math
from dataclasses import replace
from typing import Any

from bandits.audit.decisions import decision_bounds, shown_delta, shown_epsilon
from bandits.audit.epochs import epoch_bounds, first_choice, phase_delta
from bandits.audit.ledger import Domain, Release, require_domain
from bandits.audit.transcripts import Convention, explicit_event, transcripts
from bandits.audit.verdicts import Bounds, Finding
from bandits.guarantees import Scope
from bandits.learner import Learner
from bandits.mechanisms.hybrid import hybrid_scale
from bandits.mechanisms.start_phases import beta_condition, gauss_condition
from bandits.mechanisms.tree import tree_levels
from bandits.parameters import ParameterError
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.heavy_tailed import DPRUCB
from bandits.policies.hybrid_ucb import DPUCBBound, DPUCBInt, DPUCBTossou
from bandits.policies.perturbed_leader import (
    DPFTPLBeta,
    DPFTPLGauss,
    GDPElimNew,
    PerturbedLeader,
)
from bandits.policies.private_ucb import DPUCB
from bandits.policies.stopping_rules import StoppingRule

FARTHEST = 600.0  # scales that an arm is behind: its chance is a double still
NOTHING = Bounds(0.0, 0.0, "nothing that is released up to this horizon depends on a reward", "ledger")


def releases(policy: Learner[Any], arms: int, horizon: int, domain: Domain, v: float = 1.0) -> tuple[Finding, ...]:
    """What each part of the ledger costs. `v` is that of the instance, for heavy tails."""
    more: dict[str, float] = {"v": v} if isinstance(policy, DPRUCB) else {}
    ledger: tuple[Release, ...] = policy.ledger(arms, horizon, **more)
    epsilon = policy.guarantee.epsilon
    return tuple(
        Finding(entry.mechanism, entry.calibration, entry.cost(domain), entry.delta(epsilon, domain))
        for entry in ledger
    )


def dearest(findings: tuple[Finding, ...], delta: float) -> Finding:
    """The part of a ledger that costs the most; parts are about disjoint rewards, so that it is what all cost."""
    if not findings:
        return Finding("none", "", NOTHING, NOTHING if delta > 0 else None)

    def size(finding: Finding) -> float:
        bounds = finding.delta if delta > 0 else finding.epsilon
        return bounds.kept if bounds is not None else 0.0

    return max(findings, key=size)


def decision(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> Finding:
    """What one decision costs, the history fixed but for one reward.

    Lower bounds are those of two arms: more arms can only add outcomes. Raises `ParameterError` for a policy whose
    single decisions have no law of their own.
    """
    require_domain(0.0, domain)
    if isinstance(policy, PerturbedLeader):
        return _leader(policy, horizon)
    if isinstance(policy, RNMFTNL):
        choice = dearest(releases(policy, arms, horizon, domain), 0.0)
        if type(policy) is RNMFTNL or choice.epsilon is None:
            return choice
        # a policy derived from it may use fewer vectors of an epoch, for which the worst input is another
        return replace(choice, epsilon=replace(choice.epsilon, shown=0.0, witness="none computed", method="ledger"))
    if isinstance(policy, DPSE):
        epochs = [policy.epoch_of(arms, number, horizon) for number in range(1, _ended(policy, arms, horizon) + 1)]
        found = [epoch_bounds(epoch.rounds, epoch.threshold, policy.noise_scale(epoch)) for epoch in epochs]
        worst = max(found, key=lambda bounds: bounds.shown, default=NOTHING)
        return Finding("surviving set", "", worst if arms == 2 or not found else replace(worst, kept=policy.epsilon))
    if isinstance(policy, GDPElimNew):
        phases = range(1, _ended(policy, arms, horizon) + 1)
        if not phases:
            return Finding("phase", "", NOTHING, NOTHING)
        if policy.delta == 0:  # Laplace noise: a phase is an epoch
            lengths = [(policy.phase_length(phase, horizon), 2.0**-phase) for phase in phases]
            found = [epoch_bounds(length, margin, 1 / (policy.epsilon * length)) for length, margin in lengths]
            return Finding("phase", "", max(found, key=lambda bounds: bounds.shown))
        kept = dearest(releases(policy, arms, horizon, domain), policy.delta)
        shown = max(
            phase_delta(policy.epsilon, policy.delta / 2, policy.phase_length(phase, horizon), 2.0**-phase)
            for phase in phases
        )
        assert kept.delta is not None
        return Finding("phase", "", None, decision_bounds(kept.delta.kept, shown))
    raise ParameterError("level", f"decision: {policy.name} carries noise over; take level=release or transcript")


def _ended(policy: DPSE | GDPElimNew, arms: int, horizon: int) -> int:
    """How many epochs end before the horizon if no arm falls; what an epoch under way has released plays no part."""
    return len(policy.ledger(arms, horizon)) - 1


def _leader(policy: PerturbedLeader, horizon: int) -> Finding:
    """A decision of a perturbed leader: at the first pull that its start phase allows, where it costs the most."""

    def law(pulls: Any, sums: Any) -> Any:
        return policy.decision(pulls, sums, horizon)

    promise = policy.guarantee
    if not promise.private:
        shown = shown_epsilon(law, policy.start, horizon)
        return Finding("perturbed value", "", decision_bounds(math.inf, shown))
    shown = shown_delta(law, policy.start, horizon, promise.epsilon)
    calibration = str(getattr(policy, "start_phase", ""))
    if isinstance(policy, DPFTPLGauss):
        kept = gauss_condition(policy.start, promise.epsilon)
    elif isinstance(policy, DPFTPLBeta):
        kept = beta_condition(policy.start, promise.epsilon)
    else:
        kept = promise.delta_at(promise.epsilon)
    pure = None
    if promise.delta == 0:
        pure = decision_bounds(promise.epsilon, shown_epsilon(law, policy.start, horizon))
    return Finding("perturbed value", calibration, pure, decision_bounds(kept, shown))


def transcript(
    policy: Learner[Any], arms: int, horizon: int, domain: Domain, convention: Convention, v: float = 1.0
) -> Finding:
    """What the whole sequence of arms costs.

    Perturbed leaders: enumeration of all sequences and all rewards 0 or 1. Policies that use a reward in one epoch:
    the dearest epoch, exactly, as the laws of the others do not change and do not depend on it. Policies that carry
    noise over: the ledger from above, the first free choice from below.
    """
    if isinstance(policy, PerturbedLeader):
        found = transcripts(lambda pulls, sums: policy.decision(pulls, sums, horizon), arms, horizon, convention)
        claimed = policy.guarantee.epsilon
        epsilon, delta = found.epsilon(), found.delta(claimed) if math.isfinite(claimed) else None
        if domain is not Domain.BINARY:  # rewards between 0 and 1 may cost more
            epsilon, delta = replace(epsilon, kept=math.inf), delta and replace(delta, kept=1.0)
        return Finding("all transcripts", "", epsilon, delta)
    if isinstance(policy, DPSE | GDPElimNew | RNMFTNL):
        return decision(policy, arms, horizon, domain)
    if not policy.guarantee.private:
        return Finding("none", "", Bounds(math.inf, 0.0, "none computed", "none: nothing is promised"))
    if type(policy).ledger is Learner.ledger:
        unknown = Bounds(math.inf, 0.0, "none: the policy has no ledger", "none")
        return Finding("unknown", "", unknown, replace(unknown, kept=1.0) if policy.guarantee.delta > 0 else None)
    upper = dearest(releases(policy, arms, horizon, domain, v), policy.guarantee.delta)
    if isinstance(policy, StoppingRule):
        return upper  # what is released is all there is
    choice = _first_choice(policy, arms, horizon, domain)
    if upper.epsilon is None:
        return upper
    if choice is None:
        choice = 0.0, "none computed"
    method = "ledger; law of the first choice"
    kept = upper.epsilon.kept
    if _only_choice(policy, arms, horizon):
        kept, method = choice[0], "exact law of the only choice"
    epsilon = replace(upper.epsilon, kept=kept, shown=choice[0], witness=choice[1], method=method)
    delta = None if upper.delta is None else replace(upper.delta, shown=0.0, witness="none found", method="ledger")
    return Finding(upper.mechanism, upper.calibration, epsilon, delta)


def event(policy: Learner[Any], horizon: int) -> Finding:
    """What one explicit sequence of two arms shows of a perturbed leader's transcript, for any horizon.

    From above, with delta = 0, the budgets of all decisions that follow the reward add up. Raises `ParameterError`
    for other policies.
    """
    if not isinstance(policy, PerturbedLeader):
        raise ParameterError("level", f"event is for perturbed leaders, not {policy.name}; take level=transcript")
    shown, witness = explicit_event(lambda n, sums: policy.decision(n, sums, horizon), horizon, policy.start)
    kept = composed_epsilon(policy, 2, horizon)
    return Finding("one sequence", "", Bounds(kept, shown, witness, "exact law of one sequence", 1e-10 * abs(shown)))


def composed_budget(policy: Learner[Any], arms: int, horizon: int) -> tuple[float, float]:
    """Epsilon and delta of all decisions that a reward may move: they add up to a promise about the transcript.

    That of the first pull of an arm moves none of the first pulls of the others. A delta of 1 promises nothing.
    """
    guarantee = policy.guarantee
    first = max(policy.start, 1) if isinstance(policy, PerturbedLeader) else 1  # pulls of each arm that see nothing
    decisions = max(0, horizon - arms * first)
    return guarantee.epsilon * decisions if decisions else 0.0, min(1.0, guarantee.delta * decisions)


def composed_epsilon(policy: PerturbedLeader, arms: int, horizon: int) -> float:
    """An upper bound on pure epsilon of the transcript; infinite with delta > 0, which adds up to no pure epsilon."""
    if policy.guarantee.delta > 0 or not policy.guarantee.private:
        return math.inf
    return composed_budget(policy, arms, horizon)[0]


def promised_epsilon(policy: Learner[Any], arms: int, horizon: int) -> float:
    """An upper bound on pure epsilon of the transcript, from what a policy promises; infinite where there is none."""
    if isinstance(policy, PerturbedLeader):
        return composed_epsilon(policy, arms, horizon)
    guarantee = policy.guarantee
    pure = guarantee.scope in (Scope.TRANSCRIPT, Scope.LOCAL) and guarantee.delta == 0
    return guarantee.epsilon if pure else math.inf


def _first_choice(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> tuple[float, str] | None:
    """What the first choice between two arms costs, 0 where the horizon ends before; None for other policies."""
    first = arms * policy.interval if isinstance(policy, DPUCBInt) else arms
    draws = 2
    if isinstance(policy, DPUCB):
        change = policy.tree_epsilon(arms) / tree_levels(horizon)
    elif isinstance(policy, DPUCBBound):
        change = 1 / hybrid_scale(policy.epsilon)
    elif isinstance(policy, DPUCBTossou):
        change, draws = 1 / hybrid_scale(policy.epsilon), 4  # at step 2 each of two mechanisms has drawn twice
    elif isinstance(policy, DPUCBInt):
        change = policy.interval ** (-policy.v / 2)
    elif isinstance(policy, DPRUCB):
        levels = tree_levels(horizon) if policy.tree_budget == "levels" else math.log(horizon)
        change = policy.epsilon / levels / (2 if domain is Domain.NONNEGATIVE else 1)
    else:
        return None
    if first >= horizon or arms != 2:
        return 0.0, "no law of two arms" if arms != 2 else "no choice up to this horizon depends on a reward"
    return first_choice(draws, change, min(first // arms - 1, int(FARTHEST / change)))


def _only_choice(policy: Learner[Any], arms: int, horizon: int) -> bool:
    """Whether a transcript of two arms has one choice, and each arm one reward before it: then that is all of it."""
    one_reward = isinstance(policy, DPUCB | DPUCBBound | DPUCBTossou | DPRUCB)
    return one_reward and arms == 2 and horizon == 3
