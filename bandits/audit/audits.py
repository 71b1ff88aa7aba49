"""Audits of policies at three levels: what is released, one decision, the whole transcript."""

import itertools
import math
from dataclasses import replace
from typing import Any

from bandits.audit.batch_rules import BatchRule, batch_epsilon, longest
from bandits.audit.batch_rules import first_choice as batch_first_choice
from bandits.audit.decisions import decision_bounds, shown_delta, shown_epsilon
from bandits.audit.epochs import epoch_bounds, first_choice, phase_delta
from bandits.audit.index_rules import IndexRule, fits, index_transcripts
from bandits.audit.ledger import Domain, lowest, require_domain
from bandits.audit.residues import BatchLaws
from bandits.audit.transcripts import Convention, Transcripts, explicit_event, transcripts
from bandits.audit.verdicts import Bounds, Finding
from bandits.guarantees import Scope
from bandits.learner import Learner
from bandits.loops.batches import batch_length
from bandits.parameters import ParameterError
from bandits.policies.base import Policy
from bandits.policies.distributed import DistributedElimination
from bandits.policies.elimination import DPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, Moment
from bandits.policies.perturbed_leader import (
    GDPElimNew,
    PerturbedLeader,
    WithStartPhase,
)
from bandits.policies.stopping_rules import StoppingRule

FARTHEST = 600.0  # scales by which an arm may be behind; its probability does not underflow
COARSE = 1e-6  # error of a log ratio above which a law is not called exact
NOTHING = Bounds(0.0, 0.0, "nothing that is released up to this horizon depends on a reward", "ledger")


def releases(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> tuple[Finding, ...]:
    """The cost of each release of the ledger."""
    epsilon = policy.guarantee.epsilon
    return tuple(
        Finding(entry.mechanism, entry.calibration, entry.cost(domain), entry.delta(epsilon, domain))
        for entry in policy.ledger(arms, horizon)
    )


def dearest(findings: tuple[Finding, ...], delta: float) -> Finding:
    """The release of a ledger that costs the most: the cost of all, since releases are about disjoint rewards."""
    if not findings:
        return Finding("none", "", NOTHING, NOTHING if delta > 0 else None)

    def size(finding: Finding) -> float:
        bounds = finding.delta if delta > 0 else finding.epsilon
        return bounds.kept if bounds is not None else 0.0

    return max(findings, key=size)


def decision(policy: Learner[Any], arms: int, horizon: int, domain: Domain) -> Finding:
    """The cost of one decision, the history fixed except for one reward.

    Lower bounds are those of two arms: more arms can only add outcomes. Raises `ParameterError` for a policy whose
    decisions depend on noise of earlier steps.
    """
    require_domain(0.0, domain)
    if isinstance(policy, PerturbedLeader):
        return _leader(policy, horizon)
    if isinstance(policy, RNMFTNL):
        choice = dearest(releases(policy, arms, horizon, domain), 0.0)
        own = type(policy) is RNMFTNL or type(policy).ledger is not RNMFTNL.ledger
        if own or choice.epsilon is None:
            return choice
        # a derived policy may use only some vectors of an epoch, for which the worst input differs;
        # one with its own ledger says what it uses
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
        kept, bits = dearest(releases(policy, arms, horizon, domain), policy.delta), domain is Domain.BINARY
        shown = max(
            phase_delta(policy.epsilon, policy.delta / 2, policy.phase_length(phase, horizon), 2.0**-phase, bits)
            for phase in phases
        )
        assert kept.delta is not None
        return Finding("phase", "", None, decision_bounds(kept.delta.kept, shown))
    raise ParameterError("level", f"decision: {policy.name} carries noise over; take level=release or transcript")


def _ended(policy: DPSE | GDPElimNew, arms: int, horizon: int) -> int:
    """Epochs that end before the horizon if no arm is removed; the last one of the ledger releases nothing by then."""
    return len(policy.ledger(arms, horizon)) - 1


def _leader(policy: PerturbedLeader, horizon: int) -> Finding:
    """A decision of a perturbed leader: right after its start phase, where a decision costs the most."""

    def law(pulls: Any, sums: Any) -> Any:
        return policy.decision(pulls, sums, horizon)

    promise = policy.guarantee
    if not promise.private:
        shown = shown_epsilon(law, policy.start, horizon)
        return Finding("perturbed value", "", decision_bounds(math.inf, shown))
    shown = shown_delta(law, policy.start, horizon, promise.epsilon)
    calibration = str(getattr(policy, "start_phase", ""))
    kept = policy.value_delta() if isinstance(policy, WithStartPhase) else promise.delta_at(promise.epsilon)
    pure = None
    if promise.delta == 0:
        pure = decision_bounds(promise.epsilon, shown_epsilon(law, policy.start, horizon))
    return Finding("perturbed value", calibration, pure, decision_bounds(kept, shown))


def value(policy: Learner[Any], horizon: int) -> Finding:
    """The cost of releasing one perturbed value right after the start phase, as in Lemma 8 of Wang and Zhu (2024).

    Their promise is about the arm that the values choose, which shows less; their proofs bound the value. The lower
    bound compares the reward sums 0 and 1. Raises `ParameterError` for a policy without a start phase.
    """
    if not isinstance(policy, WithStartPhase):
        raise ParameterError("level", f"value is for policies with a start phase, not {policy.name}")
    if horizon <= policy.start:
        raise ParameterError("horizon", f"too short: the first value is drawn after {policy.start} pulls")
    kept, shown = policy.value_delta(), policy.value_delta_of_none()
    witness = f"{policy.start} pulls, reward sums 0 against 1; values more than e^{policy.epsilon:g} times as likely"
    return Finding("perturbed value", policy.start_phase, None, decision_bounds(kept, (shown, witness)))


def transcript(policy: Learner[Any], arms: int, horizon: int, domain: Domain, convention: Convention) -> Finding:
    """The cost of the whole sequence of arms.

    Perturbed leaders: enumeration of all sequences and all rewards 0 or 1. Policies that use a reward in one epoch
    only: the most expensive epoch, exactly, as the laws of the other epochs do not depend on the changed reward.
    Policies whose noise stays in later sums: see `_of_indices`.
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
    upper = dearest(releases(policy, arms, horizon, domain), policy.guarantee.delta)
    if isinstance(policy, DistributedElimination):
        return _of_residues(policy, upper, arms, horizon)
    if isinstance(policy, StoppingRule) or upper.epsilon is None:
        return upper  # a rule has no transcript besides what it releases
    if isinstance(policy, GivenMoments) and isinstance(policy.policy, DPRSE):
        return _of_epochs(policy.policy, policy.moment, upper, arms, horizon, domain)
    if isinstance(policy, Policy) and (batches := policy.batch_rule()) is not None:
        return _of_batches(batches, upper, arms, horizon, domain)
    rule = policy.index_rule(arms, horizon) if isinstance(policy, Policy) else None
    if rule is None:
        shown = replace(upper.epsilon, shown=0.0, witness="none computed", method="ledger")
        return replace(upper, epsilon=shown, delta=_unseen(upper.delta))
    return _of_indices(policy, rule, upper, arms, horizon, domain, convention)


def _of_indices(
    policy: Learner[Any],
    rule: IndexRule,
    upper: Finding,
    arms: int,
    horizon: int,
    domain: Domain,
    convention: Convention,
) -> Finding:
    """Transcripts of an index policy, whose ledger gives the `upper` bounds.

    One choice between two arms: its law, exact for all rewards of the domain. Few steps: all sequences and all rewards
    at the ends of the domain; exact for rewards 0 or 1, else a lower bound. More steps: a lower bound from the first
    choice.
    """
    assert upper.epsilon is not None
    choice = _first_choice(rule, arms, horizon, domain)
    delta = _unseen(upper.delta)
    if choice.kept < math.inf:
        epsilon = choice
    elif (found := _enumerated(rule, arms, horizon, domain, convention)) is not None:
        epsilon, seen = found.epsilon(), delta and found.delta(policy.guarantee.epsilon)
        if domain is not Domain.BINARY:  # rewards between the ends may cost more
            epsilon = replace(epsilon, kept=upper.epsilon.kept, method=f"ledger; {epsilon.method}")
            seen = seen and delta and replace(seen, kept=delta.kept)
        delta = seen
    else:
        epsilon = replace(choice, kept=upper.epsilon.kept, method="ledger; law of the first choice")
    return Finding(upper.mechanism, upper.calibration, epsilon, delta)


def _of_batches(rule: BatchRule, upper: Finding, arms: int, horizon: int, domain: Domain) -> Finding:
    """Transcripts of a policy that pulls batches, whose ledger gives the `upper` bounds.

    Two arms: all sequences and all rewards 0 or 1, up to the number of choices that fits; later choices can only show
    more. More arms: a lower bound from the first choice.
    """
    assert upper.epsilon is not None
    if arms * batch_length(rule.rule, 0) >= horizon:
        return replace(upper, epsilon=replace(NOTHING, witness="no choice up to this horizon depends on a reward"))
    if arms == 2:
        steps = longest(rule.rule, horizon)
        epsilon = batch_epsilon(rule, steps)
        exact = steps == horizon and domain is Domain.BINARY
    else:
        epsilon, exact = batch_first_choice(rule, arms), False
    if not exact:
        epsilon = replace(epsilon, kept=upper.epsilon.kept, method=f"ledger; {epsilon.method}")
    return replace(upper, epsilon=epsilon)


def _of_epochs(policy: DPRSE, moment: Moment, upper: Finding, arms: int, horizon: int, domain: Domain) -> Finding:
    """Transcripts of DPRSE: the most expensive epoch of two arms that ends before the horizon if none is removed."""
    assert upper.epsilon is not None
    sides = 1.0 if domain is Domain.NONNEGATIVE else 2.0
    worst, pulls = replace(NOTHING, kept=upper.epsilon.kept), 0
    for number in itertools.count(1):
        epoch = policy.epoch_of(moment, arms, number, horizon)
        pulls += arms * epoch.rounds
        if pulls >= horizon:
            break
        width = sides * epoch.truncation
        found = epoch_bounds(epoch.rounds, epoch.threshold / width, policy.noise_scale(epoch) / width)
        worst = max(worst, replace(found, kept=upper.epsilon.kept), key=lambda bounds: bounds.shown)
    return replace(upper, epsilon=replace(worst, method=f"ledger; {worst.method}"))


def _of_residues(policy: DistributedElimination, upper: Finding, arms: int, horizon: int) -> Finding:
    """Arms of a policy without a trusted server: a lower bound from the most expensive batch of two arms.

    For more arms the lower bound is 0: which of them stay depends on all residues.
    """
    claimed = policy.guarantee
    pure = claimed.delta == 0
    best, witness = 0.0, "no choice up to this horizon depends on a reward"
    ended = policy.batches(arms, horizon)[:-1] if arms == 2 else []
    for number, batch in enumerate(ended, 1):
        laws = BatchLaws(
            batch.rounds, batch.grid, batch.margin, batch.threshold, policy.noise(batch.grid).wrapped(batch.modulus)
        )
        shown, told = laws.epsilon(claimed.epsilon) if pure else laws.delta(claimed.epsilon)
        if shown > best:
            best, witness = shown, f"batch {number}: {told}"
    bounds = upper.epsilon if pure else upper.delta
    assert bounds is not None
    found = replace(bounds, shown=best, witness=witness, method=f"{bounds.method}; exact law of a batch", error=1e-10)
    return replace(upper, epsilon=found if pure else None, delta=None if pure else found)


def _enumerated(rule: IndexRule, arms: int, horizon: int, domain: Domain, convention: Convention) -> Transcripts | None:
    """The law of all sequences; None if there are too many, or if their probabilities are too small for doubles."""
    if not fits(rule, arms, horizon):
        return None
    found = index_transcripts(rule, arms, horizon, domain, convention)
    return found if found.error < COARSE else None


def _unseen(delta: Bounds | None) -> Bounds | None:
    """The bounds on delta of releases with a lower bound of 0, for arms from which none was computed."""
    return None if delta is None else replace(delta, shown=0.0, witness="none found", method="ledger")


def event(policy: Learner[Any], horizon: int) -> Finding:
    """A lower bound on the cost of a perturbed leader's transcript, from one explicit sequence of two arms.

    For any horizon. The upper bound, for delta = 0, is the sum of the budgets of all decisions after the reward. Raises
    `ParameterError` for other policies.
    """
    if not isinstance(policy, PerturbedLeader):
        raise ParameterError("level", f"event is for perturbed leaders, not {policy.name}; take level=transcript")
    shown, witness = explicit_event(lambda n, sums: policy.decision(n, sums, horizon), horizon, policy.start)
    kept = composed_epsilon(policy, 2, horizon)
    return Finding("one sequence", "", Bounds(kept, shown, witness, "exact law of one sequence", 1e-10 * abs(shown)))


def composed_budget(policy: Learner[Any], arms: int, horizon: int) -> tuple[float, float]:
    """The sums of epsilon and of delta over all decisions that a reward may change: a promise about the transcript.

    The first pulls of all arms do not depend on rewards. A delta of 1 promises nothing.
    """
    guarantee = policy.guarantee
    first = max(policy.start, 1) if isinstance(policy, PerturbedLeader) else 1  # pulls of each arm before any choice
    decisions = max(0, horizon - arms * first)
    return guarantee.epsilon * decisions if decisions else 0.0, min(1.0, guarantee.delta * decisions)


def composed_epsilon(policy: PerturbedLeader, arms: int, horizon: int) -> float:
    """An upper bound on pure epsilon of the transcript; infinite if decisions have delta > 0."""
    if policy.guarantee.delta > 0 or not policy.guarantee.private:
        return math.inf
    return composed_budget(policy, arms, horizon)[0]


def promised_epsilon(policy: Learner[Any], arms: int, horizon: int) -> float:
    """An upper bound on pure epsilon of the transcript, from what a policy promises; infinite if there is none."""
    if isinstance(policy, PerturbedLeader):
        return composed_epsilon(policy, arms, horizon)
    guarantee = policy.guarantee
    pure = guarantee.scope in (Scope.TRANSCRIPT, Scope.LOCAL) and guarantee.delta == 0
    return guarantee.epsilon if pure else math.inf


def _first_choice(rule: IndexRule, arms: int, horizon: int, domain: Domain) -> Bounds:
    """The cost of the first choice between two arms, 0 if the horizon ends before it.

    `kept` is finite if no other choice follows.
    """
    first = arms * rule.interval
    if first >= horizon:
        return Bounds(0.0, 0.0, "no choice up to this horizon depends on a reward", "ledger")
    if arms != 2:
        return Bounds(math.inf, 0.0, "no law of two arms", "ledger")
    draws = rule.draws_in(first if rule.every_step else rule.interval)
    scale = float(rule.sums.scales[draws[0] - 1])  # the scale of all draws so far
    change = float(rule.sums.high[0] - lowest(rule.sums.low, domain)[0]) / scale
    behind = min(rule.interval - 1, int(FARTHEST / change))
    shown, witness = first_choice(2 * len(draws), change, behind)
    only = horizon <= first + rule.interval and behind == rule.interval - 1
    return Bounds(shown if only else math.inf, shown, witness, "exact law of the only choice", 1e-11)
