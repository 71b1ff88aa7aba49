"""KLUCB-CF and TS-CF (Gajane, Urvoy and Kaufmann 2018) and their loops."""

import math
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binomtest, chisquare, kstest

from bandits import ParameterError
from bandits.divergences import bernoulli_divergence, divergence_lower_mean
from bandits.environments.bernoulli import Bernoulli
from bandits.loops.bit_thompson import (
    chance_above,
    contested,
    draw_beta_above,
    follow_leader,
    lead_of,
    leader_below,
    tangent,
)
from bandits.loops.kl_ucb import KLIndex, exploration, kl_ucb_pulls, need_over
from bandits.loops.perturbed_values import Arms
from bandits.loops.records import add_turns
from bandits.policies.local_bits import KLUCBCF, TSCF
from bandits.seeds import stream
from tests.plain_loops.steps import kl_ucb_steps, kl_upper_end

ONE_BY_ONE = 1 << 60  # no block is so long


def state_of(pulls, sums):
    """The state of a policy that has received these bits."""
    state = KLUCBCF(1.0).start(len(pulls), 10)
    state.pulls[:], state.sums[:] = pulls, sums
    return state


def test_indices_by_hand():
    """epsilon = log 3: H = 3/4. kl(1/2, q) = -log(4 q (1 - q)) / 2, so that the index of (2k, k) has

    4 q (1 - q) = exp(-2 L / n), q = (1 + sqrt(1 - exp(-2 L / n))) / 2. At t = 16, L = log 16 = 2.7726.
    """
    policy = KLUCBCF(math.log(3))
    assert policy.index.highest == pytest.approx(0.75, rel=1e-15)
    index = (1 + math.sqrt(1 - math.exp(-2 * math.log(16) / 40))) / 2
    assert kl_upper_end(0.5, math.log(16) / 40, 1.0) == pytest.approx(index, rel=1e-12)
    assert index == pytest.approx(0.6798, abs=1e-4)
    # 22 of 44 has a lower index; 27 of 40 has mean 0.675 and a far larger one; none is at H
    assert policy.select(state_of([40, 44], [20, 22]), 16, None) == 0
    assert policy.select(state_of([40, 40], [20, 27]), 16, None) == 1
    assert exploration(KLIndex(1.0, 3.0), math.e**math.e) == pytest.approx(math.e + 3)
    assert exploration(KLIndex(1.0, 3.0), 2.0) == pytest.approx(math.log(2))  # log+ log 2 = 0


def test_steps_in_turn_by_hand():
    pulls = np.array([5, 7, 5])
    add_turns(pulls, np.array([0, 2]), 5)
    assert pulls.tolist() == [8, 7, 7]


def test_the_cap_and_ties():
    """Both arms are at the cap H = 3/4: (8, 6) by its mean, (10, 8) above it. The fewest pulls win, then the first."""
    capped, free = KLUCBCF(math.log(3)), KLUCBCF(math.log(3), cap=False)
    assert capped.select(state_of([10, 8], [8, 6]), 18, None) == 1
    assert free.select(state_of([10, 8], [8, 6]), 18, None) == 0  # 0.979 and 0.973
    assert free.select(state_of([30, 8], [29, 4]), 38, None) == 0
    assert capped.select(state_of([30, 8], [29, 4]), 38, None) == 1  # kl(1/2, 3/4) = 0.1438 < log(38) / 8: tie at H
    assert capped.select(state_of([8, 8, 8], [6, 7, 6]), 24, None) == 0
    assert free.select(state_of([5, 4], [5, 4]), 9, None) == 1  # both at 1


def test_the_posteriors_of_thompson_sampling():
    """3 ones in 5 bits and 1 in 4, with a uniform prior: Beta(4, 3) and Beta(2, 4)."""
    rng = Mock()
    rng.beta.return_value = np.array([0.2, 0.9])
    assert TSCF(1.0).select(state_of([5, 4], [3, 1]), 10, rng) == 1
    ((ones, zeros), _) = rng.beta.call_args
    assert (ones.tolist(), zeros.tolist()) == ([4, 2], [3, 4])
    assert TSCF(1.0).select(state_of([1, 0], [1, 0]), 2, None) == 1


@pytest.mark.parametrize("policy", [KLUCBCF, TSCF])
def test_what_is_refused(policy):
    for epsilon in (0.0, -1.0, 701.0, math.nan):
        with pytest.raises(ParameterError, match="epsilon"):
            policy(epsilon)
    policy(700.0).simulate(Bernoulli((0.9, 0.1)), 100, np.array([100]), stream("unused", 0))
    for c in (-1.0, math.nan):
        with pytest.raises(ParameterError, match="c: must be"):
            KLUCBCF(1.0, c=c)


def test_lower_means_are_inverse():
    rng = np.random.default_rng(3)
    inside = 0
    for q, level in zip(rng.random(500), 10 ** rng.uniform(-8, 1, 500), strict=True):
        p = divergence_lower_mean(q, level)
        if p == 0:
            assert -math.log1p(-q) <= level * (1 + 1e-12)
        else:
            assert bernoulli_divergence(p, q) == pytest.approx(level, rel=1e-6, abs=1e-15)
            inside += 1
        assert 0 <= p <= q
    assert 100 < inside < 500
    assert divergence_lower_mean(0.3, 0.0) == 0.3


def test_a_chord_is_above_the_need():
    rng = np.random.default_rng(4)
    for before, window, threshold in zip(
        rng.integers(1, 10_000, 200), rng.integers(1, 2_000, 200), rng.random(200), strict=True
    ):
        first, slope = need_over(before, window, threshold, 5.0)
        for made in range(0, window + 1, 1 + window // 20):
            pulls = float(before + made)
            at = (first + slope * made) / pulls
            if at < threshold:
                assert pulls * bernoulli_divergence(max(at, 0.0), threshold) <= 5.0


SETTINGS = [
    ((0.9, 0.8, 0.5, 0.5), 1.0, True, 0.0),
    ((0.9, 0.8, 0.5, 0.5), 1.0, False, 3.0),
    ((0.3, 0.3, 0.3), 0.2, True, 0.0),
    ((0.3, 0.1), 0.05, True, 0.5),
    ((0.6, 0.5, 0.4, 0.5, 0.55), 0.3, True, 0.5),
    ((0.99, 0.98, 0.01), 20.0, True, 0.0),
    ((1.0, 0.0, 1.0), 20.0, False, 0.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("means", "epsilon", "cap", "c"), SETTINGS)
def test_kl_ucb_is_the_plain_loop_number_by_number(means, epsilon, cap, c):
    """Without blocks both draw one number per step, so that all pulls are equal."""
    policy = KLUCBCF(epsilon, cap, c)
    chances, checkpoints = policy.chance(np.array(means)), np.unique(np.geomspace(1, 10_000, 60).astype(int))
    index = policy.index._replace(smallest=ONE_BY_ONE)
    ends = set()
    for seed in range(5):
        fast = kl_ucb_pulls(chances, 10_000, checkpoints, index, stream("same", seed))
        plain = kl_ucb_steps(chances, 10_000, checkpoints, index.highest, c, stream("same", seed))
        np.testing.assert_array_equal(fast, plain)
        ends.add(tuple(fast[-1]))
    assert len(ends) > 1 or epsilon == 20.0


def test_the_class_plays_the_same():
    """Step by step in Python, with the same random numbers."""
    policy, instance, checkpoints = KLUCBCF(1.0), Bernoulli((0.9, 0.8, 0.5)), np.array([100, 700])
    ends = set()
    for seed in range(3):
        rng, bits = stream("class", seed), stream("class", seed)
        state = policy.start(3, 700)
        for t in range(1, 701):
            arm = policy.select(state, t, rng)
            state.pulls[arm] += 1
            state.sums[arm] += bits.random() < policy.chance(instance.mean_rewards[arm])
        index = policy.index._replace(smallest=ONE_BY_ONE)
        fast = kl_ucb_pulls(policy.chance(instance.mean_rewards), 700, checkpoints, index, stream("class", seed))
        assert fast[-1].tolist() == state.pulls.tolist()
        ends.add(tuple(fast[-1]))
    assert len(ends) == 3


def test_checkpoints_within_rounds_and_runs():
    """Recording every step changes nothing, and the pulls add up; rounds were played."""
    policy = KLUCBCF(0.05)
    chances = policy.chance(np.array([0.6, 0.5, 0.4]))
    dense = kl_ucb_pulls(chances, 9_000, np.arange(1, 9_001), policy.index, stream("dense", 0))
    assert (dense.sum(axis=1) == np.arange(1, 9_001)).all()
    assert (np.diff(dense, axis=0).max(axis=1) == 1).all()
    assert (np.diff(dense, axis=0) >= 0).all()
    assert (dense[3000] - dense[2997] == 1).all()  # in turn
    sparse = kl_ucb_pulls(chances, 9_000, np.array([777, 9_000]), policy.index, stream("dense", 0))
    assert (sparse == dense[[776, 8_999]]).all()


def posterior(sizes, means):
    """The state of Thompson sampling after bits."""
    ones = np.round(np.array(sizes) * np.array(means))
    arms = len(sizes)
    return Arms(ones + 1, np.array(sizes) - ones + 1.0, np.zeros(arms), np.zeros(arms, dtype=np.bool_))


def chance_to_win(state, arm):
    """By quadrature."""
    laws = [beta(a, b) for a, b in zip(state.first, state.second, strict=True)]
    mean, spread = laws[arm].mean(), laws[arm].std()

    def density(x):
        return laws[arm].pdf(x) * math.prod(law.cdf(x) for i, law in enumerate(laws) if i != arm)

    ends = [max(0.0, mean - 12 * spread), min(1.0, mean + 12 * spread)]
    return quad(density, *ends, points=[mean], limit=400, epsabs=1e-12)[0]


@pytest.mark.parametrize(("a", "b", "bar"), [(30.0, 50.0, 0.45), (3.0, 400.0, 0.013), (1.0, 5.0, 0.4)])
def test_a_draw_above_the_bar(a, b, bar, failure):
    """Proposals are accepted with the ratio of probability to bound, and accepted draws have the law above the bar."""
    chance, rng = chance_above(a, b, bar), stream("above", 0)
    assert chance == pytest.approx(beta(a, b).pdf(bar) * bar * (1 - bar) / ((a + b) * bar - a), rel=1e-9)
    draws = np.array([draw_beta_above(a, b, bar, rng) for _ in range(20_000)])
    above = draws[draws > -math.inf]
    assert binomtest(len(above), len(draws), beta(a, b).sf(bar) / chance).pvalue > failure
    assert kstest(above, lambda x: 1 - beta(a, b).sf(x) / beta(a, b).sf(bar)).pvalue > failure
    assert chance_above(a, b, a / (a + b)) == 1


STATES = [((300, 30, 20), (0.6, 0.2, 0.25)), ((60, 40), (0.7, 0.4)), ((20, 400, 25, 6), (0.1, 0.6, 0.2, 0.0))]


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "means"), STATES)
def test_a_contested_step_has_the_exact_law(sizes, means, failure):
    """The winner of a step: with probability exp(-rate) no rival is proposed, and the leader wins."""
    state, rng, runs = posterior(sizes, means), stream("contested", 0), 60_000
    lead = lead_of(state)
    assert 0.001 < lead.rate < 0.9
    assert lead.rate == pytest.approx(state.hazard.sum())
    events = rng.random(runs) < -math.expm1(-lead.rate)
    winners = [contested(state, lead, rng) if event else lead.arm for event in events]
    counts = np.bincount(winners, minlength=len(sizes))
    expected = runs * np.array([chance_to_win(state, arm) for arm in range(len(sizes))])
    assert expected.sum() == pytest.approx(runs, rel=1e-6)
    assert chisquare(counts, expected * runs / expected.sum()).pvalue > failure
    assert sorted(counts)[-2] > 20


def test_the_leader_below_the_bar(failure):
    """It is proposed with the bound, accepted with the ratio of probability to bound, and has the law below the bar."""
    state, rng = posterior(*STATES[0]), stream("below", 0)
    lead = lead_of(state)
    a, b = state.first[lead.arm], state.second[lead.arm]
    draws = np.array([leader_below(a, b, lead, rng) for _ in range(20_000)])
    below = draws[draws < math.inf]
    chance = beta(a, b).cdf(lead.bar)
    assert binomtest(len(below), len(draws), chance / lead.low).pvalue > failure
    assert kstest(below, lambda x: beta(a, b).cdf(x) / chance).pvalue > failure


def test_a_rival_that_is_pulled_gets_the_bound_of_its_new_posterior():
    state, rng = posterior(*STATES[0]), stream("pulled", 0)
    lead, pulls = lead_of(state), np.array(STATES[0][0])
    before, record = pulls.copy(), np.zeros((1, len(pulls)), dtype=np.int64)
    for _ in range(50):
        follow_leader(lead, state, pulls, np.array([0.6, 0.5, 0.4]), 350, record, 0, np.array([10**6]), 360, rng)
        for arm in range(1, len(pulls)):
            bound = chance_above(state.first[arm], state.second[arm], lead.bar)
            assert state.hazard[arm] == pytest.approx(-math.log1p(-bound), rel=1e-12, abs=0)
    assert (pulls[1:] > before[1:]).any()


def test_the_leader_stays_above_the_bar_as_long_as_its_sum_does():
    """The bound holds at every point of the tangent, and is nearly attained."""
    state = posterior((300, 30), (0.6, 0.4))
    lead = lead_of(state)
    assert lead.arm == 0
    least = 302 * bernoulli_divergence(lead.first / 302, lead.bar)
    for made in (0, 1, 5, 30, 76):
        size, ones = 302 + made, lead.first + lead.slope * made
        assert size * bernoulli_divergence(ones / size, lead.bar) >= least * (1 - 1e-12)
        below = beta(ones, size - ones).cdf(lead.bar)
        assert below <= chance_above(size - ones, ones, 1 - lead.bar) <= lead.low
        assert below > lead.low / 3
    assert lead.bar < lead.first / 302 < 0.6
    step = 1e-5  # the tangent against a difference quotient of the least s
    ends = [divergence_upper(lead.bar, least / size) * size for size in (302 - step, 302 + step)]
    assert tangent(lead.first / 302, lead.bar) == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5)


def divergence_upper(bar, level):
    """The x > bar with kl(x, bar) = level, by bisection."""
    low, high = bar, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if bernoulli_divergence(middle, bar) < level else (low, middle)
    return low
