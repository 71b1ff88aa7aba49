"""Audits at extreme parameters: large budgets, tiny deltas, bits, rare halts, long paths."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from bandits.audit import halting
from bandits.audit.costs import AuditVerdict, Bounds, verdict_on
from bandits.audit.decision_laws import TruncatedLaw, largest_of
from bandits.audit.epoch_costs import phase_delta
from bandits.audit.halting import _where_it_counts, log_halting
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.exponents import FLOOR, grown
from bandits.loops.stopping import Scales, required_sum
from bandits.mechanisms.truncated_laplace import TruncatedLaplace
from bandits.policies.distributed import DistRDPSE
from bandits.policies.full_information import RNMFTNL
from bandits.policies.gaussian_thompson import DPTSUCB, ThompsonGDP
from bandits.policies.hybrid_ucb import DPUCBInt
from bandits.policies.perturbed_leader import DPFTPLBeta, DPFTPLGauss, DPFTPLNew, GDPElimNew, PerturbedLeader
from bandits.policies.random_prefix import RandomPrefix
from bandits.policies.stopping_rules import DPNAS, DPExponentialNAS
from tests.bandits.audit.by_quadrature import LaplaceLaw

LARGE = [300.0, 710.0, 2000.0]


def test_where_an_integrand_counts_by_hand():
    """One question of excess 0 and noise of scale 1: log density + log chance is -2b - log 2 above 0, and b below."""
    low, high = _where_it_counts(np.array([0.0]), Scales(threshold=1.0, question=1.0, output=1.0))
    assert (low, high) == pytest.approx((-45.0 - math.log(2), 22.5), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", LARGE)
@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: DPFTPLGauss(epsilon, 0.01),
        lambda epsilon: DPFTPLBeta(epsilon, 0.01),
        lambda epsilon: DPFTPLNew(epsilon, 0.01),
        lambda epsilon: ThompsonGDP(epsilon, 0.01),
        lambda epsilon: GDPElimNew(epsilon, 0.01),
        lambda epsilon: DistRDPSE(epsilon, 0.01),
        lambda epsilon: DPTSUCB(epsilon, 0.01),
        lambda epsilon: DPUCBInt(epsilon, 0.01),
    ],
)
def test_budgets_beyond_the_largest_double_are_audited(make, epsilon):
    policy = make(epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if isinstance(policy, PerturbedLeader):
            found = [policy.decision_cost(2, 1000, Domain.BINARY)]
            found += [policy.transcript_cost(2, 4, Domain.BINARY, Convention.STREAM)]
        else:
            found = list(policy.release_costs(2, 1000, policy.domain))
    for finding in found:
        assert finding.delta is None or 0 <= finding.delta.shown <= finding.delta.kept <= 1
        assert finding.mechanism == "all transcripts" or finding.verdict(policy.guarantee) is not AuditVerdict.VIOLATED


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", LARGE)
def test_a_probability_that_underflows_is_not_impossible(epsilon):
    """A decision by Laplace values is epsilon-private for every epsilon; from 300 on it was once called violated."""
    policy = DPFTPLNew(epsilon, 0.0)
    found = policy.decision_cost(2, 1000, Domain.BINARY)
    assert found.verdict(policy.guarantee) in (AuditVerdict.KEPT, AuditVerdict.TIGHT)
    assert found.epsilon.shown > 299
    assert policy.sequence_cost(10).epsilon.shown <= policy.sequence_cost(10).epsilon.kept
    assert math.isinf(DPFTPLNew(1.0, 0.01).sequence_cost(30).epsilon.shown)  # bounded noise makes arms impossible


def test_the_largest_of_two_by_hand():
    """P(X > Y + d) = (1/2 + d/4) e^-d for two Laplace variables: 10.5 e^-40 for d = 40, and no double for d = 1000."""
    near, far = (largest_of([LaplaceLaw(0.0, 1.0), LaplaceLaw(d, 1.0)]) for d in (40.0, 1000.0))
    assert near == pytest.approx([10.5 * math.exp(-40), 1.0], rel=1e-9, abs=0)
    assert far == pytest.approx([FLOOR, 1.0], rel=1e-9, abs=0)
    noises = [TruncatedLaplace(1.0, 0.1, 1.0, center) for center in (0.0, 10.0)]
    assert largest_of([TruncatedLaw(noise) for noise in noises]) == pytest.approx([0.0, 1.0], rel=1e-9, abs=0)


def test_chances_beyond_the_largest_double():
    """e^705 e^-700 = e^5 below and above 709; e^800 times a probability of e^-700 is e^100, times 1 it is no double."""
    chances = np.array([math.exp(-700), 0.0, 1.0])
    assert grown(chances, 705.0) == pytest.approx([math.exp(5), 0.0, math.exp(705)])
    assert grown(chances, 800.0) == pytest.approx([math.exp(100), 0.0, math.inf])


def test_an_error_as_large_as_a_promise_calls_nothing_tight():
    for kept, shown, error, verdict in [
        (0.0, 0.0, 2e-12, AuditVerdict.UNDECIDED),
        (0.0, 0.0, 1e-13, AuditVerdict.KEPT),
        (3e-12, 3e-12, 1e-12, AuditVerdict.VIOLATED),
        (2e-12, 1.9e-12, 1e-12, AuditVerdict.UNDECIDED),
        (1e-12, 1e-12, 1e-16, AuditVerdict.TIGHT),
    ]:
        assert verdict_on(1e-12, Bounds(kept, shown, "", "", error)) is verdict


def test_releases_that_keep_a_minute_delta_are_not_tight():
    for delta in [1e-12, 1e-15, 1e-6, 0.01]:
        policy = DPUCBInt(1.0, delta)
        for finding in policy.release_costs(2, 10_000, Domain.UNIT):
            assert finding.verdict(policy.guarantee) is AuditVerdict.KEPT


def test_a_phase_of_bits_has_the_differences_that_bits_have():
    """Against all differences; a phase of 23,579 pulls each would show .0095084 at a value between them."""
    found = {
        domain: GDPElimNew(4.0, 0.1).decision_cost(2, 100_000, domain).delta for domain in (Domain.UNIT, Domain.BINARY)
    }
    assert found[Domain.UNIT].shown == pytest.approx(0.0095084, abs=1e-7)
    assert found[Domain.BINARY].shown == pytest.approx(0.0092911, abs=1e-7)
    lead = float(found[Domain.BINARY].witness.split()[1]) * 1474
    assert lead == pytest.approx(round(lead), abs=1e-2)
    assert phase_delta(1.0, 0.05, 1474, 0.5, bits=True)[0] == pytest.approx(0.0265312, abs=1e-7)


def plain_log_halting(excess, scales, nodes):
    """Log probability of a halt at the last question: a plain sum over B, far beyond its relevant range."""
    b = np.linspace(excess.min() - 60 * scales.threshold, 60 * scales.threshold, nodes)
    terms = stats.laplace.logpdf(b, scale=scales.threshold)
    terms += stats.laplace.logcdf(excess[-1] - b, scale=scales.question)
    for lead in excess[:-1]:
        terms += stats.laplace.logsf(lead - b, scale=scales.question)
    return float(logsumexp(terms)) + math.log(b[1] - b[0])


@pytest.mark.parametrize("rule", [DPExponentialNAS(1.0, 0.5, 0.05), DPExponentialNAS(1.0, 0.9, 0.9)])
def test_a_halt_after_the_sum_has_fallen_far(rule):
    """2^10 values 1, then -1 until the sum is -10, then 0 up to 2^12: the mass of B is far below the largest excess."""
    counts = 2 ** np.arange(1, 13)
    values = np.concatenate([np.ones(1024), -np.ones(1034), np.zeros(4096 - 2058)])
    sums = np.cumsum(values)[counts - 1]
    constants = rule.constants(1.0)
    required = np.array([required_sum(count, number, constants) for number, count in enumerate(counts.tolist(), 1)])
    expected = plain_log_halting(np.abs(sums) - required, constants.scales, 400_001)
    assert log_halting(sums, required, constants.scales) == pytest.approx(expected, abs=1e-6)


def test_a_halt_that_is_asked_for_at_every_value():
    """Against the plain integral, 60 questions after values that rise and fall."""
    constants = DPNAS(4.0, 0.5, 0.05).constants(1.0)
    sums = np.cumsum(np.concatenate([np.ones(40), -np.ones(20)]))
    required = np.array([required_sum(count, count, constants) for count in range(1, 61)])
    expected = plain_log_halting(np.abs(sums) - required, constants.scales, 200_001)
    assert log_halting(sums, required, constants.scales) == pytest.approx(expected, abs=1e-6)


def best_path(policy, horizon):
    """The largest log ratio over all sequences of two arms and all rewards 0 or 1, by dynamic programming."""
    known = {}

    def rest(pulls, sums):
        if sum(pulls) >= horizon:
            return 0.0
        if (pulls, sums) not in known:
            laws = [
                policy.decision(np.array(pulls), np.array([sums[0] + more, sums[1]], dtype=float), horizon)
                for more in (0, 1)
            ]
            options = []
            for arm in (0, 1):
                after = tuple(count + (arm == of) for of, count in enumerate(pulls))
                reached = [tuple(s + bit * (arm == of) for of, s in enumerate(sums)) for bit in (0, 1)]
                options.append(math.log(laws[0][arm] / laws[1][arm]) + max(rest(after, of) for of in reached))
            known[pulls, sums] = max(options)
        return known[pulls, sums]

    start = policy.start
    return max(rest((start, start), (own, other)) for own in range(start) for other in range(start + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "horizon", "expected"),
    [
        (DPFTPLGauss(1.0, 0.01, "exact"), 12, 4.146),
        (DPFTPLGauss(1.0, 0.01, "paper"), 20, None),
        (DPFTPLBeta(1.0, 0.01, "exact"), 66, None),
    ],
)
def test_the_event_of_a_start_phase_is_the_worst_path(policy, horizon, expected):
    shown = policy.sequence_cost(horizon).epsilon.shown
    assert shown == pytest.approx(best_path(policy, horizon), rel=1e-9)
    assert expected is None or shown == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("policy", "horizon", "shown"),
    [(DPFTPLGauss(1.0, 0.01, "paper"), 32, 6.246), (DPFTPLBeta(1.0, 0.01, "exact"), 68, 7.623)],
)
def test_events_after_start_phases(policy, horizon, shown):
    """Values from dynamic programming, an independent computation."""
    assert policy.sequence_cost(horizon).epsilon.shown == pytest.approx(shown, abs=1e-3)


def test_dp_ts_ucb_plays_a_single_step():
    pulls = DPTSUCB(1.0, 1e-6).simulate(Bernoulli((0.9, 0.5)), 1, np.array([1]), np.random.default_rng(1))
    assert pulls.tolist() == [[1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-12), (1e-100, 1e-90), (710.0, 0.01)])
def test_dp_ts_ucb_plays_with_budgets_at_both_ends(epsilon, delta):
    policy, instance = DPTSUCB(epsilon, delta), Bernoulli((0.9, 0.5, 0.1))
    pulls = policy.simulate(instance, 1000, np.array([1000]), np.random.default_rng(1))
    assert pulls.sum() == 1000
    assert max(policy.epochs(1000)) <= 2**62
    if epsilon < 1:
        assert pulls[0].tolist() == [1000, 0, 0]  # the first epoch of the first arm


def test_a_random_prefix_says_where_its_bound_is_proved():
    assert RandomPrefix(epsilon=2.0).caveats(None, 10) == ()
    assert RandomPrefix(epsilon=2.1).caveats(None, 10) == ("the bound on regret is proved for epsilon up to 2 alone",)


class Derived(RNMFTNL):
    """A policy derived from RNM-FTNL that may use fewer vectors of an epoch, and has no ledger of its own."""


def test_a_derived_leader_is_shown_to_spend_nothing():
    """The worst input of its base class need not be its own."""
    own, derived = (kind(1.0).decision_cost(2, 1000, Domain.UNIT).epsilon for kind in (RNMFTNL, Derived))
    assert own.shown > 0.9
    assert (derived.kept, derived.shown) == (own.kept, 0.0)


def test_a_start_phase_that_ends_with_the_horizon_was_never_left():
    for policy, instance in ((DPTSUCB(1.0, level=0.5), C2(3)), (DPFTPLGauss(1.0, 0.01), C2(3))):
        needed = 3 * (policy.start if isinstance(policy, DPFTPLGauss) else policy.first_epoch(1000))
        at = [horizon for horizon in range(1, 2000) if policy.caveats(instance, horizon)][-1]
        assert at == needed or isinstance(policy, DPTSUCB)  # whose first epoch grows with the horizon
        assert policy.caveats(instance, at)
        assert policy.caveats(instance, at + 1) == ()
        if isinstance(policy, DPTSUCB):
            assert 3 * policy.first_epoch(at) >= at
            assert 3 * policy.first_epoch(at + 1) < at + 1


def test_the_error_of_a_halt_is_what_is_stated(monkeypatch):
    """Four times as many pieces of the integral change nothing by more than 1 % of the stated error."""
    rule = DPExponentialNAS(1.0, 0.5, 0.05).constants(1.0)
    questions = [2**number for number in range(1, 18)]
    found = halting.halting_bounds(questions, rule)
    monkeypatch.setattr(halting, "PIECES", 4 * halting.PIECES)
    finer = halting.halting_bounds(questions, rule)
    assert found.error == 1e-9
    assert abs(finer.shown - found.shown) < 1e-11
