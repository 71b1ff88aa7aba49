"""Bounds on the epsilon of whole runs, at any delta: against enumeration and by hand."""

import math

import numpy as np
import pytest

from bandits import ParameterError
from bandits.audit.lattice import TwoLaws, run_laws
from bandits.audit.transcripts import Convention, transcripts
from bandits.policies.elimination import DPSE, SuccessiveElimination
from bandits.policies.perturbed_leader import ENUMERATED, DPFTPLGauss, DPFTPLNew, GDPElimNew, ThompsonBeta
from bandits.policies.private_ucb import DPUCB


def decision_of(policy, horizon):
    return lambda pulls, sums: policy.decision(pulls, sums, horizon)


def test_epsilon_and_delta_of_two_laws_by_hand():
    """Randomised response that tells the truth with 3/4: delta(e) = 3/4 - e^e / 4."""
    laws = TwoLaws(np.array([0.75, 0.25]), np.array([0.25, 0.75]))
    assert laws.delta(math.log(2)) == pytest.approx(0.25)
    assert laws.epsilon(0.25) == pytest.approx(math.log(2), abs=1e-8)
    assert laws.epsilon(0.5) == 0
    assert TwoLaws(np.array([1.0, 0.0]), np.array([0.5, 0.5])).epsilon(0.1) == 600  # the largest that is searched for
    rare = TwoLaws(np.array([1.0, 0.0]), np.array([1e-100, 1.0]))
    assert rare.epsilon(0.5) == 600  # the other direction: the second outcome adds nothing
    assert TwoLaws(np.array([0.5, 0.5]), np.array([0.5e-100, 1.0])).epsilon(0.1) == pytest.approx(
        100 * math.log(10) + math.log(0.8), rel=1e-9
    )


@pytest.mark.parametrize("policy", [ThompsonBeta(), DPFTPLNew(1.0, 0.01), DPFTPLGauss(1.0, 0.01, "exact")], ids=str)
def test_the_walk_has_the_law_of_the_pair_that_it_is_about(policy):
    """Merged outcomes show at most as much as all sequences, and nearly as much."""
    horizon = 6
    walk = run_laws(decision_of(policy, horizon), horizon, policy.start)
    assert (walk.first.sum(), walk.second.sum()) == pytest.approx((1, 1), abs=1e-9)
    first, second = transcripts(decision_of(policy, horizon), 2, horizon, Convention.STREAM).chances[:2]
    for epsilon in (0.3, 1.0, 2.0):
        exact = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((first, second), (second, first)))
        assert 0.97 * exact - 1e-12 <= walk.delta(epsilon) <= exact + 1e-9


def test_epsilon_at_a_delta_is_the_inverse_of_delta_at_an_epsilon():
    found = transcripts(decision_of(ThompsonBeta(), 5), 2, 5, Convention.STREAM)
    assert found.epsilon_at(found.delta(1.0).shown).shown == pytest.approx(1.0, rel=1e-8)
    bounded = transcripts(decision_of(DPFTPLNew(2.0, 0.2), 6), 2, 6, Convention.STREAM)
    assert bounded.epsilon_at(bounded.delta(2.0).shown).shown == pytest.approx(2.0, rel=1e-8)


@pytest.mark.slow
def test_what_is_shown_beyond_enumeration_goes_on_where_enumeration_ends():
    policy = DPFTPLNew(1.0, 0.01)
    within = policy.transcript_epsilon(2, ENUMERATED, 0.01)
    beyond = policy.transcript_epsilon(2, 12, 0.01)
    assert within.kept == pytest.approx(within.shown, rel=1e-8)
    assert 1 < within.shown < beyond.shown < 8
    assert math.isinf(beyond.kept)


def test_promises_about_transcripts_are_flat():
    for horizon in (5, 300):
        assert DPSE(1.0).transcript_epsilon(2, horizon, 0.0).kept == pytest.approx(1)
        assert DPUCB(1.0, split_budget=False).transcript_epsilon(2, horizon, 0.01).kept <= 1 + 1e-12
        assert GDPElimNew(1.0, 0.01).transcript_epsilon(2, horizon, 0.01).kept == 1
        assert math.isinf(GDPElimNew(1.0, 0.01).transcript_epsilon(2, horizon, 0.0).kept)


def test_budgets_of_decisions_add_up():
    """10 steps, of which the first two see nothing."""
    assert DPFTPLNew(0.5, 0.0).promised_epsilon(2, 10) == 4
    assert DPFTPLNew(0.5, 0.0).promised_epsilon(9, 5) == 0
    assert math.isinf(DPFTPLNew(0.5, 0.01).promised_epsilon(2, 10))
    assert math.isinf(ThompsonBeta().promised_epsilon(2, 10))


def test_a_delta_of_many_decisions_is_no_promise():
    assert DPFTPLNew(0.5, 0.01).composed_budget(2, 52) == (25.0, 0.5)
    assert DPFTPLNew(0.5, 0.01).composed_budget(2, 1000) == (499.0, 1.0)
    assert DPFTPLGauss(1.0, 0.01, "exact").composed_budget(3, 5) == (0.0, 0.0)


def test_what_is_promised_for_a_transcript():
    assert DPSE(0.3).promised_epsilon(9, 1000) == 0.3
    assert DPFTPLNew(0.001, 0.0).promised_epsilon(9, 1009) == pytest.approx(1)
    assert math.isinf(GDPElimNew(1.0, 0.01).promised_epsilon(9, 1000))
    assert math.isinf(ThompsonBeta().promised_epsilon(9, 1000))


def test_what_has_no_bounds_says_so():
    with pytest.raises(ParameterError, match="arms: must be 2"):
        ThompsonBeta().transcript_epsilon(3, 10, 0.0)
    with pytest.raises(ParameterError, match="has no ledger"):
        SuccessiveElimination().transcript_epsilon(2, 10, 0.0)
