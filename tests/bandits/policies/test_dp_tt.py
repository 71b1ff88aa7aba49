"""DP-TT: its thresholds, choices and promises; the loop agrees in law with plain steps on single rewards."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from bandits import ParameterError
from bandits.audit.costs import AuditVerdict
from bandits.audit.ledger import Domain
from bandits.audit.transcripts import Convention
from bandits.environments.bernoulli import C2, Bernoulli
from bandits.environments.resampling import Beta
from bandits.loops import private_top_two
from bandits.loops.private_top_two import challenger_of, next_length, stopping_threshold, update_costs
from bandits.policies.top_two import DPTT
from bandits.seeds import stream
from experiments.cells.identification import IdentificationCell
from tests.bandits.two_samples import assert_rarely, assert_same_law
from tests.plain_loops.top_two import dp_tt_steps


def test_thresholds_by_hand():
    # 5 arms, beta = 0.01, 3 and 2 batches: (1 + c) e^-c = 0.01 / (4 x 12 x 6) = 3.4722e-5, c = 12.9000
    c = stopping_threshold(0.01, 5, 3, 2)
    assert c == pytest.approx(12.9000, abs=1e-4)
    assert (1 + c) * math.exp(-c) == pytest.approx(0.01 / (4 * 12 * 6), rel=1e-9)
    assert stopping_threshold(0.01, 5, 2, 3) == c


def test_batches_by_hand():
    assert DPTT(0.3, 0.1).first_batch == 14  # 4 / 0.3 = 13.3
    assert DPTT(50, 0.1).first_batch == 1

    def lengths(policy):
        counted, found = float(policy.first_batch), [policy.first_batch]
        for _ in range(4):
            found.append(next_length(policy.rule, counted))
            counted = policy.rule.kept * counted + found[-1]
        return found

    assert lengths(DPTT(0.3, 0.1)) == [14, 14, 28, 56, 112]
    assert lengths(DPTT(0.3, 0.1, 1.5)) == [14, 7, 11, 16, 24]  # 14, 21, 32, 48, 72 pulls in total
    assert lengths(DPTT(4.0, 0.1, 1.001)) == [1, 1, 1, 1, 1]
    assert lengths(DPTT(0.3, 0.1, memory="last")) == [14, 28, 56, 112, 224]
    assert lengths(DPTT(0.3, 0.1, 1.5, "last")) == [14, 21, 32, 48, 72]


def choice(policy, sums, counts, finished):
    """The leader and its challenger after one noise for each arm."""
    counts, sums, costs = np.array(counts), np.array(sums), np.zeros(len(sums))
    leader = int(np.argmax(sums / counts))
    update_costs(costs, leader, -1, sums, counts, np.ones(len(sums)), policy.epsilon)
    return leader, challenger_of(policy.rule, leader, costs, counts, np.full(len(sums), finished))


def test_choices_by_hand():
    policy = DPTT(1.0, 0.1)
    # Equal means: the first leads, both rivals cost 0, and the one with fewer pulls is the challenger.
    assert choice(policy, [6.0, 6.0, 3.0], [8.0, 8.0, 4.0], 1.0) == (0, 2)
    assert choice(policy, [6.0, 6.0, 6.0], [8.0, 8.0, 8.0], 1.0) == (0, 1)
    # Far apart: it stops. So many batches that the threshold is not met: it continues.
    sums, counts = [400.0, 800.0, 400.0], [1000.0, 1000.0, 1000.0]
    assert choice(policy, sums, counts, 2.0) == (1, -1)
    assert choice(policy, sums, counts, 1e60) == (1, 0)
    # Every rival must be far from the leader, not only the last one.
    assert choice(policy, [790.0, 800.0, 400.0], counts, 2.0) == (1, 0)
    assert choice(policy, [400.0, 800.0, 790.0], counts, 2.0) == (1, 2)
    # W to arm 0 is 15.1 and to arm 1 is 14.6, by a search; log 60 - log 30 = 0.69 decides.
    assert choice(policy, [15.0, 4.0, 54.0], [60.0, 30.0, 60.0], 1e9) == (2, 1)


def test_only_costs_that_changed_are_computed():
    sums, counts, batches, costs = np.array([4.0, 9.0, 2.0]), np.full(3, 10.0), np.ones(3), np.full(3, -1.0)
    update_costs(costs, 1, 2, sums, counts, batches, 1.0)
    assert costs[:2].tolist() == [-1, -1]
    released = costs[2]
    update_costs(costs, 1, -1, sums, counts, batches, 1.0)
    assert costs[1] == -1
    assert costs[2] == released > costs[0] > 0


def test_runs_are_those_that_compute_every_cost_again(monkeypatch):
    def all_again(costs, leader, released, *noisy):
        update_costs(costs, leader, -1, *noisy)

    policy, means = DPTT(0.5, 0.05), C2(5).mean_rewards
    # before anything is replaced: the loop is compiled with what stands in its module then
    found = [policy.simulate(C2(5), 10**9, stream("again", run)) for run in range(20)]
    monkeypatch.setattr(private_top_two, "update_costs", all_again)
    for run, outcome in enumerate(found):
        again = private_top_two.private_top_two.py_func(means, 10**9, policy.rule, stream("again", run))
        assert (outcome.samples, outcome.arm) == again


def test_sums_of_batches(monkeypatch, failure):
    """Rewards are 1: of the last batches alone, first 4, then twice as many each, with the noise of one release."""
    noted = []

    def note(costs, leader, released, sums, counts, batches, epsilon):
        noted.append((sums - counts, counts.copy(), batches.copy()))
        update_costs(costs, leader, released, sums, counts, batches, epsilon)

    monkeypatch.setattr(private_top_two, "update_costs", note)
    policy, first = DPTT(0.5, 0.05, memory="last"), []
    for run in range(1000):
        begun = len(noted)
        private_top_two.private_top_two.py_func(np.ones(2), 300, policy.rule, stream("batches", run))
        first.append(noted[begun][0])
    assert kstest(np.ravel(first), laplace(scale=2.0).cdf).pvalue > failure
    lengths = {count / policy.first_batch for _, counts, _ in noted for count in counts}
    assert lengths == {1, 2, 4, 8}
    assert {count for *_, batches in noted for count in batches} == {1}


LAW = [
    (DPTT(1.0, 0.3), (0.9, 0.4, 0.1), 10**6),
    (DPTT(0.4, 0.2, 1.5), (0.3, 0.9), 10**6),
    (DPTT(2.0, 0.3, 1.3, "last"), (0.2, 0.9, 0.1), 10**6),
    (DPTT(1.0, 0.3), (0.9, 0.4, 0.1), 250),  # ends about half of the runs
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "means", "most"), LAW, ids=repr)
def test_the_loop_and_plain_steps_agree_in_law(policy, means, most, failure):
    runs, instance = 60, Bernoulli(means)
    fast = [policy.simulate(instance, most, stream("fast", run)) for run in range(runs)]
    plain = [dp_tt_steps(means, most, policy, stream("plain", run)) for run in range(runs)]
    assert_same_law([(of.samples, -1 if of.arm is None else of.arm) for of in fast], plain, failure)


@pytest.mark.slow
def test_the_best_arm_is_found_as_often_as_promised(failure):
    policy = DPTT(0.3, 0.4)
    assert_rarely(lambda run: policy.simulate(C2(4), 10**8, stream("right", run)).arm != 0, True, 0.4, 500, failure)


def test_every_batch_costs_epsilon_and_the_first_leader_shows_most_of_it():
    policy = DPTT(0.7, 0.1)
    assert len(policy.ledger(2, 5)) == 1
    assert len(policy.ledger(2, 6)) == 1
    assert len(policy.ledger(2, 48)) == 4  # 6, 6, 12, 24
    assert [len(DPTT(0.7, 0.1, memory="last").ledger(2, horizon)) for horizon in (41, 42)] == [2, 3]  # 6, 12, 24
    assert all(math.isclose(of.epsilon.kept, 0.7) for of in policy.release_costs(3, 1000, Domain.UNIT))
    assert policy.release_cost(3, 1000, Domain.UNIT).verdict(policy.guarantee) is AuditVerdict.TIGHT
    for arms in (2, 3):
        found = policy.transcript_cost(arms, 1000, Domain.UNIT, Convention.STREAM).epsilon
        assert math.isclose(found.kept, 0.7)
        assert 0.75 * 0.7 < found.shown <= 0.7
    assert policy.transcript_cost(2, 11, Domain.UNIT, Convention.STREAM).epsilon.shown == 0  # before any decision


def test_a_run_that_ends_early_returns_no_arm():
    found = DPTT(1.0, 0.01).simulate(C2(3), 50, stream("short", 0))
    assert (found.samples, found.arm, found.expired) == (50, None, True)
    for most in (3, 11):  # not even every first batch
        assert DPTT(1.0, 0.01).simulate(C2(3), most, stream("shorter", 0)).samples == most
    assert DPTT(1e-90, 0.01).simulate(C2(3), 1000, stream("noise", 0)).expired
    two_best = DPTT(1.0, 1e-6).simulate(Bernoulli((0.5, 0.5)), 10**9, stream("equal", 0))
    assert (two_best.samples, two_best.arm) == (10**9, None)


def test_what_is_refused():
    for make, message in [
        (lambda: DPTT(1.0, 0.0), "beta: must be a number in"),
        (lambda: DPTT(1.0, 1.0), "beta: must be a number in"),
        (lambda: DPTT(0.0, 0.1), "epsilon: must be a finite number > 0"),
        (lambda: DPTT(701.0, 0.1), "epsilon: must be at most 700"),
        (lambda: DPTT(1.0, 0.1, 1.0), "ratio: must be a number > 1"),
        (lambda: DPTT(1.0, 0.1).check(Beta((0.5, 0.4), 2.0)), r"instance: .* Bernoulli"),
        (lambda: IdentificationCell(C2(3), DPTT(0.01, 0.1), 1199), "horizon: must be at least 1200, the first batch"),
    ]:
        with pytest.raises(ParameterError, match=message):
            make()
    IdentificationCell(C2(3), DPTT(0.01, 0.1), 1200)


def test_legends():
    assert DPTT(1.0, 0.1).legend() == "DP-TT"
    assert DPTT(1.0, 0.1, 1.2, "last").legend() == "DP-TT (ratio 1.2, last batch alone)"
