"""Exact laws of sequences of arms: by hand, and against explicit sums over all sequences."""

import math

import numpy as np
import pytest

from bandits import Guarantee, ParameterError, Scope
from bandits.audit.audits import Level, cost_at
from bandits.audit.costs import AuditVerdict, Bounds, PrivacyCost, verdict_on
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention, transcripts
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.full_information import RNMFTNL
from bandits.policies.given_moments import GivenMoments
from bandits.policies.heavy_tailed import DPRSE, DPRUCB, Moment
from bandits.policies.hybrid_ucb import DPUCBInt
from bandits.policies.perturbed_leader import DPFTPLNew, GDPElimNew, ThompsonBeta
from bandits.policies.private_ucb import DPUCB


def law_of(policy, horizon, convention, arms=2):
    return transcripts(lambda n, s: policy.decision(n, s, horizon), arms, horizon, convention)


def test_three_steps_of_thompson_sampling_by_hand():
    """Arms 1, 2, 2 after a first reward 0 or 1 and a second 0: (2/3)(1/2) against (1/3)(1/6)."""
    bounds = law_of(ThompsonBeta(), 3, Convention.STREAM).epsilon()
    assert bounds.shown == pytest.approx(math.log(6), rel=1e-10)
    assert bounds.witness == "rewards *0 / 00, * changed; arms 122"


def test_the_one_choice_by_hand():
    """Two draws of scale 2, and rewards that differ by -1: log of (1/2) over e^(-1/2) (1 + 1/4) / 2."""
    found = DPUCB(1.0, split_budget=False).transcript_cost(2, 3, Domain.UNIT, Convention.STREAM).epsilon
    assert found.kept == pytest.approx(0.5 - math.log(1.25), rel=1e-10)


@pytest.mark.parametrize("convention", Convention)
def test_laws_add_up_to_one_and_follow_the_rewards_that_are_seen(convention):
    found = law_of(ThompsonBeta(), 4, convention)
    assert found.chances.sum(axis=1) == pytest.approx(1)
    policy, table, sequence = ThompsonBeta(), 0b101_011, (0, 1, 0, 0)
    pulls, sums, chance = np.zeros(2, dtype=int), np.zeros(2), 1.0
    for step, arm in enumerate(sequence):
        chance *= policy.decision(pulls, sums, 4)[arm]
        place = pulls[arm] if convention is Convention.STREAM else step
        if step < 3:
            sums[arm] += table >> (3 * arm + place) & 1
        pulls[arm] += 1
    column = int(np.flatnonzero((found.sequences == sequence).all(axis=1))[0])
    assert found.chances[table, column] == pytest.approx(chance)


def test_conventions_agree_for_pure_epsilon_and_part_at_six_steps_with_delta():
    policy = DPFTPLNew(1.0, 0.01)
    laws = {(t, c): law_of(policy, t, c) for t in (5, 6) for c in Convention}
    for t in (5, 6):
        by = [laws[t, c].epsilon().shown for c in Convention]
        assert by[0] == pytest.approx(by[1], rel=1e-9)
    deltas = {key: law.delta(1.0).shown for key, law in laws.items()}
    assert deltas[5, Convention.STREAM] == pytest.approx(deltas[5, Convention.TABLE], rel=1e-9)
    assert deltas[6, Convention.TABLE] > deltas[6, Convention.STREAM] + 0.005


def test_decisions_add_up_over_a_transcript():
    """A transcript of five decisions costs more than the promise for one decision."""
    policy = DPFTPLNew(1.0, 0.01)
    found = policy.transcript_cost(2, 5, Domain.BINARY, Convention.STREAM)
    assert found.verdict(Guarantee(1.0, 0.01, Scope.TRANSCRIPT)) is AuditVerdict.VIOLATED
    assert found.epsilon.shown == pytest.approx(2.6574100545)


@pytest.mark.parametrize("policy", [DPFTPLNew(1.0, 0.0), ThompsonBeta()], ids=str)
def test_one_sequence_is_the_worst_where_all_are_enumerated(policy):
    assert policy.sequence_cost(6).epsilon.shown == pytest.approx(law_of(policy, 6, Convention.STREAM).epsilon().shown)


def test_a_transcript_spends_epsilon_at_nearly_every_decision():
    bounds = DPFTPLNew(1.0, 0.0).sequence_cost(60).epsilon
    assert 0.95 * bounds.kept < bounds.shown < bounds.kept == 58


def test_values_of_bounded_noise_show_an_infinite_epsilon():
    """At some step one reward moves the values of arm 1 beyond the range of arm 2."""
    policy = DPFTPLNew(1.0, 0.01)
    assert math.isinf(policy.sequence_cost(100).epsilon.shown)
    horizon = next(steps for steps in range(8, 100) if math.isinf(policy.sequence_cost(steps).epsilon.shown))
    assert math.isfinite(policy.sequence_cost(horizon - 1).epsilon.shown)
    rival, first = (policy.value(pulls, 0.0, horizon).law for pulls in (horizon - 2, 1))
    assert rival.center + rival.half_width > first.center - first.half_width  # arm 2 is possible if the reward is 0
    changed = policy.value(1, 1.0, horizon).law
    assert rival.center + rival.half_width < changed.center - changed.half_width  # and impossible if it is 1


def test_an_event_is_for_perturbed_leaders():
    with pytest.raises(ParameterError, match="level"):
        cost_at(Level.EVENT, DPSE(1.0), 2, 100, Domain.BINARY, Convention.STREAM)


def test_an_enumeration_that_needs_too_much_memory_is_refused():
    with pytest.raises(ParameterError, match="horizon: enumeration with 2 arms fits up to horizon 8, got 30"):
        law_of(ThompsonBeta(), 30, Convention.STREAM)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [5, 20_000])
@pytest.mark.parametrize(
    "policy", [DPSE(1.0), RNMFTNL(1.0), RNMFTNL(1.0, "exponential"), GDPElimNew(1.0, 0.01)], ids=str
)
def test_transcripts_of_epochs_keep_their_promise(policy, horizon):
    found = policy.transcript_cost(2, horizon, policy.domain, Convention.STREAM)
    assert found.verdict(policy.guarantee) in (AuditVerdict.KEPT, AuditVerdict.TIGHT)


def test_ledgers_keep_their_promise():
    for policy in [DPUCB(1.0), DPUCBInt(1.0, 0.01), DPRUCB(1.0), DPRSE(1.0)]:
        found = policy.release_cost(2, 3000, policy.domain)
        assert found.verdict(policy.guarantee) in (AuditVerdict.KEPT, AuditVerdict.TIGHT)
        assert (
            policy.transcript_cost(2, 3000, policy.domain, Convention.STREAM).verdict(policy.guarantee)
            is AuditVerdict.KEPT
        )


def test_a_divided_budget_has_slack():
    policy = DPUCB(1.0)
    assert policy.release_cost(4, 100, policy.domain).slack(policy.guarantee) == pytest.approx(4)
    undivided = DPUCB(1.0, split_budget=False)
    assert undivided.release_cost(4, 100, policy.domain).verdict(undivided.guarantee) is AuditVerdict.TIGHT


def test_a_ledger_of_epochs_ends_with_the_horizon():
    assert len(DPSE(1.0).ledger(2, 5)) == len(GDPElimNew(1.0, 0.01).ledger(2, 5)) == 1  # unfinished, so no step uses it
    assert DPSE(1.0).transcript_cost(2, 5, Domain.UNIT, Convention.STREAM).epsilon.kept == 0
    assert [entry.divisor for entry in DPSE(1.0).ledger(2, 20_000)] == [
        DPSE(1.0).epoch_of(2, number, 20_000).rounds for number in (1, 2, 3)
    ]
    assert [entry.rounds for entry in RNMFTNL(1.0).ledger(2, 4)] == [1, 2]
    assert [entry.rounds for entry in RNMFTNL(1.0).ledger(2, 3)] == [1]


def test_a_policy_without_a_ledger_is_refused():
    with pytest.raises(ParameterError, match="has no ledger"):
        SuccessiveElimination().ledger(2, 5)


def test_verdicts():
    for kept, shown, verdict in [
        (0.5, 0.2, "kept"),
        (1.0, 1.0, "tight"),
        (2.0, 1.5, "violated"),
        (2.0, 0.5, "undecided"),
        (1.0, 0.9, "kept"),
    ]:
        assert verdict_on(1.0, Bounds(kept, shown, "", "")) == verdict
        finding = PrivacyCost("", "", Bounds(kept, shown, "", ""))
        assert finding.verdict(Guarantee(1.0)) == verdict
        assert finding.verdict(Guarantee(1.0, 0.1)) == "undecided"  # nothing is known of delta


ROBUST = GivenMoments(DPRUCB(2.0), Moment(2.0, 0.9))


@pytest.mark.parametrize("policy", [DPUCB(1.0), DPUCB(9.0, split_budget=False), ROBUST], ids=str)
def test_three_steps_of_two_arms_have_one_choice(policy):
    """The law of that choice is the transcript; with four steps it is known for rewards at the ends of the domain."""
    three, four = (policy.transcript_cost(2, steps, policy.domain, Convention.STREAM).epsilon for steps in (3, 4))
    assert three.kept == three.shown > 0
    assert four.kept > four.shown > 0
    ledger = policy.release_cost(2, 3, policy.domain).epsilon
    assert three.kept < ledger.kept
