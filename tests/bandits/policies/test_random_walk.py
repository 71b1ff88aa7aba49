"""RW-FTPL beside a loop over its steps, its promise, and the bounds of bandits/bounds/local_experts.md."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from bandits import ParameterError, regret
from bandits.bounds.jacobsen2026 import rw_ftpl_regret
from bandits.bounds.local_experts import (
    any_losses_regret,
    least_gap_regret,
    one_gap_regret,
    two_armed_local_lower_bound,
)
from bandits.environments.full_information import BernoulliLosses, BetaLosses, DeterministicLosses
from bandits.environments.gap_profiles import Free, OneGap
from bandits.guarantees import Neighbours, Scope
from bandits.policies import random_walk
from bandits.policies.random_walk import RWFTPL
from bandits.seeds import stream
from tests.bandits.two_samples import assert_same_law_of


def loop(policy, instance, checkpoints, rng):
    """Plays of each group at the checkpoints, step by step: noise first, then the noisy losses of every step."""
    group_of = np.repeat(np.arange(len(instance.counts)), instance.counts)
    deviation = math.sqrt(len(group_of)) / policy.level
    sums, plays = rng.normal(scale=deviation, size=len(group_of)), np.zeros(len(instance.counts), dtype=int)
    recorded = []
    for t in range(1, checkpoints[-1] + 1):
        plays[group_of[np.argmin(sums)]] += 1
        if t in checkpoints:
            recorded.append(plays.copy())
        sums += instance.losses_of(group_of, 1, rng)[0] + rng.normal(scale=deviation, size=len(group_of))
    return np.array(recorded)


@pytest.mark.slow
@pytest.mark.parametrize(
    "instance",
    [
        BernoulliLosses(Free((0.05, 0.2), (1, 2)), 0.3),
        BetaLosses(OneGap(3, 0.05), 0.3),
        DeterministicLosses(OneGap(3, 0.05), 0.3),
    ],
    ids=lambda instance: instance.name,
)
def test_blocks_have_the_law_of_a_loop_over_the_steps(instance, failure, monkeypatch):
    """Every block that may be drawn as a sum is, and leaders still change between such blocks."""
    monkeypatch.setattr(random_walk, "COST", 1)
    monkeypatch.setattr(random_walk, "WALKED", 8)
    monkeypatch.setattr(random_walk, "MISSED", 1e-6)
    policy, checkpoints = RWFTPL(1.0, level=4.0), np.array([3, 100, 799, 800])
    skipped = []
    quiet = RWFTPL._quiet
    monkeypatch.setattr(RWFTPL, "_quiet", lambda self, *given: skipped.append(quiet(self, *given)) or skipped[-1])

    def draw(run):
        blocks = policy.simulate(instance, 800, checkpoints, stream("walks", run))
        return [
            np.append(plays, regret(plays, instance.gaps))
            for plays in (blocks, loop(policy, instance, checkpoints, stream("loops", run)))
        ]

    blocks, _ = assert_same_law_of(draw, 400, failure)
    assert 10 * len(blocks) < sum(rounds > 1 for rounds in skipped)
    assert blocks[:, -1].std() > 1


@pytest.mark.parametrize("level", [0.5, 4.0])
def test_a_quiet_leader_changes_no_more_often_than_said(level, failure, monkeypatch):
    """A tenth of the runs may miss a change, by the bound; the loop changes less often, but in some runs."""
    monkeypatch.setattr(random_walk, "MISSED", 0.1)
    policy, instance, runs = RWFTPL(1.0, level=level), BernoulliLosses(OneGap(2, 0.3), 0.3), 4000
    sums = np.array([90.0 / level, 0.0])  # the worse arm leads
    rounds = 1
    for _ in range(20):  # the horizon is one block
        rounds = policy._quiet(instance, np.array([0, 1]), sums, rounds, 10**6)
    assert rounds >= 32
    rng, changed = stream("quiet", 0), 0
    for _ in range(runs):
        noisy = instance.losses_of(np.array([0, 1]), rounds, rng) + rng.normal(
            scale=math.sqrt(2) / level, size=(rounds, 2)
        )
        after = sums + np.cumsum(noisy, axis=0)
        changed += bool((after[:, 0] < after[:, 1]).any())
    assert binomtest(changed, runs, 0.1, alternative="greater").pvalue > failure
    assert changed > 0


def test_how_long_a_leader_is_quiet_by_hand():
    """Level 2 and four arms: eta = 1, variance factor 2.5. exp(-x^2 / (2 n 2.5)) <= 1e-12 n / T."""
    policy, instance, arms = RWFTPL(1.0, level=2.0), DeterministicLosses(OneGap(4, 0.5)), np.array([0, 1, 1, 1])
    lead = math.sqrt(5 * 64 * math.log(3 * 1e12 * 1000 / 64))
    leads = np.array([0.0, lead, lead, lead])
    for change, rounds in ((1 - 1e-9, 32), (1 + 1e-9, 64)):
        assert policy._quiet(instance, arms, leads * change, 1000, 1000) == rounds
    assert policy._quiet(instance, arms, leads * 100, 1000, 100) == 64  # no more than the steps that are left
    worse_leads = np.array([lead, 0.0, 10 * lead, 10 * lead])
    assert policy._quiet(instance, arms, worse_leads, 1000, 1000) == 32  # gains half a loss on the leader every step
    assert policy._quiet(instance, arms, np.zeros(4), 1000, 1000) == 1


def test_a_run_of_a_trillion_steps_has_few_blocks(monkeypatch):
    seen = []
    quiet = RWFTPL._quiet
    monkeypatch.setattr(RWFTPL, "_quiet", lambda self, *given: seen.append(1) or quiet(self, *given))
    instance, steps = BernoulliLosses(OneGap(8, 0.1), 0.3), np.array([10**6, 10**12])
    pulls = RWFTPL(1.0, level=1.0).simulate(instance, 10**12, steps, stream("far", 0))
    assert (pulls.sum(axis=1) == steps).all()
    assert pulls[1, 1] - pulls[0, 1] == 0  # the worse arms are not played after a million steps
    assert len(seen) < 200


def test_played_losses_decide_after_their_step():
    """With hardly any noise: the leader of the losses before each step, from the second step on."""
    table = np.array([[0.0, 1.0, 1.0, 0.0], [0.5, 0.0, 0.0, 0.0], [1.0, 1.0, 0.2, 0.0]])
    assert (RWFTPL(1.0, level=1e9).play(table, 4, stream("leaders", 0))[1:] == [0, 1, 1]).all()
    first = [RWFTPL(1.0, level=1e9).play(table, 1, stream("leaders", run))[0] for run in range(60)]
    assert set(first) == {0, 1, 2}


@pytest.mark.parametrize(("level", "gap", "steps"), [(3.0, 1.0, 20), (2.0, 0.05, 3000)])
@pytest.mark.parametrize("played", [True, False])
def test_two_arms_by_hand(played, level, gap, steps, failure, monkeypatch):
    """After n vectors the worse arm leads with probability Phi(-(level / 2) gap n / sqrt(n + 1)), exactly."""
    monkeypatch.setattr(random_walk, "COST", 40)
    monkeypatch.setattr(random_walk, "MISSED", 1e-4)
    policy, runs = RWFTPL(1.0, level=level), 2000
    table = np.array([np.zeros(steps), np.full(steps, gap)])
    instance = DeterministicLosses(OneGap(2, gap))
    lost = [
        int(policy.play(table, steps, stream("by hand", run)).sum())
        if played
        else int(policy.simulate(instance, steps, np.array([steps]), stream("by hand", run))[0, 1])
        for run in range(runs)
    ]
    expected = sum(norm.cdf(-level / 2 * gap * n / math.sqrt(n + 1)) for n in range(steps))
    assert abs(np.mean(lost) - expected) < norm.isf(failure / 2) * np.std(lost) / math.sqrt(runs)


def test_what_a_block_of_vectors_adds_by_hand(failure, monkeypatch):
    """64 vectors at once, then 64 more, before which the worse arm leads with probability Phi(-64 gap / sqrt(65))."""
    monkeypatch.setattr(random_walk, "COST", 1)
    monkeypatch.setattr(RWFTPL, "_quiet", lambda *given: 64)
    policy, instance, steps = RWFTPL(1.0, level=2.0), DeterministicLosses(OneGap(2, 0.2)), np.array([64, 128])
    plays = np.array([policy.simulate(instance, 128, steps, stream("added", run))[:, 1] for run in range(4000)])
    assert set(np.diff(plays).ravel()) == {0, 64}
    later = int((np.diff(plays) == 64).sum())
    assert binomtest(later, 4000, norm.cdf(-12.8 / math.sqrt(65))).pvalue > failure


def test_what_is_promised():
    """Four arms at level 1: eta = 2, and delta = Phi(-1/2) - e Phi(-3/2) = .12694 at epsilon = 1, by hand."""
    policy = RWFTPL(1.0, level=1.0)
    assert policy.deviation(4) == 2
    assert policy.guarantee.level == 1
    assert math.isclose(policy.guarantee.delta, norm.cdf(-0.5) - math.e * norm.cdf(-1.5), rel_tol=1e-12)
    assert (policy.guarantee.scope, policy.guarantee.neighbours) == (Scope.LOCAL, Neighbours.ONE_LOSS_VECTOR)
    asked = RWFTPL(1.0, delta=policy.guarantee.delta)
    assert math.isclose(asked.promised, 1, rel_tol=1e-9)
    assert (asked.guarantee.epsilon, asked.guarantee.delta) == (1, policy.guarantee.delta)
    for arms in (2, 9):
        (vector,) = policy.ledger(arms, 100)
        assert math.isclose(vector.level, 1, rel_tol=1e-12)  # sqrt(K) / eta: all losses change
        assert math.isclose(vector.rho(policy.domain), 0.5, rel_tol=1e-12)
    assert vector._witness == "all 9 numbers from 0 to 1"


def test_bounds_by_hand():
    """eta = 1 for two arms at level sqrt(2); v = 3."""
    level, log = math.sqrt(2), math.log(2)
    assert math.isclose(any_losses_regret(2, 50, level), 1.5 * math.sqrt(100 * log))
    assert math.isclose(rw_ftpl_regret(2, 50, level), 3 * math.sqrt(100 * log))
    assert math.isclose(one_gap_regret(2, level, 0.5), 1 + 2 * 3 * (1 + log) / 0.5)
    assert math.isclose(least_gap_regret(2, level, 0.5), 2 + 4 * 3 * (1 + log) / 0.5)
    assert math.isclose(two_armed_local_lower_bound(1.4, 2, 0.3), 0.3 * (0.5 + norm.cdf(-0.7)))
    assert math.isclose(two_armed_local_lower_bound(0.1, math.inf), 200.25, rel_tol=1e-4)  # 2 / level^2 + 1/4
    ends = [two_armed_local_lower_bound(0.02, steps) for steps in (9_999, 10_000, 10_001, 10_010)]
    terms = norm.cdf(-0.01 * np.sqrt(np.arange(9_999, 10_010)))
    np.testing.assert_allclose(np.diff(ends), [terms[0], terms[1], terms[2:].sum()], rtol=1e-4)


def test_two_arms_pay_the_lower_bound_and_less_than_a_half():
    """16.3: RW-FTPL beside the bound, exactly, at every horizon."""
    for level, horizon in itertools.product([0.05, 0.5, 1, 3], [1, 2, 10, 5_000]):
        n = np.arange(horizon)
        paid = norm.cdf(-level / 2 * n / np.sqrt(n + 1)).sum()
        bound = two_armed_local_lower_bound(level, horizon)
        assert bound <= paid * (1 + 1e-12) < bound + 0.5


@pytest.mark.parametrize("level", [0.5, 3.0])
def test_any_losses_keep_the_bound(level):
    """Losses that punish whoever follows the leader; a mean of 200 runs, far from the bound."""
    steps = 400
    table = np.zeros((3, steps))
    table[0, 0] = 0.5
    table[0, 1::2] = table[1, 2::2] = 1.0
    table[2] = 0.5
    lost = [
        table[RWFTPL(1.0, level=level).play(table, steps, stream("any", run)), np.arange(steps)].sum()
        for run in range(200)
    ]
    paid = np.mean(lost) - table.sum(axis=1).min()
    assert 0 < paid < any_losses_regret(3, steps, level) < rw_ftpl_regret(3, steps, level)


@pytest.mark.parametrize("instance", [BernoulliLosses(OneGap(4, 0.3), 0.2), BernoulliLosses(Free((0.2, 0.6), (1, 2)))])
def test_regret_is_below_its_bounds(instance):
    arms, gap = instance.number_of_arms, float(instance.gaps[1])
    policy, steps = RWFTPL(1.0, level=1.0), np.array([10**6])
    paid = np.mean(
        [regret(policy.simulate(instance, 10**6, steps, stream("gap", run)), instance.gaps) for run in range(50)]
    )
    single = [one_gap_regret(arms, 1.0, gap)] if len(instance.gaps) == 2 else []
    assert 0.04 * least_gap_regret(arms, 1.0, gap) < paid < min([least_gap_regret(arms, 1.0, gap), *single])


def test_what_is_refused():
    for make, blamed in (
        (lambda: RWFTPL(1.0), "delta"),
        (lambda: RWFTPL(1.0, 0.01, 1.0), "level"),
        (lambda: RWFTPL(1.0, level=0.0), "level"),
        (lambda: RWFTPL(-1.0, 0.01), "epsilon"),
        (lambda: two_armed_local_lower_bound(1.0, 0), "horizon"),
        (lambda: two_armed_local_lower_bound(1.0, 2, 0.0), "gap"),
        (lambda: one_gap_regret(1, 1.0, 0.1), "arms"),
        (lambda: least_gap_regret(2, 0.0, 0.1), "level"),
        (lambda: any_losses_regret(2, 1, 1.0), "horizon"),
        (lambda: rw_ftpl_regret(2, 1, 1.0), "horizon"),
    ):
        with pytest.raises(ParameterError) as error:
            make()
        assert error.value.parameter == blamed
